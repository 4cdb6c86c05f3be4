"""Steps that a contender did not finish, with what its log said last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.comparison.relative import Step
from slowdust.report.html.rows import Row
from slowdust.store.manifest import StepFailure

LONGEST_LOG = 8
"""The number of lines of a log from which on it is folded."""


@dataclass(frozen=True)
class Failure:
    """One step of one contender in one incarnation."""

    step: StepFailure
    anchor: str | None
    """The anchor of the step's section; None where no contender finished the step."""

    @property
    def headline(self) -> str:
        """The first line of the reason."""
        return self.step.reason.strip().partition("\n")[0]

    @property
    def log(self) -> str:
        """All further lines."""
        return self.step.reason.strip().partition("\n")[2].strip("\n")

    @property
    def folded(self) -> bool:
        """Whether the log is so long that it is folded."""
        return self.log.count("\n") >= LONGEST_LOG


def failures_of(failed: Sequence[StepFailure], rows: Sequence[Row]) -> tuple[Failure, ...]:
    """Return the failures of an experiment, in the order in which they are reported."""
    anchors = {(row.step.test, row.step.clients): row.anchor for row in rows if row.long}
    return tuple(Failure(step, anchors.get((step.test, step.clients))) for step in failed)


def of_step(failures: Sequence[Failure], step: Step) -> tuple[Failure, ...]:
    """Return the failures of one step."""
    key = (step.test, step.clients)
    return tuple(each for each in failures if (each.step.test, each.step.clients) == key)


def failed_contenders(failures: Sequence[Failure], row: Row) -> Mapping[str, int]:
    """Return contender -> how many incarnations of the row's step it did not finish."""
    if not row.long:
        return {}
    return dict(Counter(failure.step.contender for failure in of_step(failures, row.step)))
