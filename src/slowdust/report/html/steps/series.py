"""The seconds of a long step as values, thinned so that no stall is lost."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slowdust.benchmarks.roles import Role
from slowdust.report.html.charts.steps import Point, Run, thinned_runs
from slowdust.store.step import RoleSecond, RoleUse, Sample
from slowdust.units import Second

SHORTEST_TAIL: Second = 0.5
"""A last second shorter than this has no rate: it would be noise."""

BYTES_PER_MB = 1 << 20
"""The bytes of a MB, as for stalls and for kB per operation."""

_NOTHING = RoleSecond(0, 0, 0, 0)


def rates(role: Role, use: RoleUse, worked: Second) -> list[float | None]:
    """Return rows, or statements, per second over the time that the role had work to do.

    Seconds after its last completion are 0; a short last second is scaled up; a very short one is
    left out, with all that ended later.
    """
    length = _seconds_of(worked)
    work = enumerate([*use.per_second, *([_NOTHING] * length)][:length])
    return [
        getattr(done, role.counts) / min(1.0, worked - second)
        for second, done in work
        if worked > second
    ]


def worst_us(use: RoleUse, worked: Second) -> list[float | None]:
    """Return the largest response time of each second in microseconds; None where nothing ended.

    Statements that ended after the last second with a rate count in that one.
    """
    return _largest_us([done.max_ns for done in use.per_second], worked)


def late_us(use: RoleUse, worked: Second) -> list[float | None]:
    """Return how late the latest statement of each second began; None where all were in time."""
    return _largest_us([done.late_ns for done in use.per_second], worked)


def _seconds_of(worked: Second) -> int:
    """Return the seconds that have a rate: a last one shorter than `SHORTEST_TAIL` has none."""
    return max(1, math.floor(worked + 1 - SHORTEST_TAIL))


def _largest_us(values_ns: Sequence[int], worked: Second) -> list[float | None]:
    last = _seconds_of(worked) - 1
    by_second = [*values_ns[:last], max(values_ns[last:], default=0)]
    return [value / 1e3 if value else None for value in by_second]


def backlog(use: RoleUse) -> list[float | None]:
    """Return the rows of a paced writer that were due by the end of each second but not written."""
    if use.schedule is None:
        return []
    rate, due = use.schedule.rate, use.schedule.due
    by_second: list[float | None] = []
    written = 0
    for second in range(math.ceil(due / rate)):
        written += sum(done.rows for done in use.per_second[second : second + 1])
        by_second.append(max(0.0, min(rate * (second + 1), due) - written))
    return by_second


def server_cpus(samples: Sequence[Sample]) -> list[float | None]:
    """Return the CPUs that the server used in each second that the probes saw."""
    return _by_second(samples, "cpu_s", 1)


def server_written_mb(samples: Sequence[Sample]) -> list[float | None]:
    """Return the MB per second that the server wrote to storage."""
    return _by_second(samples, "write_bytes", BYTES_PER_MB)


def _by_second(samples: Sequence[Sample], quantity: str, unit: int) -> list[float | None]:
    """Return amounts of samples, which are about a second long, as rates of the nearest second."""
    rates: dict[int, float] = {}
    for sample in samples:
        rate = sample.per_second("server", quantity)
        if rate is not None and sample.seconds >= SHORTEST_TAIL:
            rates[round(sample.start)] = rate / unit
    return [rates.get(second) for second in range(max(rates, default=-1) + 1)]


def thinned(values: Sequence[float | None], most: int) -> tuple[Run, ...]:
    """Return `values` by second, at most about `most` of them, in unbroken runs.

    A stall or a peak of a single second is still there.
    """
    runs: list[list[Point]] = []
    for second, value in enumerate(values):
        if value is None:
            continue
        if not runs or runs[-1][-1][0] != second - 1:
            runs.append([])
        runs[-1].append((second, value))
    return thinned_runs(tuple(map(tuple, runs)), most)
