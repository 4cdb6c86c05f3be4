"""An experiment of long steps: the Insert Benchmark.

An incarnation starts the servers, makes the tables, and goes through the steps: each is carried
out on every contender in turn before the next begins, and who begins alternates by step and by
incarnation. A contender that does not finish a step goes on with the next one, on a server that is
started again, unless the step made the tables that the next ones need.
"""

from __future__ import annotations

import time
from contextlib import suppress

from slowdust.benchmarks.insert import Kind
from slowdust.dbms.family import Shutdown, Stage
from slowdust.errors import SlowdustError
from slowdust.experiment.contenders import Contender, Field, explain_failure
from slowdust.experiment.driver.process import Driver, TargetError
from slowdust.experiment.journal import Journal
from slowdust.experiment.judging import Judge
from slowdust.experiment.plan import Step
from slowdust.experiment.setup import record_findings
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.steps.forecast import Forecast
from slowdust.experiment.steps.step import LongStep, Tables, Turn, insert_step
from slowdust.experiment.steps.workload import Server, Workload, workload_for
from slowdust.experiment.view import Status, View
from slowdust.instances.instance import InstanceError
from slowdust.store.manifest import StepFailure
from slowdust.store.slice import Slice
from slowdust.units import Second

_BETWEEN_TURNS: Second = 10.0
"""How long a contender may take after its turn to become idle, before the next one's begins."""
_FULL_STEP: Second = 1800.0
"""Seconds of a step with queries from which on the wait after the writes applies unscaled."""
_MAKE_TABLES = frozenset({Kind.LOAD, Kind.INDEX})


def sized_workload(spec: Spec, field: Field, driver: Driver) -> Workload:
    """The workload of an experiment; starts its servers and asks for their buffer pools.

    Raises:
        UsageError: it is relative to buffer pools that do not exist, or the disk has no room.
    """
    field.start_servers()
    for contender in field.running():
        with field.guard(contender):
            contender.measure_buffer_pool(driver)
    servers = [
        Server(contender.family.bytes_per_purchase(contender.engine), contender.buffer_pool_bytes)
        for contender in field.running()
    ]
    workload = workload_for(spec.insert_options, servers)
    workload.check_room(spec.clients, servers, field.running()[0].server.data_dir)
    return workload


def turn_order(contenders: int, place: int, incarnation: int) -> list[int]:
    """Indices of the contenders for the step at `place`: A B, then B A, by step and incarnation."""
    order = list(range(contenders))
    return order if (place + incarnation) % 2 else order[::-1]


class LongSteps:
    """The incarnations of an experiment whose contenders are set up."""

    def __init__(
        self,
        driver: Driver,
        field: Field,
        journal: Journal,
        workload: Workload,
        view: View,
        *,
        seed: int,
    ) -> None:
        manifest = journal.manifest
        self._driver = driver
        self._field = field
        self._journal = journal
        self._workload = workload
        self._view = view
        self._levels = manifest.clients
        self._runner = LongStep(driver, field, workload, seed)
        self._judge = Judge(field.names, manifest.method.margin, journal)
        self._forecast = Forecast(journal.steps, workload.seconds)
        self._planned = 0
        self._in_all = 0
        """The number of the last incarnation that there will be."""
        self._out: set[str] = set()
        """Contenders that sit out the rest of an incarnation: they have no tables."""

    def run(self, planned: int) -> None:
        """Run the incarnations that are still owed to any step."""
        self._planned = planned
        to_come = max(self._forecast.to_come(planned, level) for level in self._levels)
        self._in_all = self._journal.last_incarnation + to_come
        for round_number in range(1, planned + 1):
            levels = [level for level in self._levels if self._owed(level, round_number)]
            if levels:
                self._incarnation(levels)

    def _owed(self, level: int, round_number: int) -> bool:
        return any(step.turns_done < round_number for step in self._steps(level))

    def _steps(self, level: int) -> list[Step]:
        return [step for step in self._journal.steps if step.clients == level]

    def _incarnation(self, levels: list[int]) -> None:
        number = self._journal.last_incarnation + 1
        self._field.start_servers()
        record_findings(self._field, self._journal)
        self._out.clear()
        for level in levels:
            self._sequence(level, number)
        self._field.stop()

    def _present(self) -> list[Contender]:
        return [one for one in self._field.running() if one.name not in self._out]

    def _sequence(self, level: int, number: int) -> None:
        """All steps with so many clients."""
        steps = self._steps(level)
        tables = self._make_tables(steps, level)
        for place, step in enumerate(steps):
            order = turn_order(len(self._field.contenders), place, number)
            for slot, index in enumerate(order):
                contender = self._field.contenders[index]
                if contender in self._present():
                    turn = Turn(step, number, contender, slot, tables[contender.name])
                    with self._field.guard(contender):
                        self._turn(turn)
            self._journal.end_turn(step, self._forecast.elapsed)
            self._view.step_done(self._status(step, number))

    def _make_tables(self, steps: list[Step], level: int) -> dict[str, Tables]:
        count = self._workload.options.tables(level)
        partitions = self._workload.partitions(map(insert_step, steps), level)
        for contender in self._present():
            with self._field.guard(contender):
                self._driver.create(contender.target, count, partitions)
        names = [f"purchases{number}" for number in range(1, count + 1)]
        return {contender.name: Tables(names) for contender in self._field.contenders}

    def _turn(self, turn: Turn) -> None:
        begun = time.monotonic()
        try:
            record = self._measure(turn)
        except (TargetError, InstanceError) as error:
            self._fail(turn, explain_failure(turn.contender, error), time.monotonic() - begun)
            self._revive(turn, has_tables=turn.test.kind not in _MAKE_TABLES)
            return
        try:
            self._look_after(turn, record)
        except (TargetError, InstanceError) as error:
            self._warn(
                f"{turn.contender.name} finished {turn.step.key} of incarnation "
                f"{turn.incarnation}, and failed in what follows it: "
                f"{explain_failure(turn.contender, error)}"
            )
            self._revive(turn, has_tables=True)
        finally:
            self._journal.add(turn.step, record)  # what was measured stays measured
        self._forecast.took(turn.step, time.monotonic() - begun)

    def _measure(self, turn: Turn) -> Slice:
        idle = [other for other in self._present() if other is not turn.contender]
        self._view.phase(f"preparing {self._describe(turn)}")
        plans = self._runner.prepare(turn)
        self._journal.add_plans(turn.step, turn.contender.name, plans)
        self._view.phase(self._describe(turn))
        return self._runner.perform(turn, idle, self._view.progress)

    def _look_after(self, turn: Turn, record: Slice) -> None:
        """Complete the record by what the tables hold, and pay the step's debt."""
        detail, contender, tables = record.step, turn.contender, turn.tables
        assert detail is not None
        self._view.phase(f"counting the rows of {contender.name}")
        detail.rows_counted = self._runner.count_rows(turn)
        self._check_rows(turn, detail.rows_counted)
        self._view.phase(f"measuring the size of {contender.name}")
        self._field.measure_sizes(contender, self._driver, tables.names, tables.rows)
        sizes = contender.sizes
        assert sizes is not None
        detail.data_bytes = sizes.data_bytes
        detail.table_bytes = sizes.table_bytes
        detail.index_bytes = sizes.index_bytes
        detail.settled_s = self._settle(turn)

    def _check_rows(self, turn: Turn, counted: int) -> None:
        """Warn of rows that neither the step nor the driver's own account explains."""
        tables = turn.tables
        where = f"after {turn.step.key} of incarnation {turn.incarnation}"
        if counted != tables.written:
            self._warn(
                f"{turn.contender.name} has {counted:,} rows {where}, and by what was inserted and "
                f"deleted it should have {tables.written:,}"
            )
        elif counted != tables.rows:
            self._warn(
                f"{turn.contender.name} has {counted:,} rows {where}, and should have "
                f"{tables.rows:,}"
            )
        tables.rows = counted

    def _warn(self, text: str) -> None:
        self._journal.warn(text)
        self._view.warning(text)

    def _settle(self, turn: Turn) -> Second:
        """Pay the step's debt before anybody else's turn begins; how long that took."""
        begun = time.monotonic()
        limit = _BETWEEN_TURNS
        stages: list[Stage] = []
        contender, tables = turn.contender, turn.tables
        if turn.test.kind is Kind.INDEX:
            stages = contender.family.after_load(contender.server.site, tables.names)
        elif turn.step is self._last_replacing(turn.step.clients):
            stages = contender.family.after_writes(contender.server.site, tables.names)
            limit = max(limit, self._wait_after_writes(tables.rows))
        elif not turn.test.queries:
            stages = contender.family.after_step(contender.server.site, tables.names)
        if stages:
            self._view.phase(f"maintenance of {contender.name} after {turn.test.name}")
            self._field.maintain_one(contender, self._driver, stages, tables.rows)
        self._wait_until_idle(contender, limit)
        if turn.test.kind is Kind.INDEX:
            record_findings(self._field, self._journal)
        return time.monotonic() - begun

    def _wait_until_idle(self, contender: Contender, limit: Second) -> None:
        self._view.phase(f"waiting until {contender.name} is idle")
        self._field.wait_until_idle([contender], limit)

    def _last_replacing(self, level: int) -> Step | None:
        replacing = [s for s in self._steps(level) if insert_step(s).kind is Kind.REPLACE]
        return replacing[-1] if replacing else None

    def _wait_after_writes(self, rows: int) -> Second:
        full = min(1200.0, 60.0 + rows / 1e6)
        return full * min(1.0, self._workload.seconds / _FULL_STEP)

    def _fail(self, turn: Turn, reason: str, after: Second) -> None:
        failure = StepFailure(
            test=turn.test.name,
            clients=turn.step.clients,
            contender=turn.contender.name,
            incarnation=turn.incarnation,
            reason=reason,
            after_s=after,
        )
        self._journal.fail(failure)
        self._view.warning(f"{turn.step.key} of incarnation {turn.incarnation} failed: {reason}")

    def _revive(self, turn: Turn, *, has_tables: bool) -> None:
        """Make the contender fit for the next step, or let it sit out the rest."""
        contender = turn.contender
        contender.server.stop(Shutdown.AT_ONCE)
        with suppress(SlowdustError):  # its session may have ended with the server
            self._runner.abandon(turn)
        if not has_tables or not contender.keeps_tables:
            self._out.add(contender.name)
            self._view.warning(
                f"{contender.name} sits out the rest of incarnation {turn.incarnation}: its tables "
                f"are not complete"
            )
            return
        self._view.phase(f"starting {contender.name} again")
        contender.start()
        turn.tables.rows = self._runner.count_rows(turn)
        self._wait_until_idle(contender, _BETWEEN_TURNS)
        steps = self._steps(turn.step.clients)
        if later := [step.key for step in steps[steps.index(turn.step) + 1 :]]:
            self._warn(
                f"{contender.name} in incarnation {turn.incarnation}: its server was started again "
                f"after {turn.step.key}, before these steps: {', '.join(later)}"
            )

    def _describe(self, turn: Turn) -> str:
        steps = self._journal.steps
        clients = f" x{turn.step.clients}" if turn.step.clients > 1 else ""
        return (
            f"{turn.test.name}{clients} on {turn.contender.name} (step "
            f"{steps.index(turn.step) + 1} of {len(steps)}, incarnation {turn.incarnation})"
        )

    def _status(self, step: Step, number: int) -> Status:
        steps = self._journal.steps
        left = self._forecast.left(self._planned, len(self._field.running()))
        return Status(
            test=step.test.name,
            clients=step.clients,
            step_number=steps.index(step) + 1,
            steps=len(steps),
            extent=f"incarnation {number} of {self._in_all}",
            standings=self._judge.standings(step),
            measured=self._forecast.elapsed,
            budget=self._forecast.elapsed + left,
            settled=None,
        )
