"""Shapes of a difference of two experiments, which `slowdust diff --json` writes."""

from __future__ import annotations

from typing import Annotated, cast

import msgspec

from slowdust.ratios import Amount, Keys, Ratio, Verdict

SCHEMA = 1


class Side(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One of the two experiments."""

    experiment: str
    started: str | None = None
    """Start in ISO 8601, UTC."""
    finished: bool
    """Whether it was measured to its end."""
    contenders: list[str]
    """The contenders, the base first."""
    tests: list[str]
    """The tests."""


class Condition(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A fact of the experiments that is not the same in both."""

    subject: str
    """What it is a fact of: 'method', 'host', or a contender's name."""
    label: str
    before: str | None = None
    """The value; absent where the experiment has none."""
    after: str | None = None


class WorkDifference(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Instructions per operation relative to the base's, in both experiments."""

    before: float
    after: float
    """Ratios of the contender to the base."""
    ratio: Annotated[Ratio, Keys("ratio", "low", "high", "verdict", Amount)]
    """`after` / `before`: `more` or `less` than before beyond doubt, `same` (margin 1%), else
    `unsure`."""


class TestDifference(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One test of one contender that both experiments have."""

    __test__ = False  # pytest takes classes called Test... for tests

    benchmark: str
    test: str
    group: str
    clients: int
    contender: str
    before: Ratio | None = None
    after: Ratio | None = None
    """The ratio to the base there; absent where that experiment has no verdict on it."""
    ratio: Annotated[Ratio | None, Keys("ratio", "low", "high", "verdict")] = None
    """Ratio of ratios, after / before; absent where one of the two has no verdict. `slower` or
    `faster` than before beyond doubt, relative to the base; `same` if the change is less than the
    margin; else `unsure`."""
    work: WorkDifference | None = None
    """The change of work; absent where it was not counted in both."""

    @property
    def verdict(self) -> Verdict | None:
        return None if self.ratio is None else cast("Verdict | None", self.ratio.verdict)

    @property
    def verdict_changed(self) -> bool:
        if self.before is None or self.after is None:
            return False
        return self.before.verdict != self.after.verdict


class Diff(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What changed from one experiment to another."""

    schema: int = SCHEMA
    before: Side
    after: Side
    base: str | None = None
    """The contender to which all others are relative, the same in both; absent if there is none."""
    margin: float
    """Largest change of a ratio that counts as none: the larger margin of the two."""
    summary: list[str]
    """Sentences on what changed, the most important first."""
    notes: list[str] = []
    """Sentences on what cannot be compared, and why."""
    conditions: list[Condition] = []
    """What is not the same in both, beside the results."""
    tests: list[TestDifference] = []
    """The tests that both have, in the report's order."""
