"""Checks of every command line, for tests that try any input.

More examples: `SLOWDUST_EXAMPLES=2000 pytest tests/unit/cli/test_any_input.py`.
"""

from __future__ import annotations

import copy
import math
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tests.unit.cli.command import Outcome, Slowdust

_LONGEST_S = 60


def examples(usually: int) -> settings:
    """Return the settings of a test with `usually` examples, always the same ones.

    A profile of Hypothesis with n examples tries n% of them.
    """
    share = settings.default.max_examples / 100 if settings.default else 1.0
    tried = max(2, math.ceil(usually * share))
    return settings(
        max_examples=int(os.environ.get("SLOWDUST_EXAMPLES", tried)),
        deadline=None,
        derandomize="SLOWDUST_EXAMPLES" not in os.environ,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


FEW = examples(12)
BYTES = st.binary(max_size=200)
TEXTS = [
    *(b"", b"\0", b"\xff\xfe", b"[" * 5000, b"{}", b"null", b"\x1f\x8bnothing", b"PK\x03\x04"),
    *(b"a = " + b"[" * 5000, b'contenders = ["x@1"]\n', b'contenders = ["postgres@17.6"]\nrows = '),
]
VALUES: list[Any] = [
    *(-1, 0, 1, 0.5, 10**25, 1e300, -1e300, 1e-300, True, None),
    *("", "x", "x" * 300, "../../x", "\x1b[31m<b>", "nan", "postgres@17.6"),
    *([], [[]], ["x"], {}, {"x": 1}),
]
READ: Sequence[Sequence[str]] = (
    ("report", "e", "--md"),
    ("report", "e", "--html", "page.html", "--junit", "units.xml"),
    ("report", "e", "--json"),
    ("report", "e", "--csv"),
    ("report", "e", "--classic", "classic"),
    ("report", "e", "--md", "--short", "--fail-on", "slower:1%"),
    ("show", "e"),
    ("list",),
    ("history",),
    ("diff", "e", "slap"),
    ("bundle", "e", "-o", "e.slowdust"),
    ("site", "pages"),
    ("more", "e", "--tests", "nothing"),
)
"""Commands that read the experiment `e`."""


def _places(value: object, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places in a JSON value; of long lists only the first elements."""
    if place:
        yield place
    pairs: Sequence[tuple[Any, object]] = ()
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value[:4]))
    for key, part in pairs:
        yield from _places(part, (*place, key))


def change(data: st.DataObject, value: dict[str, Any]) -> None:
    """Replace, remove or repeat a part of a JSON value."""
    *path, last = data.draw(st.sampled_from(list(_places(value))))
    inside: Any = value
    for key in path:
        inside = inside[key]
    action = data.draw(st.sampled_from(["replace", "remove", "repeat"]))
    if action == "repeat" and isinstance(inside, list):
        inside.append(copy.deepcopy(inside[last]))
    elif action == "remove":
        del inside[last]
    else:
        inside[last] = copy.deepcopy(data.draw(st.sampled_from(VALUES)))


@contextmanager
def no_hang() -> Iterator[None]:
    """Fail a test that takes a minute of CPU time, with the traceback of where it was.

    On a busy machine the clock says little. One that waits is ended by pytest's timeout.
    """

    def too_long(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"still running after {seconds} s of CPU time")  # an Exception might be handled

    seconds = _LONGEST_S * max(1, FEW.max_examples // 12)
    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def check(slowdust: Slowdust, *arguments: object) -> Outcome:
    """Run a command; unexpected exceptions fail the test."""
    outcome = slowdust(*arguments)
    assert outcome.code in range(4), (arguments, outcome)
    assert "Traceback" not in outcome.err, (arguments, outcome)
    if outcome.code == 2:
        assert outcome.err, arguments
    return outcome
