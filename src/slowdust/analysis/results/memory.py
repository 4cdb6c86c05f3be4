"""Memory: peaks of the servers' processes, for contenders that allocate in different ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from slowdust.analysis.model import ContenderInfo, Memory, Result
from slowdust.store.slice import Slice
from slowdust.units import known

_BYTES_PER_GB = 1 << 30


def peak_gb(slices: Sequence[Slice], quantity: str) -> float | None:
    """Return the largest size of the server, in GB; None where it was not measured."""
    sizes = known(record.measured.used("server", quantity) for record in slices)
    return max(sizes) / _BYTES_PER_GB if sizes else None


def memory_of(results: Sequence[Result], infos: Sequence[ContenderInfo]) -> list[Memory]:
    """Return an entry for each contender with a result; none where all of these allocate alike.

    The base is the first of `infos`.
    """
    measured = {result.contender for result in results}
    present = [info for info in infos if info.name in measured]
    if len({(info.engine, info.allocator, *info.environment) for info in present}) < 2:
        return []
    return [
        _memory(info, [r for r in results if r.contender == info.name], infos[0].name)
        for info in present
    ]


def _memory(info: ContenderInfo, results: Sequence[Result], base: str) -> Memory:
    ratios = known(result.judged_rqps for result in results if result.contender != base)
    rss = _peak(results, lambda result: result.peak_rss_gb)
    pool = None if info.buffer_pool_bytes is None else info.buffer_pool_bytes / _BYTES_PER_GB
    return Memory(
        contender=info.name,
        rqps_median=median(ratios) if ratios else None,
        rqps_lowest=min(ratios, default=None),
        rqps_highest=max(ratios, default=None),
        peak_vsz_gb=_peak(results, lambda result: result.peak_vsz_gb),
        peak_rss_gb=rss,
        buffer_pool_gb=pool,
        rss_per_buffer_pool=rss / pool if rss is not None and pool else None,
    )


def _peak(results: Sequence[Result], read: Callable[[Result], float | None]) -> float | None:
    return max(known(map(read, results)), default=None)
