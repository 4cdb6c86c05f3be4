"""Trials of steps have enough commits and queries for a result."""

from __future__ import annotations

import pytest

from slowdust.errors import UsageError
from slowdust.experiment.passes.trials import check_commits, check_operations, step_with_rate
from slowdust.store.trial import Trial
from slowdust.studies.capacity.record import Question
from slowdust.studies.capacity.sla import parse_sla
from slowdust.studies.capacity.study import make_spec
from tests.unit.synthetic_capacity import question_of


def question(test: str, trial: float | None) -> Question:
    return question_of(["postgres@17.6"], test=test, trial=trial, benchmark="insert", budget="5m")


def check(asked: Question) -> None:
    check_commits(step_with_rate(make_spec(asked), asked.test), 50, asked.trial or 2.0)


@pytest.mark.parametrize(("test", "trial"), [("qr100", None), ("qr1000", 0.2), ("qp500", 0.5)])
def test_trials_with_four_commits_are_taken(test: str, trial: float | None) -> None:
    asked = question(test, trial)
    check(asked)


@pytest.mark.parametrize(("test", "trial"), [("qr100", 0.01), ("qr1000", 0.1), ("qp500", 0.3)])
def test_trials_with_fewer_are_refused(test: str, trial: float) -> None:
    asked = question(test, trial)
    with pytest.raises(UsageError, match=rf"{test} .*\b4\b"):
        check(asked)


def test_trials_with_too_few_queries_are_refused() -> None:
    trial = Trial(
        contender="A", start=1, turn=0, rate=100.0, seconds=2.0, took=2.0, operations=2000, times={}
    )  # fmt: skip
    check_operations(parse_sla("p99<5ms").operations, trial)
    with pytest.raises(
        UsageError, match=r"needs 20,000 queries .* A executed 2,000 in 2s.* --trial 30s"
    ):
        check_operations(parse_sla("p999<5ms").operations, trial)
