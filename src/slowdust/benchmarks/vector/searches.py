"""The tests of the benchmark: searches at several efforts, exact scans, and index builds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slowdust.benchmarks.model import FEWEST_ROWS, Group, Phase, Test
from slowdust.benchmarks.vector.data import LEAST_FILTERED_ROWS
from slowdust.benchmarks.vector.options import VectorTable
from slowdust.sql import Dbms
from slowdust.vector_indexes import HNSW, IVFFLAT

NAME = "vector"
EXACT = "exact"
BUILD = "build-"
"""Beginning of the names of tests that build an index."""
_KNOB = {HNSW: "ef", IVFFLAT: "probes"}
"""Kind of index -> what its effort is called in the names of tests."""
_SEARCH = re.compile(
    r"(?P<kind>hnsw|ivfflat)\.(?:ef|probes)(?P<effort>\d+)(?:\.filter(?P<percent>\d+))?"
)


@dataclass(frozen=True, kw_only=True)
class VectorTest(Test):
    """A test of the benchmark."""

    kind: str | None = None
    """The kind of index that it searches; None for exact scans and builds."""
    percent: int | None = None
    """The share of the rows that it is limited to; None for all."""
    curve: str | None = None
    effort: int | None = None
    builds_index: str | None = None

    @property
    def most_clients(self) -> int | None:
        """One that builds an index: all would make the same."""
        return None if self.builds_index is None else 1

    @property
    def countable(self) -> bool:
        """Whether it builds no index."""
        return self.builds_index is None

    def lack(self, dbms: Dbms, engine: str | None) -> str | None:
        """Refuse a DBMS without indexes of its kind."""
        vectors = None if dbms.sql is None else dbms.sql.vectors
        kind = self.builds_index or self.kind
        return None if vectors is None or kind is None else vectors.cannot.get(kind)

    @property
    def table(self) -> str:
        """The table that it reads: that with the index, or the one that has none."""
        return "vectors" if self.kind is None else f"vectors_{self.kind}"


def tests_of(table: VectorTable) -> tuple[VectorTest, ...]:
    """Return the tests that a table asks for, in the order in which they run."""
    return (
        *_searches(HNSW, table.efforts, table.filters),
        *_searches(IVFFLAT, table.probes, table.filters),
        exact_scan(),
        build(HNSW),
        build(IVFFLAT),
    )


def suites_of(table: VectorTable) -> dict[str, tuple[str, ...]]:
    """Return the suites: all tests, those without filters, and few."""
    tests = tests_of(table)
    plain = [test.name for test in tests if test.percent is None]
    searches = [test.name for test in tests if test.kind == HNSW and test.percent is None]
    return {
        "default": tuple(plain),
        "full": tuple(test.name for test in tests),
        "quick": tuple(searches),
    }


def search(kind: str, effort: int, percent: int | None = None) -> VectorTest:
    """Return the search of an index with an effort, among a share of the rows."""
    limited = "" if percent is None else f".filter{percent}"
    return VectorTest(
        NAME,
        f"{kind}.{_KNOB[kind]}{effort}{limited}",
        Group.NEAREST if percent is None else Group.FILTERED,
        Phase.PRE,
        curve=f"{kind}{limited}",
        effort=effort,
        kind=kind,
        percent=percent,
        least_rows=FEWEST_ROWS if percent is None else LEAST_FILTERED_ROWS,
    )


def exact_scan() -> VectorTest:
    """Return the search of a table without an index."""
    return VectorTest(NAME, EXACT, Group.NEAREST, Phase.PRE)


def build(kind: str) -> VectorTest:
    """Return the test that makes an index and drops it."""
    return VectorTest(
        NAME,
        f"{BUILD}{kind}",
        Group.INDEX,
        Phase.LAST,
        builds_index=kind,
    )


def test_called(name: str) -> VectorTest | None:
    """Return the test of a name, also with an unusual effort; None where there is none."""
    if match := _SEARCH.fullmatch(name):
        percent = match["percent"]
        found = search(match["kind"], int(match["effort"]), int(percent) if percent else None)
        return found if found.name == name else None
    others = (exact_scan(), build(HNSW), build(IVFFLAT))
    return next((test for test in others if test.name == name), None)


def _searches(kind: str, efforts: list[int], filters: list[int]) -> Iterator[VectorTest]:
    for percent in (None, *filters):
        for effort in efforts:
            yield search(kind, effort, percent)
