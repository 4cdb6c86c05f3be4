"""Tests that fail in a night are told, and the night has failed where no other is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from slowdust.bisection.candidates import Candidate
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.live import watching
from slowdust.experiment.spec.spec import Spec
from slowdust.store.folder import Folder, writing
from slowdust.store.slice import Slice
from slowdust.watching import laboratory
from slowdust.watching.laboratory import Experiments
from slowdust.watching.series import Night, Tonight
from tests.unit.synthetic import fails, synthetic_experiment
from tests.unit.watching.synthetic_watch import a_watch

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


@pytest.fixture
def night_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Sequence[str], Callable[[Slice], None]], Night]:
    """A function that measures a night of tests, of which point-query fails on the subject."""

    def measured(tests: Sequence[str], spoil: Callable[[Slice], None]) -> Night:
        def store(spec: Spec, results: Path, *_: object) -> None:
            manifest, slices = synthetic_experiment([BASE, SUBJECT], tests)
            for record in slices:
                if (record.place.test, record.place.contender) == ("point-query", SUBJECT):
                    spoil(record)
            with writing(Folder.of(results, spec.name)) as writer:
                writer.write_manifest(manifest)
                writer.append(*slices)

        monkeypatch.setattr(laboratory, "why_not_built", lambda *_: None)
        monkeypatch.setattr(laboratory, "run_or_finish", store)
        return Experiments(a_watch(tmp_path), tmp_path, WhenBusy.FAIL, watching).measure(TONIGHT)

    return measured


@pytest.mark.parametrize(
    ("spoil", "wholly", "words"),
    [(fails, True, "22012 division by zero."), (deadlocks, False, "(10%), 40P01.")],
)
def test_a_test_that_fails_is_told_and_the_others_are_compared(
    night_of: Callable[..., Night],
    spoil: Callable[[Slice], None],
    words: str,
    *,
    wholly: bool,
) -> None:
    night = night_of(["point-query", "scan"], spoil)
    [sentence] = night.failures
    assert sentence.startswith(f"point-query fails on {SUBJECT}: ")
    assert sentence.endswith(words)
    assert night.failed_wholly is wholly
    assert {each.test for each in night.measured} == {"scan"}


def test_a_night_in_which_every_test_fails_says_so(night_of: Callable[..., Night]) -> None:
    night = night_of(["point-query"], fails)
    assert (night.failed or "").startswith(f"point-query fails on {SUBJECT}: all of ")
    assert not night.measured
