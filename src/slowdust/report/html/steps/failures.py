"""Steps that a contender did not finish, with what its log said last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.comparison.relative import Step
from slowdust.report.html.rows import Row
from slowdust.store.manifest import StepFailure

LONGEST_LOG = 8
"""Lines of a log that are shown unfolded."""


@dataclass(frozen=True)
class Failure:
    """One step of one contender in one incarnation."""

    step: StepFailure
    anchor: str | None
    """Of the step's section; None where no contender finished the step."""

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
        """Whether the log is too long to stand in the way."""
        return self.log.count("\n") >= LONGEST_LOG


def failures_of(failed: Sequence[StepFailure], rows: Sequence[Row]) -> tuple[Failure, ...]:
    """All of an experiment, in the order in which they are reported."""
    anchors = {(row.step.test, row.step.clients): row.anchor for row in rows if row.long}
    return tuple(Failure(one, anchors.get((one.test, one.clients))) for one in failed)


def of_step(failures: Sequence[Failure], step: Step) -> tuple[Failure, ...]:
    """Those of one step."""
    return tuple(
        one for one in failures if (one.step.test, one.step.clients) == (step.test, step.clients)
    )


def failed_contenders(failures: Sequence[Failure], row: Row) -> Mapping[str, int]:
    """Contender -> how many incarnations of `row`'s step it did not finish."""
    counts: dict[str, int] = {}
    if row.long:
        for one in of_step(failures, row.step):
            counts[one.step.contender] = counts.get(one.step.contender, 0) + 1
    return counts
