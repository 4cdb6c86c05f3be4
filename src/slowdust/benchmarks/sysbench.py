"""Sysbench: its results are imported, and its tests are known only by name.

A test is named like its files: `read-only.range10000`, `hot-points.pre.range100`, without a primary
key `hot-points.range100.pk0`; the load of its tables is `load`.
"""

from __future__ import annotations

from dataclasses import dataclass

from slowdust.benchmarks.model import Benchmark, Group, Phase, Test

LOAD = "load"
_WRITES = ("delete", "insert", "update", "write")
_WARM = "warm"


@dataclass(frozen=True)
class _Sysbench(Benchmark):
    def test(self, name: str) -> Test:
        return Test(
            self.name, name, _group(name), Phase.PRE if f".{Phase.PRE}." in name else Phase.AGED
        )


def _group(name: str) -> Group:
    test, _, phase = name.partition(".")
    if test == LOAD or phase.startswith(_WARM):
        return Group.LOAD
    if phase.startswith(f"{Phase.PRE}."):
        return Group.PRE
    if any(word in test for word in _WRITES):
        return Group.WRITE
    if test.startswith("read-only"):
        return Group.AGGREGATION
    return Group.POINT if "point" in test else Group.RANGE


SYSBENCH = _Sysbench(name="sysbench", tests=(), suites={})
