"""Shapes of what releases cost, as `slowdust blame --json` writes them (docs/blame.schema.json)."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec

from slowdust.analysis.model import FunctionChanges
from slowdust.ratios import Keys, Ratio

SCHEMA = 1

RatioKind = Literal["time", "work"]


class StepRatio(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A release relative to an earlier one, as a history has it."""

    ratio: Annotated[Ratio, Keys("ratio", "low", "high", "verdict")]
    """Throughput, above 1 if it is faster; or instructions per operation, above 1 if it is more.
    `slower` where it cost something, in throughput or in work; no verdict for single runs."""
    chained: bool = False
    """Whether it is chained over releases that experiments share, for want of one with both."""


class Part(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one step did to a test, or to a group of tests."""

    name: str
    """The test's name, or the group's."""
    group: str
    clients: int
    tests: list[str] = []
    """The tests of a group; empty for a test."""
    rqps: StepRatio | None = None
    """Relative throughput; for a group the geometric mean; absent where it was not measured."""
    work: StepRatio | None = None
    """Relative instructions per operation; absent where they were not counted."""

    def by(self, evidence: RatioKind) -> StepRatio | None:
        """Return the ratio of one kind of evidence."""
        return self.rqps if evidence == "time" else self.work

    def cost(self, evidence: RatioKind) -> float | None:
        """Return ln(time or work per operation relative to before); above 0 if it cost more."""
        step = self.by(evidence)
        if step is None:
            return None
        return math.log(step.ratio.value) * (-1 if evidence == "time" else 1)

    def cost_interval(self, evidence: RatioKind) -> tuple[float | None, float | None]:
        """Return the 95% interval of `cost`."""
        step = self.by(evidence)
        if step is None or step.ratio.interval is None:
            return None, None
        low, high = map(math.log, step.ratio.interval)
        return (-high, -low) if evidence == "time" else (low, high)


class Step(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A release beside the one before it, or the last beside the first."""

    before: str
    after: str
    groups: list[Part]
    tests: list[Part]

    @property
    def label(self) -> str:
        """'10.23 to 12.22'."""
        return f"{self.before} to {self.after}"


class Extreme(msgspec.Struct, kw_only=True):
    """The step that cost a group the most, or gained it the most, for certain."""

    before: str
    after: str
    ratio: float
    """The group's ratio in the evidence that decides."""
    test: str
    """The test of the group in which it is largest."""
    test_ratio: float


class GroupBlame(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Which release cost a group the most, and which gained it the most."""

    name: str
    group: str
    clients: int
    tests: list[str]
    evidence: RatioKind
    """What decides: time; or work, where time is unsure of a step and work was counted of all, or
    is sure of a step where time is of none."""
    unsure: list[str] = []
    """The releases of which time does not say what they did."""
    uncounted: list[str] = []
    """The releases whose work was not counted beside the one before."""
    cost: Extreme | None = None
    """The costliest step; absent, as the next, where no step is sure to have done so."""
    gain: Extreme | None = None
    sentences: list[str] = []


class StepFunctions(msgspec.Struct, kw_only=True):
    """Functions of the test in which a step cost the most, of one of the worst steps."""

    before: str
    after: str
    group: str
    experiment: str
    """The experiment that profiled both."""
    changes: FunctionChanges


class LineBlame(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What each release of a line cost, on one host, with one benchmark."""

    line: str
    """DBMS, engine, configuration and environment that its releases share."""
    benchmark: str
    host: dict[str, str] = {}
    data: str = ""
    experiments: list[str]
    versions: list[str]
    """The releases, the oldest first."""
    steps: list[Step]
    whole: Step
    """The last release beside the first: measured, not multiplied."""
    groups: list[GroupBlame] = []
    functions: list[StepFunctions] = []
    notes: list[str] = []


class Blame(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What releases cost, of every line that has two or more."""

    schema: int = SCHEMA
    unfinished: list[str] = []
    """'NOT FINISHED: 6 of 33 tests, 1 start of the servers.', of each experiment that is not."""
    lines: list[LineBlame]
    notes: list[str] = []
