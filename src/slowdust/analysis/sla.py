"""The SLA of the background writers of a long step: to keep their rate.

A query rate that was reached because the writers did less work is meaningless, so it is not
compared if they missed their SLA.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import Result, Writers
from slowdust.benchmarks.steps import DELETER, INSERTER, Role
from slowdust.store.slice import Slice
from slowdust.store.step import RoleUse, StepDetail
from slowdust.units import Second, known

SHARE = 0.95
"""Share of the target that inserts and deletes have to reach."""
_NS_PER_S = 1e9


def writers_of(slices: Sequence[Slice]) -> Writers | None:
    """Return the worst numbers over a step's starts on one contender.

    None for steps whose writers have no target rate.
    """
    runs = known(map(_writers, slices))
    if not runs:
        return None
    return Writers(
        target=runs[0].target,
        inserts=min(run.inserts for run in runs),
        deletes=min(known(run.deletes for run in runs), default=None),
        insert_backlog=max(known(run.insert_backlog for run in runs), default=None),
        delete_backlog=max(known(run.delete_backlog for run in runs), default=None),
        max_lag_s=max(known(run.max_lag_s for run in runs), default=None),
        sla_met=all(run.sla_met for run in runs),
    )


def missed_its_sla(result: Result) -> bool:
    """Return whether a result's writers missed their SLA; False without writers."""
    return result.writers is not None and not result.writers.sla_met


def achieved_rates(writers: Writers) -> str:
    """Return '950 inserts/s and 940 deletes/s instead of 1,000'; deletes only if known."""
    deletes = "" if writers.deletes is None else f" and {writers.deletes:,.0f} deletes/s"
    return f"{writers.inserts:,.0f} inserts/s{deletes} instead of {writers.target:,.0f}"


def meets_sla(record: Slice) -> bool:
    """Return whether a slice's writers met their SLA; True without writers."""
    writers = _writers(record)
    return writers is None or writers.sla_met


def paced_seconds(role: RoleUse, window: Second | None) -> Second | None:
    """Return how long a paced writer worked; the window may last longer because of its last query.

    None if neither is known.
    """
    if role.schedule is None or not role.schedule.due:
        return window
    scheduled = role.schedule.due / role.schedule.rate
    return scheduled if window is None else min(window, scheduled)


def rate_of(count: int | None, seconds: Second | None) -> float | None:
    """Return the rate per second; None if either is unknown."""
    return None if count is None or not seconds else count / seconds


def _writers(record: Slice) -> Writers | None:
    if record.step is None or record.step.target is None:
        return None
    target = record.step.target
    inserts, deletes = (_rate(record, record.step, role) for role in (INSERTER, DELETER))
    if inserts is None:
        return None
    schedules = {
        name: role.schedule for name, role in record.step.roles.items() if role.schedule is not None
    }
    backlog = {name: schedule.backlog for name, schedule in schedules.items()}
    lags_ns = [schedule.max_lag_ns for schedule in schedules.values()]
    slowest = inserts if deletes is None else min(inserts, deletes)
    return Writers(
        target=target,
        inserts=inserts,
        deletes=deletes,
        insert_backlog=backlog.get(INSERTER.name),
        delete_backlog=backlog.get(DELETER.name),
        max_lag_s=max(lags_ns) / _NS_PER_S if lags_ns else None,
        sla_met=slowest >= SHARE * target,
    )


def _rate(record: Slice, step: StepDetail, writer: Role) -> float | None:
    """Return rows per second; 0 if the step has no such writer, None if they are unknown."""
    role = step.roles.get(writer.name)
    if role is None:
        return 0.0 if record.printed is None else None
    if role.printed is not None:
        return role.printed.rate
    return rate_of(role.rows, paced_seconds(role, record.measured.seconds))
