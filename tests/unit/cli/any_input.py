"""What every command line has to survive, for tests that try any input.

More examples: `SLOWDUST_EXAMPLES=2000 pytest tests/unit/cli/test_any_input.py`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from hypothesis import HealthCheck, Phase, settings

from tests.unit.cli.command import Outcome, Slowdust

_LONGEST_S = 60
FEW = settings(
    max_examples=int(os.environ.get("SLOWDUST_EXAMPLES", "12")),
    deadline=None,
    derandomize="SLOWDUST_EXAMPLES" not in os.environ,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@contextmanager
def no_hang() -> Iterator[None]:
    """Fail a test that takes minutes, with the traceback of where it was."""

    def too_long(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still running after {_LONGEST_S} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(_LONGEST_S * max(1, FEW.max_examples // 12))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def check(slowdust: Slowdust, *arguments: object) -> Outcome:
    """Run a command; errors that are not told end the test by themselves."""
    outcome = slowdust(*arguments)
    assert outcome.code in range(4), (arguments, outcome)
    assert "Traceback" not in outcome.err, (arguments, outcome)
    if outcome.code == 2:
        assert outcome.err, arguments
    return outcome
