"""The Insert Benchmark: load, index, replace rows, and query beside writes at a rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from slowdust.benchmarks.insert.options import InsertTable
from slowdust.benchmarks.insert.steps import (
    NAME,
    WRITE_STEPS,
    InsertStep,
    Kind,
    step_called,
    steps_at_rates,
)
from slowdust.benchmarks.insert.workload import PRESETS, InsertWorkload
from slowdust.benchmarks.model import DEFAULT_SUITE, Test
from slowdust.benchmarks.options import Table, own_options, unused_keys
from slowdust.benchmarks.steps import Server, StepBenchmark
from slowdust.store.step import name_with_hold

__all__ = ["INSERT", "InsertStep", "Kind"]

_ALWAYS_RUN = {step.name for step in WRITE_STEPS if step.makes_tables}


@dataclass(frozen=True)
class InsertBenchmark(StepBenchmark):
    """The Insert Benchmark, with the steps and the size that its table asks for."""

    settings: InsertTable = field(default_factory=InsertTable)

    def configured(self, table: Table) -> InsertBenchmark:
        assert isinstance(table, InsertTable)
        steps = steps_at_rates(table.rates, table.hold)
        suites = {DEFAULT_SUITE: tuple(step.name for step in steps)}
        return replace(self, tests=steps, suites=suites, settings=table)

    def workload(self, servers: Sequence[Server]) -> InsertWorkload:
        """Return the workload that suits all of the servers: each gets as many rows."""
        preset = PRESETS[self.settings.workload]
        seconds = self.settings.seconds or preset.seconds
        return InsertWorkload(
            settings=self.settings,
            incarnations=preset.incarnations,
            seconds=seconds,
            chunk=preset.chunk,
            servers=servers,
            preset=preset,
        )

    def test(self, name: str) -> InsertStep | None:
        """Return the step of that name, also at an unusual rate; None where there is none."""
        return step_called(name)

    def matching(self, patterns: Iterable[str]) -> list[Test]:
        """Return the steps that match, and those without which no other of their hold can run."""
        matching = super().matching(patterns)
        holds = {test.hold for test in matching if isinstance(test, InsertStep)}
        needed = {name_with_hold(name, hold) for name in _ALWAYS_RUN for hold in holds}
        return self._in_order({test.name for test in matching} | needed)


INSERT = InsertBenchmark(
    name=NAME,
    tests=(),
    suites={},
    config=NAME,
    driver_benchmark=NAME,
    table="purchases",
    connections=4,  # inserts, deletes, queries, and a long transaction
    options_type=InsertTable,
    options=own_options(NAME),
    unused_keys=unused_keys(NAME),
    title="the Insert Benchmark",
    counted_briefly="rows inserted, rows indexed, or queries, per second",
    counted_by_step="rows inserted (l.i0, l.i1, l.i2), rows in the tables / seconds to index them "
    "(l.x), queries (qr, qp)",
    about_steps="Steps with queries (qr, qp: range and point queries) have writers beside them "
    "that keep to the rate in their name, for each client.",
).configured(InsertTable())
