"""How the writers beside the queries of an Insert Benchmark step kept their rate.

A query rate that was reached because the writers did not do their work says nothing: where they
missed their SLA, it is not compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import Result, Writers
from slowdust.store.records import RoleUse, Second, Slice, StepDetail

SHARE = 0.95
"""Of the target that inserts, and deletes, have to reach."""
_WRITERS = ("insert", "delete")
_NS_PER_S = 1e9


def writers_of(slices: Sequence[Slice]) -> Writers | None:
    """The worst of a step's incarnations on one contender, number by number.

    None for steps whose writers had no rate to keep.
    """
    kept = [found for piece in slices if (found := _writers(piece)) is not None]
    if not kept:
        return None
    return Writers(
        target=kept[0].target,
        inserts=min(one.inserts for one in kept),
        deletes=min(one.deletes for one in kept),
        insert_backlog=max(one.insert_backlog for one in kept),
        delete_backlog=max(one.delete_backlog for one in kept),
        max_lag_s=max(one.max_lag_s for one in kept),
        sla_met=all(one.sla_met for one in kept),
    )


def missed_its_sla(result: Result) -> bool:
    """Whether its writers did; a step without writers at a rate has no SLA to miss."""
    return result.writers is not None and not result.writers.sla_met


def meets_sla(piece: Slice) -> bool:
    """Whether its writers kept their rate; without such writers there is nothing to miss."""
    writers = _writers(piece)
    return writers is None or writers.sla_met


def paced_seconds(role: RoleUse, window: Second) -> Second:
    """How long a writer at a rate was at work: a window can last longer, for its last query."""
    if role.schedule is None or not role.schedule.due:
        return window
    return min(window, role.schedule.due / role.schedule.rate)


def _writers(piece: Slice) -> Writers | None:
    if piece.step is None or piece.step.target is None:
        return None
    target = piece.step.target
    inserts, deletes = (_rate(piece.step, name, piece.seconds) for name in _WRITERS)
    schedules = {
        name: role.schedule for name, role in piece.step.roles.items() if role.schedule is not None
    }
    backlog = {name: schedule.backlog for name, schedule in schedules.items()}
    lag_ns = max((schedule.max_lag_ns for schedule in schedules.values()), default=0)
    return Writers(
        target=target,
        inserts=inserts,
        deletes=deletes,
        insert_backlog=backlog.get("insert", 0),
        delete_backlog=backlog.get("delete", 0),
        max_lag_s=lag_ns / _NS_PER_S,
        sla_met=min(inserts, deletes) >= SHARE * target,
    )


def _rate(step: StepDetail, name: str, window: Second) -> float:
    """Rows per second; 0 where nobody wrote."""
    role = step.roles.get(name)
    return 0.0 if role is None else role.rows / paced_seconds(role, window)
