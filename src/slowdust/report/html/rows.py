"""Rows of the results table: one for each test and number of clients, across the contenders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.results import by_step
from slowdust.benchmarks import measured_in_steps
from slowdust.report.html.cells import sla_failure

LONG_STEPS = "steps"
"""The heading of the long steps."""


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
    """Whether it is a long step."""

    @property
    def results(self) -> list[Result]:
        """All results, the base's first."""
        return [result for result in (self.base, *self.cells) if result is not None]

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of the contenders, each once."""
        return sorted({cell.verdict for cell in self.cells if cell is not None and cell.verdict})

    @property
    def open(self) -> bool:
        """Whether its section starts unfolded: where something got slower or went wrong."""
        return "slower" in self.verdicts or any(
            result.errors or sla_failure(result.writers) for result in self.results
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
    """Return rows grouped by benchmark and group, both in the order in which they first appear.

    Long steps build on those before them: their order is their only group.
    """
    others = [name for name in report.contenders if name != report.base]
    steps = by_step(report.results)
    usual = usual_clients(steps)
    taken: set[str] = set()
    rows = [
        Row(
            step=step,
            label=step.test if step.clients == usual else f"{step.test} c{step.clients}",
            anchor=_anchor(step, taken),
            group=LONG_STEPS if long else next(iter(results.values())).group,
            order=order,
            base=results.get(report.base),
            cells=tuple(results.get(name) for name in others),
            long=long,
        )
        for order, (step, results) in enumerate(steps.items())
        for long in (measured_in_steps(step.benchmark),)
    ]
    places: dict[tuple[str, str], int] = {}
    for row in rows:
        places.setdefault((row.step.benchmark, row.group), len(places))
    return sorted(rows, key=lambda row: places[row.step.benchmark, row.group])


def usual_clients(steps: Collection[Step]) -> int | None:
    """Return the number of clients of most tests; None where a test has several numbers."""
    if len({(step.benchmark, step.test) for step in steps}) < len(steps):
        return None
    usual = Counter(step.clients for step in steps).most_common(1)
    return usual[0][0] if usual else None


def table_groups(rows: Sequence[Row]) -> tuple[TableGroup, ...]:
    """Return the rows under the headings of the table."""
    several = len({row.step.benchmark for row in rows}) > 1
    return tuple(
        TableGroup(f"{benchmark}: {group}" if several else group, tuple(members))
        for (benchmark, group), members in groupby(
            rows, lambda row: (row.step.benchmark, row.group)
        )
    )


def _anchor(step: Step, taken: set[str]) -> str:
    """Return an `id` for a step's section that is not taken yet: `test-point-query-c1`."""
    plain = re.sub(r"[^a-z0-9.]+", "-", step.test.lower()).strip("-")
    anchor = wanted = f"test-{plain}-c{step.clients}"
    copies = 1
    while anchor in taken:
        copies += 1
        anchor = f"{wanted}-{copies}"
    taken.add(anchor)
    return anchor
