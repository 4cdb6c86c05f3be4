"""What probing does to throughput: QPS of probed runs beside that of runs that nobody probes."""

from __future__ import annotations

from collections.abc import Iterator

from bench.contest import contest
from bench.ratios import alternate, ratio
from bench.rows import Row

TEST = "point-query"
SLICE_S = 0.1
PAIRS = 150
GOAL = 0.99


def rows(build: str) -> Iterator[Row]:
    """Alternate probed and other runs on one of two instances of `build`."""
    with contest([build, build], TEST) as running:
        contender = running.contenders[0]
        measured = alternate(
            lambda: running.probed_qps(contender, SLICE_S),
            lambda: running.qps(contender, SLICE_S),
            PAIRS,
        )
    found = ratio([probed for probed, _ in measured], [other for _, other in measured])
    what = f"{TEST}, QPS of probed slices of {SLICE_S} s / others'"
    yield Row(what, str(found), f"at least {GOAL:g}", found.median >= GOAL)
