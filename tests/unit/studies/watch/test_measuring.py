"""Tests that fail in a night are reported; the night fails if all of them do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slowdust.store.slice import Slice
from slowdust.studies.candidates import Candidate
from slowdust.studies.engine import carry_out
from slowdust.studies.watch.series import Night, Tonight
from slowdust.studies.watch.study import plan_experiment, record_night
from tests.unit.studies.watch.synthetic_watch import RELEASES, a_watch
from tests.unit.synthetic import fails
from tests.unit.synthetic_lab import SimulatedLab

BASE, SUBJECT = "postgres@15.8", "postgres@17.6"
TONIGHT = Tonight(
    number=1,
    date="2026-03-01T00:00:00+00:00",
    experiment="night-1",
    subject=Candidate(contender=SUBJECT, name="17.6"),
    base=BASE,
)


def deadlocks(record: Slice) -> None:
    """A tenth of the operations of the slice fails."""
    record.measured.errors = {"40P01": (record.measured.operations or 0) // 9}


NightOf = Callable[[str, Callable[[Slice], None]], Night]


@pytest.fixture
def night(tmp_path: Path) -> NightOf:
    """A function that measures a night of tests; point-query fails on the subject."""

    def measure(tests: str, spoil: Callable[[Slice], None]) -> Night:
        def spoil_subject(record: Slice) -> None:
            if (record.place.test, record.place.contender) == ("point-query", SUBJECT):
                spoil(record)

        watch = a_watch(tmp_path, RELEASES.replace('["point-query"]', tests))
        order = plan_experiment(watch, TONIGHT)
        found = carry_out(order, SimulatedLab(spoil=spoil_subject), tmp_path)
        return record_night(watch, TONIGHT, found)

    return measure


@pytest.mark.parametrize(
    ("spoil", "wholly", "words"),
    [(fails, True, "22012 division by zero."), (deadlocks, False, "(10%), 40P01.")],
)
def test_a_test_that_fails_is_reported_and_the_others_are_compared(
    night: NightOf,
    spoil: Callable[[Slice], None],
    words: str,
    *,
    wholly: bool,
) -> None:
    measured = night('["point-query", "scan"]', spoil)
    [sentence] = measured.failures
    assert sentence.startswith(f"point-query fails on {SUBJECT}: ")
    assert sentence.endswith(words)
    assert measured.failed_wholly is wholly
    assert {each.test for each in measured.measured} == {"scan"}


def test_a_night_in_which_every_test_fails_says_so(night: NightOf) -> None:
    measured = night('["point-query"]', fails)
    assert (measured.failed or "").startswith(f"point-query fails on {SUBJECT}: all of ")
    assert not measured.measured
