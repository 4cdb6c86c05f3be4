"""What happened in each second of a long step, as lines: thinned so that no stall gets lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowdust.analysis.steps import BY_STATEMENT
from slowdust.store.records import RoleSecond, RoleUse, Sample, Second, ServerUse

SHORTEST_TAIL: Second = 0.5
"""A last second shorter than this has no rate: it would be noise."""

BYTES_PER_MB = 1 << 20
"""As the stalls beside the graphs, and kB per operation, are counted."""

_NOTHING = RoleSecond(0, 0, 0, 0)

Point = tuple[int, float]
"""Second since the beginning of the step, and the value in it."""
Run = tuple[Point, ...]


@dataclass(frozen=True)
class Line:
    """A contender in one incarnation, broken where nothing was measured."""

    contender: str
    incarnation: int
    runs: tuple[Run, ...]


def rates(role: str, use: RoleUse, worked: Second) -> list[float | None]:
    """Rows, or statements, per second over the time that the role had work to do.

    Seconds behind its last completion are 0; a short last second is scaled up, a very short one
    None, and so is what ended later.
    """
    found: list[float | None] = []
    for second in range(max(len(use.per_second), math.ceil(worked))):
        done = use.per_second[second] if second < len(use.per_second) else _NOTHING
        length = min(1.0, worked - second)
        count = done.statements if role in BY_STATEMENT else done.rows
        found.append(count / length if length >= SHORTEST_TAIL else None)
    return found


def worst_us(use: RoleUse) -> list[float | None]:
    """Largest response time of each second in microseconds; None where nothing ended."""
    return [done.max_ns / 1e3 if done.max_ns else None for done in use.per_second]


def late_us(use: RoleUse) -> list[float | None]:
    """How late the latest statement begun in each second was; None where all were in time."""
    return [done.late_ns / 1e3 if done.late_ns else None for done in use.per_second]


def backlog(use: RoleUse) -> list[float | None]:
    """Rows of a paced writer that were due at the end of each second and not written."""
    if use.schedule is None:
        return []
    rate, due = use.schedule.rate, use.schedule.due
    found: list[float | None] = []
    written = 0
    for second in range(math.ceil(due / rate)):
        if second < len(use.per_second):
            written += use.per_second[second].rows
        found.append(max(0.0, min(rate * (second + 1), due) - written))
    return found


def server_cpus(samples: Sequence[Sample]) -> list[float | None]:
    """CPUs that the server used in each second that the probes saw."""
    return _by_second(samples, lambda server: server.cpu_s)


def server_written_mb(samples: Sequence[Sample]) -> list[float | None]:
    """MB per second that the server wrote to storage."""
    written = _by_second(samples, lambda server: server.write_bytes)
    return [None if value is None else value / BYTES_PER_MB for value in written]


def _by_second(
    samples: Sequence[Sample], read: Callable[[ServerUse], float | None]
) -> list[float | None]:
    """Amounts of samples, which are about a second long, as rates of the nearest second."""
    found: dict[int, float] = {}
    for sample in samples:
        amount = None if sample.server is None else read(sample.server)
        if amount is not None and sample.seconds >= SHORTEST_TAIL:
            found[round(sample.start)] = amount / sample.seconds
    return [found.get(second) for second in range(max(found, default=-1) + 1)]


def thinned(values: Sequence[float | None], most: int) -> tuple[Run, ...]:
    """`values` by second, at most about `most` of them, in unbroken runs.

    Neighbours are joined to their lowest and highest, each at its own second: a single second's
    stall or peak is still there.
    """
    runs: list[list[Point]] = []
    for second, value in enumerate(values):
        if value is None:
            continue
        if not runs or runs[-1][-1][0] != second - 1:
            runs.append([])
        runs[-1].append((second, value))
    present = sum(len(run) for run in runs)
    if present <= most:
        return tuple(map(tuple, runs))
    joined = -(-2 * present // most)
    return tuple(_ends_kept(run, joined) for run in runs)


def _ends_kept(run: Sequence[Point], joined: int) -> Run:
    kept: list[Point] = []
    for start in range(0, len(run), joined):
        piece = run[start : start + joined]
        kept += sorted({min(piece, key=_value), max(piece, key=_value)})
    return tuple(kept)


def _value(point: Point) -> float:
    return point[1]
