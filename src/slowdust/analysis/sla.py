"""How the writers beside the queries of an Insert Benchmark step kept their rate.

A query rate that was reached because the writers did not do their work says nothing: where they
missed their SLA, it is not compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import Result, Writers
from slowdust.store.slice import Slice
from slowdust.store.step import RoleUse, StepDetail
from slowdust.units import Second, known

SHARE = 0.95
"""Of the target that inserts, and deletes, have to reach."""
_WRITERS = ("insert", "delete")
_NS_PER_S = 1e9


def writers_of(slices: Sequence[Slice]) -> Writers | None:
    """The worst of a step's incarnations on one contender, number by number.

    None for steps whose writers had no rate to keep.
    """
    kept = [found for record in slices if (found := _writers(record)) is not None]
    if not kept:
        return None
    return Writers(
        target=kept[0].target,
        inserts=min(one.inserts for one in kept),
        deletes=min(known(one.deletes for one in kept), default=None),
        insert_backlog=max(known(one.insert_backlog for one in kept), default=None),
        delete_backlog=max(known(one.delete_backlog for one in kept), default=None),
        max_lag_s=max(known(one.max_lag_s for one in kept), default=None),
        sla_met=all(one.sla_met for one in kept),
    )


def missed_its_sla(result: Result) -> bool:
    """Whether its writers did; a step without writers at a rate has no SLA to miss."""
    return result.writers is not None and not result.writers.sla_met


def achieved(writers: Writers) -> str:
    """'950 inserts/s and 940 deletes/s instead of 1,000'; deletes only where they are known."""
    deletes = "" if writers.deletes is None else f" and {writers.deletes:,.0f} deletes/s"
    return f"{writers.inserts:,.0f} inserts/s{deletes} instead of {writers.target:,.0f}"


def meets_sla(record: Slice) -> bool:
    """Whether its writers kept their rate; without such writers there is nothing to miss."""
    writers = _writers(record)
    return writers is None or writers.sla_met


def paced_seconds(role: RoleUse, window: Second | None) -> Second | None:
    """How long a writer at a rate was at work: a window can last longer, for its last query.

    None where neither is known.
    """
    if role.schedule is None or not role.schedule.due:
        return window
    scheduled = role.schedule.due / role.schedule.rate
    return scheduled if window is None else min(window, scheduled)


def rate_of(count: int | None, seconds: Second | None) -> float | None:
    """Per second; None where either is not known."""
    return None if count is None or not seconds else count / seconds


def _writers(record: Slice) -> Writers | None:
    if record.step is None or record.step.target is None:
        return None
    target = record.step.target
    inserts, deletes = (_rate(record, record.step, name) for name in _WRITERS)
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
        insert_backlog=backlog.get("insert"),
        delete_backlog=backlog.get("delete"),
        max_lag_s=max(lags_ns) / _NS_PER_S if lags_ns else None,
        sla_met=slowest >= SHARE * target,
    )


def _rate(record: Slice, step: StepDetail, name: str) -> float | None:
    """Rows per second; 0 where nobody wrote, None where nothing says how many.

    An archived run need not have deleted anything.
    """
    role = step.roles.get(name)
    if role is None:
        return None if record.archived else 0.0
    if role.rate is not None:
        return role.rate
    return rate_of(role.rows, paced_seconds(role, record.measured.seconds))
