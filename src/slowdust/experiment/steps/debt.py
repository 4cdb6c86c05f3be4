"""The debt of a long step: the maintenance that follows it, before anything else is measured."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.benchmarks.steps import Maintenance
from slowdust.dbms.stages import Stage
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.steps.turn import long_step


def maintenance_due(step: PlannedStep, sequence: Sequence[PlannedStep]) -> Maintenance:
    """Return the maintenance that follows a step of a sequence: after the writes only behind the
    last of them.
    """
    due = long_step(step).maintenance
    later = sequence[sequence.index(step) + 1 :]
    if due is Maintenance.AFTER_WRITES and any(long_step(s).maintenance is due for s in later):
        return Maintenance.AFTER_STEP
    return due


def stages_of(due: Maintenance, contender: RunningContender, tables: Sequence[str]) -> list[Stage]:
    """Return the stages of a contender's maintenance of its tables."""
    family, site = contender.family, contender.server.site
    match due:
        case Maintenance.AFTER_LOAD:
            return family.after_load(site, tables)
        case Maintenance.AFTER_WRITES:
            return family.after_writes(site, tables)
        case Maintenance.AFTER_STEP:
            return family.after_step(site, tables)
        case Maintenance.NONE:
            return []
