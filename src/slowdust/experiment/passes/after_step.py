"""What follows a long step on a contender: counts, sizes, maintenance, and a server that failed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from slowdust.benchmarks.steps import Maintenance
from slowdust.dbms.family import Shutdown
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender, explain_failure
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.engine.experiment import OpenExperiment
from slowdust.experiment.engine.long_step import (
    ContenderTurn,
    level_of,
    maintenance_due,
    stages_of,
)
from slowdust.experiment.engine.maintenance import longest_wait
from slowdust.experiment.engine.stepped import SteppedTests
from slowdust.experiment.passes.step_measurement import Measurement
from slowdust.instances.programs import InstanceError
from slowdust.store.preparation import SERVER
from slowdust.store.slice import Slice
from slowdust.store.step import StepDetail
from slowdust.units import Second

_BETWEEN_TURNS: Second = 10.0
"""Longest time for a contender to become idle after its turn, before the next one's begins."""
_FULL_STEP: Second = 1800.0
"""Length of a timed step from which on the wait after the writes applies unscaled."""


class AfterStep:
    """Brings contenders from the end of one step to where the next one begins."""

    def __init__(self, experiment: OpenExperiment, tests: SteppedTests) -> None:
        self._tests = tests
        self._contenders = experiment.contenders
        self._workload = tests.workload
        self._journal = experiment.journal
        self._view = experiment.view

    def keep(self, measurement: Measurement) -> None:
        """Keep the record of a step, and bring the contender to where the next one begins."""
        turn, record = measurement.turn, measurement.finish()
        try:
            self._complete(turn, record)
        except (TargetError, InstanceError) as error:
            self._contenders.warn(
                f"{turn.contender.name} finished {turn.step.key} of incarnation "
                f"{turn.incarnation}, and failed in what follows it: "
                f"{explain_failure(turn.contender, error)}"
            )
            self._revive(turn, has_tables=True)
        finally:
            self._journal.add(turn.step, record)  # what was measured stays measured

    @contextmanager
    def failing(self, turn: ContenderTurn, before: Second = 0.0) -> Iterator[None]:
        """Record that a contender failed in a step, and start its server again for the next one.

        `before` is the time of its step before this part of it.
        """
        begun = time.monotonic()
        with self._contenders.guard(turn.contender):
            try:
                yield
            except (TargetError, InstanceError) as error:
                after = before + time.monotonic() - begun
                self._fail(turn, explain_failure(turn.contender, error), after)
                self._revive(turn, has_tables=not turn.test.makes_tables)

    def _complete(self, turn: ContenderTurn, record: Slice) -> None:
        """Add the tables' rows and sizes to the record, and pay the step's debt."""
        detail, contender, tables = record.step, turn.contender, turn.tables
        assert detail is not None
        self._read_old_versions(turn, detail)  # first of all, since the server removes them
        self._view.phase(f"counting the rows of {contender.name}")
        detail.rows_counted = self._tests.count_rows(turn)
        self._check_rows(turn, detail.rows_counted)
        self._view.phase(f"measuring the size of {contender.name}")
        self._contenders.measure_sizes(contender, tables.names, tables.rows)
        sizes = contender.sizes
        assert sizes is not None
        detail.data_bytes = sizes.data_bytes
        detail.table_bytes = sizes.table_bytes
        detail.index_bytes = sizes.index_bytes
        detail.settled_s = self._settle(turn)

    def _read_old_versions(self, turn: ContenderTurn, detail: StepDetail) -> None:
        """Add what the server still keeps of rows that were replaced, where it tells."""
        facts = self._contenders.read_facts(turn.contender, turn.tables.rows)
        dead = [of["dead_rows"] for of in facts.values() if "dead_rows" in of]
        detail.dead_rows = round(sum(dead)) if dead else None
        undo_logs = facts.get(SERVER, {}).get("undo_logs")
        detail.history_length = None if undo_logs is None else round(undo_logs)

    def _check_rows(self, turn: ContenderTurn, counted: int) -> None:
        """Warn of rows that neither the step nor the driver's own count explains."""
        tables = turn.tables
        where = f"after {turn.step.key} of incarnation {turn.incarnation}"
        if counted != tables.written:
            self._contenders.warn(
                f"{turn.contender.name} has {counted:,} rows {where}, and by what was inserted and "
                f"deleted it should have {tables.written:,}"
            )
        elif counted != tables.rows:
            self._contenders.warn(
                f"{turn.contender.name} has {counted:,} rows {where}, and should have "
                f"{tables.rows:,}"
            )
        tables.rows = counted

    def _settle(self, turn: ContenderTurn) -> Second:
        """Pay the step's debt before another contender's turn; return how long that took."""
        begun = time.monotonic()
        limit = _BETWEEN_TURNS
        contender, tables = turn.contender, turn.tables
        due = maintenance_due(turn.step, self._tests.steps(level_of(turn.step)))
        if due is Maintenance.AFTER_WRITES:
            limit = max(limit, longest_wait(tables.rows, self._workload.seconds / _FULL_STEP))
        if stages := stages_of(due, contender, tables.names):
            self._view.phase(f"maintenance of {contender.name} after {turn.test.name}")
            self._contenders.maintain(contender, stages, tables.rows)
        self._wait_until_idle(contender, limit)
        if due is Maintenance.AFTER_LOAD:
            self._journal.record_servers(self._contenders)
        return time.monotonic() - begun

    def _wait_until_idle(self, contender: RunningContender, limit: Second) -> None:
        self._view.phase(f"waiting until {contender.name} is idle")
        self._contenders.wait_until_idle([contender], limit)

    def _fail(self, turn: ContenderTurn, reason: str, after: Second) -> None:
        self._journal.fail(turn.step, turn.contender.name, turn.incarnation, reason, after)
        self._view.warning(f"{turn.step.key} of incarnation {turn.incarnation} failed: {reason}")

    def _revive(self, turn: ContenderTurn, *, has_tables: bool) -> None:
        """Start the contender again for the next step, or let it sit out the rest."""
        contender = turn.contender
        contender.server.stop(Shutdown.AT_ONCE)
        with suppress(SlowdustError):  # its session may have ended with the server
            self._contenders.driver.close(turn.session)
        if not has_tables or not contender.keeps_tables:
            self._tests.without_tables.add(contender.name)
            self._view.warning(
                f"{contender.name} sits out the rest of incarnation {turn.incarnation}: its tables "
                f"are not complete"
            )
            return
        self._view.phase(f"{'using' if contender.is_remote else 'starting'} {contender.name} again")
        contender.start()
        turn.tables.rows = self._tests.count_rows(turn)
        self._wait_until_idle(contender, _BETWEEN_TURNS)
        steps = self._tests.steps(level_of(turn.step))
        if later := [step.key for step in steps[steps.index(turn.step) + 1 :]]:
            again = "clients connected" if contender.is_remote else "server was started"
            self._contenders.warn(
                f"{contender.name} in incarnation {turn.incarnation}: its {again} again "
                f"after {turn.step.key}, before these steps: {', '.join(later)}"
            )
