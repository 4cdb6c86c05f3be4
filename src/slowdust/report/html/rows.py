"""Rows of the results table: one for each test and number of clients, across the contenders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.model import Report, Result
from slowdust.benchmarks import measured_in_steps
from slowdust.report.html.steps.sla import sla_failure

LONG_STEPS = "steps"
"""Heading of the long ones."""


@dataclass(frozen=True)
class Row:
    """One step across all contenders; `cells` follow the columns of the table."""

    step: Step
    label: str
    """The test, and the number of clients where it is not the usual one: `point-query c8`."""
    anchor: str
    group: str
    order: int
    base: Result | None
    cells: tuple[Result | None, ...]
    long: bool
    """Whether it is a long step, of the Insert Benchmark."""

    @property
    def results(self) -> list[Result]:
        """Whatever was measured, the base first."""
        return [one for one in (self.base, *self.cells) if one is not None]

    @property
    def verdicts(self) -> list[str]:
        """Verdicts of the contenders, each once."""
        return sorted({one.verdict for one in self.cells if one is not None and one.verdict})

    @property
    def open(self) -> bool:
        """Whether its section starts unfolded: where something got slower or went wrong."""
        return "slower" in self.verdicts or any(
            one.errors or sla_failure(one.writers) for one in self.results
        )


@dataclass(frozen=True)
class TableGroup:
    """Rows under one heading of the results table."""

    name: str
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.name[:1].upper() + self.name[1:]


def rows_of(report: Report) -> list[Row]:
    """Rows grouped by benchmark and group, both in the order in which they first appear.

    Long steps build on those before them: their order is their only group.
    """
    others = [name for name in report.contenders if name != report.base]
    by_step: dict[Step, dict[str, Result]] = {}
    for result in report.results:
        step = Step(result.benchmark, result.test, result.clients)
        by_step.setdefault(step, {})[result.contender] = result
    usual = usual_clients(by_step)
    taken: set[str] = set()
    rows = [
        Row(
            step=step,
            label=step.test if step.clients == usual else f"{step.test} c{step.clients}",
            anchor=_anchor(step, taken),
            group=_group(step, results),
            order=order,
            base=results.get(report.base),
            cells=tuple(results.get(name) for name in others),
            long=measured_in_steps(step.benchmark),
        )
        for order, (step, results) in enumerate(by_step.items())
    ]
    places: dict[tuple[str, str], int] = {}
    for row in rows:
        places.setdefault((row.step.benchmark, row.group), len(places))
    return sorted(rows, key=lambda row: places[row.step.benchmark, row.group])


def usual_clients(steps: Collection[Step]) -> int | None:
    """Most tests' number of clients; None where a test has several numbers."""
    if len({(step.benchmark, step.test) for step in steps}) < len(steps):
        return None
    usual = Counter(step.clients for step in steps).most_common(1)
    return usual[0][0] if usual else None


def _group(step: Step, results: Mapping[str, Result]) -> str:
    if measured_in_steps(step.benchmark):
        return LONG_STEPS
    return next(iter(results.values())).group


def table_groups(rows: Sequence[Row]) -> tuple[TableGroup, ...]:
    """`rows` under the headings of the table."""
    several = len({row.step.benchmark for row in rows}) > 1
    return tuple(
        TableGroup(f"{benchmark}: {group}" if several else group, tuple(members))
        for (benchmark, group), members in groupby(
            rows, lambda row: (row.step.benchmark, row.group)
        )
    )


def _anchor(step: Step, taken: set[str]) -> str:
    """The `id` of a step's section: `test-point-query-c1`; each only once."""
    plain = re.sub(r"[^a-z0-9.]+", "-", step.test.lower()).strip("-")
    anchor = wanted = f"test-{plain}-c{step.clients}"
    copies = 1
    while anchor in taken:
        copies += 1
        anchor = f"{wanted}-{copies}"
    taken.add(anchor)
    return anchor
