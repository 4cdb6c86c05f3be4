"""The table `[vector]` of an experiment file, and its tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from slowdust.benchmarks.model import FEWEST_ROWS, Group, Phase, Test
from slowdust.benchmarks.options import AsCount, OwnKeyError, Table
from slowdust.benchmarks.vector.data import (
    LEAST_FILTERED_ROWS,
    METRICS,
    MOST_DIMENSIONS,
    PUBLIC,
    Header,
    Metric,
    Shape,
    check_values,
    read_header,
    shape_called,
)
from slowdust.places import named_path
from slowdust.sql import HNSW, IVFFLAT, Dbms

MOST_EFFORT = 1000
"""The largest `hnsw.ef_search` of pgvector."""
Effort = Annotated[int, Field(ge=1, le=MOST_EFFORT), AsCount]
Probes = Annotated[int, Field(ge=1, le=32768), AsCount]
Percent = Annotated[int, Field(ge=1, le=99)]


class VectorTable(Table):
    """The table `[vector]`; a shape or a file provides dimensions and metric."""

    shape: str | None = PUBLIC[0]
    """None with a dataset, which has its own."""
    dataset: str | None = None
    dimensions: Annotated[int, Field(ge=2, le=MOST_DIMENSIONS), AsCount] | None = None
    metric: Literal["l2", "cosine", "ip"] | None = None
    k: Annotated[int, Field(ge=1, le=1000), AsCount] = 10
    queries: Annotated[int, Field(ge=1, le=100_000), AsCount] = 500
    """The number of different queries, for timing and for recall."""
    m: Annotated[int, Field(ge=3, le=100), AsCount] = 16
    ef_construction: Annotated[int, Field(ge=4, le=1000), AsCount] = 64
    lists: Annotated[int, Field(ge=1, le=32768), AsCount] | None = None
    """Lists of IVFFlat; by default the square root of the rows."""
    efforts: list[Effort] = Field(default=[10, 20, 40, 80, 160], min_length=1)
    probes: list[Probes] = Field(default=[1, 2, 4, 8, 16], min_length=1)
    filters: list[Percent] = Field(default=[10, 1], max_length=5)
    """Percentages of the rows that filtered queries search."""

    @field_validator("shape")
    @classmethod
    def _known_shape(cls, value: str | None) -> str | None:
        return None if value is None else shape_called(value).name

    @field_validator("dataset")
    @classmethod
    def _readable_file(cls, value: str | None) -> str | None:
        if value is None:
            return None
        path = named_path(value)
        check_values(read_header(path))  # errors contain the path as written
        return str(path.absolute())

    @field_validator("efforts", "probes", "filters")
    @classmethod
    def _distinct(cls, value: list[int]) -> list[int]:
        if len(set(value)) < len(value):
            raise ValueError("the same number is given twice")
        return value

    @field_validator("efforts", "probes")
    @classmethod
    def _ascending(cls, value: list[int]) -> list[int]:
        return sorted(value)

    @model_validator(mode="after")
    def _keys_that_agree(self) -> VectorTable:
        if self.dataset is not None:
            for key in ("shape", "dimensions", "metric"):
                if key in self.model_fields_set:
                    raise OwnKeyError("remove it: the dataset has its own", key)
            self.__dict__["shape"] = None  # else the stored file would be inconsistent
        if self.ef_construction < 2 * self.m:
            if "ef_construction" in self.model_fields_set:
                least = f"{self.ef_construction} is too small: write at least twice m, {2 * self.m}"
                raise OwnKeyError(least, "ef_construction")
            raise OwnKeyError(
                f"{self.m} is too large: write at most half of ef_construction "
                f"({self.ef_construction})",
                "m",
            )
        if self.k > (effort := min(self.efforts)):
            raise OwnKeyError(
                f"searches with an effort of {effort} find fewer than {self.k} neighbours: write "
                f"efforts of at least {self.k}",
                "efforts" if "efforts" in self.model_fields_set else "k",
            )
        return self

    @cached_property
    def header(self) -> Header | None:
        """The facts of the file; None without one."""
        return read_header(Path(self.dataset)) if self.dataset else None

    @property
    def of_shape(self) -> Shape:
        """The shape of generated vectors, with the given dimensions and metric."""
        shape = shape_called(self.shape or PUBLIC[0])
        dimensions = self.dimensions or shape.dimensions
        metric = METRICS[self.metric] if self.metric else shape.metric
        if (dimensions, metric) == (shape.dimensions, shape.metric):
            return shape
        return Shape(f"{dimensions}-{metric.in_files}", dimensions, metric)

    @property
    def distance(self) -> Metric:
        return self.header.metric if self.header else self.of_shape.metric


NAME = "vector"
EXACT = "exact"
BUILD = "build-"
"""The prefix of the names of tests that build an index."""
_KNOB = {HNSW: "ef", IVFFLAT: "probes"}
"""Kind of index -> the name of its effort in names of tests."""
_SEARCH = re.compile(
    r"(?P<kind>hnsw|ivfflat)\.(?:ef|probes)(?P<effort>\d+)(?:\.filter(?P<percent>\d+))?"
)


@dataclass(frozen=True, kw_only=True)
class VectorTest(Test):
    """A test of the benchmark."""

    kind: str | None = None
    """The kind of index that it searches; None for exact scans and builds."""
    percent: int | None = None
    """The percentage of the rows that it searches; None for all."""
    curve: str | None = None
    effort: int | None = None
    builds_index: str | None = None

    @property
    def most_clients(self) -> int | None:
        return None if self.builds_index is None else 1

    @property
    def countable(self) -> bool:
        return self.builds_index is None

    def lack(self, dbms: Dbms, engine: str | None) -> str | None:
        vectors = None if dbms.sql is None else dbms.sql.vectors
        kind = self.builds_index or self.kind
        return None if vectors is None or kind is None else vectors.cannot.get(kind)

    @property
    def table(self) -> str:
        """The table that it reads: the one with its kind of index, or the one without."""
        return "vectors" if self.kind is None else f"vectors_{self.kind}"


def make_tests(table: VectorTable) -> tuple[VectorTest, ...]:
    return (
        *_searches(HNSW, table.efforts, table.filters),
        *_searches(IVFFLAT, table.probes, table.filters),
        exact_scan(),
        build(HNSW),
        build(IVFFLAT),
    )


def make_suites(table: VectorTable) -> dict[str, tuple[str, ...]]:
    tests = make_tests(table)
    plain = [test.name for test in tests if test.percent is None]
    searches = [test.name for test in tests if test.kind == HNSW and test.percent is None]
    return {
        "default": tuple(plain),
        "full": tuple(test.name for test in tests),
        "quick": tuple(searches),
    }


def search(kind: str, effort: int, percent: int | None = None) -> VectorTest:
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
    return VectorTest(NAME, EXACT, Group.NEAREST, Phase.PRE)


def build(kind: str) -> VectorTest:
    return VectorTest(
        NAME,
        f"{BUILD}{kind}",
        Group.INDEX,
        Phase.LAST,
        builds_index=kind,
    )


def test_called(name: str) -> VectorTest | None:
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
