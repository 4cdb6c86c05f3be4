"""Maintenance, carried out stage by stage on a server of any family."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from slowdust.dbms.access import Target
from slowdust.dbms.stages import Stage, Statements, WaitUntil, WithSettings
from slowdust.errors import SlowdustError
from slowdust.experiment.driver.process import Driver
from slowdust.units import Second

SHORTEST_WAIT: Second = 30.0
"""Time that idle servers are waited for at least; most are idle within a second."""
_FIRST_LOOK: Second = 0.05
_LOOK_EVERY: Second = 0.2


def carry_out(
    driver: Driver,
    target: Target,
    stages: Sequence[Stage],
    rows: int,
    warn: Callable[[str], None],
) -> None:
    """Carry out the stages one after the other; `warn` gets a sentence where one took too long.

    The stages are about tables of so many `rows`, which decide how long a statement may take.
    """
    for stage in stages:
        if isinstance(stage, Statements):
            driver.sql(
                target,
                stage.texts,
                parallel=os.cpu_count() or 1,
                limit=driver.patience.maintenance(rows),
            )
        elif isinstance(stage, WithSettings):
            before = _values(driver, target, stage)
            driver.sql(target, [stage.write(*pair) for pair in stage.values.items()])
            carry_out(driver, target, stage.stages, rows, warn)
            driver.sql(target, [stage.write(*pair) for pair in reversed(before.items())])
        elif not _wait_for(driver, target, stage):
            warn(f"{stage.limit:.0f} s were not enough until {stage.what}")


def longest_wait(rows: int, share: float) -> Second:
    """Return how long to wait for idle servers after writes to so many rows.

    60 s and 1 s per million rows, at most 1200 s, in a run that is `share` of a full one. Deferred
    work does not take less time because a run is short: 30 s at least.
    """
    return max(SHORTEST_WAIT, min(1200.0, 60.0 + rows / 1e6) * min(1.0, share))


def _values(driver: Driver, target: Target, stage: WithSettings) -> dict[str, str]:
    """Read the values in force of the settings that are changed."""
    values: dict[str, str] = {}
    answers = driver.sql(target, [stage.read(name) for name in stage.values])
    for name, answer in zip(stage.values, answers, strict=True):
        ((value,),) = answer.rows
        if value is None:
            raise SlowdustError(f"{target.dbms} has no value of {name} that could be restored")
        values[name] = value
    return values


def _wait_for(driver: Driver, target: Target, stage: WaitUntil) -> bool:
    deadline = time.monotonic() + stage.limit
    pause = _FIRST_LOOK  # most of what is waited for has ended, or is about to
    while True:
        (answer,) = driver.sql(target, [stage.statement])
        if stage.is_done(answer.rows):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _LOOK_EVERY)
