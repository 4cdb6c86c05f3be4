"""A workload as a benchmark of slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, InstanceOf, PlainSerializer

from slowdust import benchmarks
from slowdust.benchmarks.described import Described
from slowdust.benchmarks.model import DEFAULT_SUITE, Benchmark, Group, Phase, Test
from slowdust.experiment.spec.contenders import PlannedContender
from slowdust.experiment.spec.errors import AtKeysError, at, placed
from slowdust.experiment.workload.described import DescribedWorkload
from slowdust.experiment.workload.workload import Workload, read_workload
from slowdust.places import named_path
from slowdust.store.folder import WORKLOAD_FILE
from slowdust.store.manifest import WorkloadFacts

_UNUSED = {
    "benchmark": "the workload is the benchmark",
    "rows": "its file has the rows of each table",
    "tables": "its file has its tables",
}


@dataclass(frozen=True, kw_only=True)
class OwnBenchmark(Benchmark):
    """The benchmark that a workload is."""

    workload: Workload

    @property
    def option(self) -> str:
        """The option of `slowdust tests` that means it."""
        return "--workload FILE"

    def described(self, rows: int, tables: int, seed: int) -> Described:
        """Return its tables and tests; they do not depend on those of the experiment."""
        return DescribedWorkload(self.workload)

    @property
    def facts(self) -> WorkloadFacts:
        """What the manifest of an experiment keeps of it."""
        return WorkloadFacts(
            name=self.name,
            sha256=self.workload.sha256,
            groups={test.name: test.group.value for test in self.tests},
            rows={name: table.rows for name, table in self.workload.file.tables.items()},
        )


def benchmark_of(workload: Workload) -> OwnBenchmark:
    """Return the benchmark that a workload is.

    Raises:
        UsageError: another benchmark has its name.
    """
    if workload.name in benchmarks.NAMES:
        with placed(workload.origin):
            raise AtKeysError(
                f"'{workload.name}' is a benchmark of Slowdust: write another name", ("name",)
            )
    tests = tuple(_tests(workload))
    return OwnBenchmark(
        name=workload.name,
        tests=tests,
        suites={DEFAULT_SUITE: tuple(test.name for test in tests)},
        driver_benchmark="described",
        unused_keys=_UNUSED,
        workload=workload,
    )


def _tests(workload: Workload) -> list[Test]:
    """Return the tests in their order; those behind the first that writes are on aged data."""
    tests: list[Test] = []
    for name in workload.file.tests:
        group = workload.group(name)
        aged = any(test.writes for test in tests)
        phase = Phase.WRITE if group is Group.WRITE else Phase.AGED if aged else Phase.PRE
        tests.append(Test(workload.name, name, group, phase))
    return tests


def read_benchmark(path: Path) -> OwnBenchmark:
    """Read the workload in a TOML file.

    Raises:
        UsageError: the file cannot be read, or what is wrong in it.
    """
    return benchmark_of(read_workload(path))


def _from_path(value: object) -> object:
    if isinstance(value, str):
        path = named_path(value)
        if not path.is_file():
            raise ValueError(f"there is no file {path}")
        return read_benchmark(path)
    if isinstance(value, OwnBenchmark):
        return value
    raise ValueError(f"{value} is not the path of a workload's file, in quotes")


WorkloadKey = Annotated[
    InstanceOf[OwnBenchmark],
    BeforeValidator(_from_path),
    PlainSerializer(lambda _: WORKLOAD_FILE),
]
"""The key `workload`: the path of a file, which becomes the name of its copy in the folder."""


def check_dialects(benchmark: OwnBenchmark, planned: Sequence[PlannedContender]) -> None:
    """Refuse contenders of a DBMS in whose SQL the workload is not written.

    Those that are directories are asked for their DBMS later, when they are looked at.

    Raises:
        AtKeysError: naming the contender, and what its DBMS lacks.
    """
    for contender in planned:
        name = contender.name
        dbms = name.url.dbms if name.url is not None else name.dbms
        if dbms is not None:
            with at("contenders", contender.place):
                benchmark.workload.check_dialect(dbms, name.written)
