"""Indexes: the time to build them, of tests in slices, and their sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from slowdust.analysis.model import IndexResult, Result
from slowdust.benchmarks import known_test
from slowdust.store.search import IndexSize


def index_results(
    results: Sequence[Result], sizes: Sequence[IndexSize], contenders: Sequence[str]
) -> list[IndexResult]:
    """Return each kind of index on each contender that has one, the base first.

    Builds have one client. Earlier versions let several make one index, of which most failed: the
    fewest clients count.
    """
    builds: dict[tuple[str, str], Result] = {}
    for result in results:
        test = known_test(result.benchmark, result.test)
        if test is not None and test.builds_index is not None:
            place = (test.builds_index, result.contender)
            if place not in builds or result.clients < builds[place].clients:
                builds[place] = result
    stored: dict[tuple[str, str], list[int]] = defaultdict(list)
    for size in sizes:
        stored[size.index, size.contender].append(size.bytes)
    kinds = dict.fromkeys([kind for kind, _ in builds] + [kind for kind, _ in stored])
    return [
        _index(kind, name, builds.get((kind, name)), stored, contenders[0])
        for kind in kinds
        for name in contenders
        if (kind, name) in builds or (kind, name) in stored
    ]


def _index(
    kind: str,
    contender: str,
    build: Result | None,
    stored: dict[tuple[str, str], list[int]],
    base: str,
) -> IndexResult:
    result = IndexResult(index=kind, contender=contender)
    if build is not None and build.qps > 0:
        result.build_s = build.clients / build.qps
        low, high = build.judged_interval
        result.relative = _inverse(build.judged_rqps)
        result.low, result.high = _inverse(high), _inverse(low)
        result.verdict = build.verdict
    if own := stored.get((kind, contender)):
        result.bytes = fmean(own)
        if of_base := stored.get((kind, base)):
            result.bytes_relative = result.bytes / fmean(of_base) if fmean(of_base) else None
    return result


def _inverse(ratio: float | None) -> float | None:
    return 1 / ratio if ratio else None
