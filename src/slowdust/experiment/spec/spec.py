"""The specification of an experiment, from a TOML file or from the options of `compare`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)

from slowdust import benchmarks
from slowdust.analysis.metrics import COMPARED
from slowdust.benchmarks.model import DEFAULT_SUITE, Benchmark, Measuring, Test
from slowdust.benchmarks.options import AsCount, AsNumber, AsShare, Duration, Table
from slowdust.builds.revisions import check_repository
from slowdust.dbms import dialects, family_if_known
from slowdust.dbms.family import Family
from slowdust.dbms.settings import host_memory_bytes
from slowdust.errors import UsageError
from slowdust.experiment.count_method import Wanted
from slowdust.experiment.cpus import parse_cpus
from slowdust.experiment.spec.contenders import (
    ContenderTable,
    Matrix,
    PlannedContender,
    Settings,
    as_table,
    check_calibration,
    plan_contenders,
)
from slowdust.located_errors import (
    AtKeysError,
    Keys,
    Origin,
    at,
    explain,
    in_data,
    in_file,
    placed,
    read_toml,
)
from slowdust.places import named_path
from slowdust.store.bounds import MOST_CONTENDERS, MOST_SLICES
from slowdust.store.folder import NAME
from slowdust.units import Second, format_duration, parse_size
from slowdust.wording import listing, no_such
from slowdust.workloads.benchmark import OwnBenchmark, WorkloadKey

_MB = 1 << 20
_MOST_BYTES = 1 << 50
_LEAST_MEMORY = 64 * _MB
"""No current server starts with less."""


def _size(value: object) -> object:
    size = parse_size(value) if isinstance(value, str) else value
    if isinstance(size, int) and size < _LEAST_MEMORY:
        raise ValueError(f"{value} is too little: write at least {_LEAST_MEMORY // _MB}MB")
    return _bounded(value, size)


def _whole_megabytes(value: object) -> object:
    size = parse_size(value) if isinstance(value, str) else value
    if isinstance(size, int) and (size < _MB or size % _MB):
        raise ValueError(f"{value} is not a whole number of megabytes: write 1MB, 64MB or more")
    return _bounded(value, size)


def _bounded(value: object, size: object) -> object:
    """Return the size; refuse one, written as `value`, that no machine has."""
    if isinstance(size, int) and size > _MOST_BYTES:
        raise ValueError(f"{value} is too much: write at most {_MOST_BYTES >> 40}TB")
    return size


Memory = Annotated[int, BeforeValidator(_size)]
"""Bytes."""
Pool = Annotated[int, BeforeValidator(_whole_megabytes)]
"""Bytes."""
ShortDuration = Annotated[Duration, Field(le=3600)]
"""Seconds, at most an hour."""


class TrialsTable(Table):
    """Trials instead of slices: a search for the highest rate that meets an SLA."""

    sla: str
    precision: Annotated[float, Field(gt=0)]
    """The half-width of the intervals, as a fraction, at which the search stops."""
    length: Duration | None = None
    """The least length of a trial."""
    arrivals: Literal["poisson", "uniform"] = "poisson"


class RateTable(Table):
    """An open loop: operations per second over all clients, independent of the answers."""

    per_second: Annotated[float, Field(gt=0, le=10_000_000), AsNumber]
    arrivals: Literal["poisson", "uniform"] = "poisson"


def check_pool(pool: int | None, memory: int | None, contenders: int) -> None:
    """Refuse page caches that do not fit into memory with all contenders running side by side.

    Raises:
        AtKeysError: one exceeds the `memory` of a contender, or all together exceed the host's.
    """
    if pool is None:
        return
    host = host_memory_bytes()
    with at("pool"):
        if memory is not None and pool > memory:
            raise UsageError(f"{_mb(pool)} exceeds a contender's memory of {_mb(memory)}")
        if pool * contenders > host:
            each = f" for each of {contenders} contenders" if contenders > 1 else ""
            raise UsageError(f"{_mb(pool)}{each} exceeds the host's memory of {_mb(host)}")


def _mb(size: int) -> str:
    return f"{size / _MB:,.0f} MB"


_KEYS_OF_OWN_SERVERS = ("memory", "pool", "profile", "set", "waits")


def check_running_servers(planned: Sequence[PlannedContender], given: Iterable[str]) -> None:
    """Refuse keys that do not apply to running servers; `given` are the keys with a value.

    Raises:
        AtKeysError: such a key, or a setting of a running server.
    """
    running = [contender for contender in planned if contender.name.url is not None]
    if not running:
        if "keep" in given:
            raise AtKeysError("applies only to running servers, but no contender is one", ("keep",))
        return
    assert running[0].name.url is not None
    first = running[0].name.url.text
    for key in _KEYS_OF_OWN_SERVERS:
        if key in given:
            raise AtKeysError(_refusal(first, key), (key,))
    for contender in running:
        assert contender.name.url is not None
        for key, is_given in {"set": contender.set, "slowed": contender.slowed is not None}.items():
            if is_given:
                with at("contenders", contender.place):
                    raise UsageError(_refusal(contender.name.url.text, key))


def _refusal(server: str, key: str) -> str:
    return (
        f"{server} is a running server and is used as it is: remove {key}, which applies only to "
        "servers that Slowdust starts"
    )


_TABLES: dict[str, Any] = {
    name: (benchmark.options_type | None, None)
    for name, benchmark in benchmarks.BENCHMARKS.items()
    if benchmark.options_type is not None
}
"""Benchmark -> the type and the default of its own table in an experiment file."""


Share = Annotated[float, Field(gt=0, lt=1), AsShare]
_YEAR = 365 * 86400.0


def _check_suite(benchmark: Benchmark, suite: str) -> None:
    """Refuse a suite that the benchmark lacks, or that is the name of a benchmark."""
    if suite in benchmarks.BENCHMARKS and suite not in benchmark.suites:
        raise ValueError(
            f"'{suite}' is a benchmark, not a suite: write --benchmark {suite}, or "
            f'benchmark = "{suite}" in a file'
        )
    benchmark.suite(suite)


def _check_used(benchmark: Benchmark, keys: Iterable[str]) -> None:
    for key in sorted(keys):
        if key in benchmark.unused_keys:
            reason = benchmark.unused_keys[key]
            raise AtKeysError(f"does not apply to the benchmark {benchmark.name}: {reason}", (key,))


def _check_dialects(benchmark: OwnBenchmark, planned: Sequence[PlannedContender]) -> None:
    """Refuse contenders whose DBMS the workload has no SQL for.

    The DBMS of a directory is checked later, when the directory is read.

    Raises:
        AtKeysError: names the contender, and what its DBMS lacks.
    """
    for contender in planned:
        name = contender.name
        dbms = name.url.dbms if name.url is not None else name.dbms
        if dbms is not None:
            with at("contenders", contender.place):
                benchmark.workload.check_dialect(dbms, name.written)


class Spec(Table):
    """One experiment. Field names and the names of `_TABLES` are the keys of the TOML file."""

    name: str = Field(pattern=f"^{NAME}$")
    contenders: list[ContenderTable] = Field(min_length=1)
    matrix: Matrix = Field(default_factory=dict)
    benchmark: str = benchmarks.DEFAULT.name
    workload: WorkloadKey | None = None
    suite: str = DEFAULT_SUITE
    tests: list[str] = Field(default_factory=list)
    only: list[str] = Field(default_factory=list)
    clients: list[Annotated[int, Field(ge=1, le=10_000), AsCount]] = Field([1], min_length=1)
    rows: Annotated[int, Field(ge=100, le=2**32 - 1), AsCount] = 100_000
    tables: Annotated[int, Field(ge=1, le=1000), AsCount] = 1
    budget: Annotated[Duration, Field(le=_YEAR)] = 600.0
    slice: ShortDuration | None = None
    discard: ShortDuration = 0.01
    warmup: ShortDuration = 0.5
    margin: Share = 0.03
    margins: dict[str, Share] = Field(default_factory=dict)
    incarnations: Annotated[int, Field(ge=1, le=10_000), AsCount] | None = None
    trial: Annotated[int, Field(ge=1, le=10_000), AsCount] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**53), AsCount] = 1
    rate: RateTable | None = None
    trials: TrialsTable | None = None
    count: Wanted = "auto"
    count_budget: Annotated[Duration, Field(le=_YEAR)] | None = None
    simulate: bool = False
    cpus: list[Annotated[int, Field(ge=0)]] | None = Field(None, min_length=1)
    profile: bool = False
    waits: bool = False
    keep: bool = False
    memory: Memory | None = None
    pool: Pool | None = None
    repo: str | None = None
    patience: Annotated[Duration, Field(le=_YEAR)] | None = None
    set: Settings = Field(default_factory=dict)

    @property
    def has_running_servers(self) -> bool:
        return any(contender.name.url for contender in self.planned_contenders())

    def planned_starts(self, usual: int) -> int:
        """Return the number of planned starts, by default `usual`.

        Experiments with a running server have one start, unless the user asks for more.
        """
        return self.incarnations or (1 if self.has_running_servers else usual)

    @field_validator("contenders", mode="before")
    @classmethod
    def _plain_names(cls, value: object) -> object:
        if isinstance(value, list):
            return [as_table(item) for item in value]
        return value

    @field_validator("tests", "only")
    @classmethod
    def _distinct_tests(cls, value: list[str]) -> list[str]:
        if twice := [name for name in value if value.count(name) > 1]:
            raise ValueError(f"{twice[0]} is given twice")
        return value

    @field_validator("contenders")
    @classmethod
    def _distinct_names(cls, value: list[ContenderTable]) -> list[ContenderTable]:
        """Refuse repeated names given by the user; A/A comparisons need none."""
        names = [table.name or table.contender for table in value]
        for place, table in enumerate(value):
            if table.name is not None and table.name in names[:place]:
                raise AtKeysError(
                    f"two contenders are named '{table.name}': rename one of them",
                    ("contenders", place, "name"),
                )
        return value

    @field_validator("repo")
    @classmethod
    def _repository_where_it_is(cls, value: str | None) -> str | None:
        with at("repo"):
            check_repository(value or "")
        path = named_path(value) if value else None
        return str(path.absolute()) if path and path.is_dir() else value

    @field_validator("clients")
    @classmethod
    def _distinct_clients(cls, value: list[int]) -> list[int]:
        if len(set(value)) < len(value):
            raise ValueError("the same number of clients is given twice")
        return sorted(value)

    @field_validator("cpus", mode="before")
    @classmethod
    def _list_of_cpus(cls, value: object) -> object:
        return parse_cpus(value) if isinstance(value, str) else value

    @field_validator("cpus")
    @classmethod
    def _distinct_cpus(cls, value: list[int] | None) -> list[int] | None:
        return None if value is None else sorted(set(value))

    @model_validator(mode="before")
    @classmethod
    def _usual_rows(cls, value: object) -> object:
        """Fill in the rows of a benchmark whose default differs."""
        if not isinstance(value, dict) or "rows" in value:
            return value
        name = value.get("benchmark")
        own = benchmarks.BENCHMARKS.get(name) if isinstance(name, str) else None
        rows = None if own is None else own.usual_rows(value.get(own.name))
        return value if rows is None else {**value, "rows": rows}

    @model_validator(mode="before")
    @classmethod
    def _used_keys(cls, value: object) -> object:
        """Refuse keys that do not apply to the benchmark, even with default values."""
        if isinstance(value, dict) and "workload" not in value:
            name = value.get("benchmark", benchmarks.DEFAULT.name)
            if benchmark := benchmarks.BENCHMARKS.get(name) if isinstance(name, str) else None:
                _check_used(benchmark, value)
        return value

    @model_validator(mode="after")
    def _keys_of_the_benchmark(self) -> Spec:
        with at("benchmark"):
            benchmark = self.workload or benchmarks.benchmark(self.benchmark)
        _check_used(benchmark, self.model_fields_set)
        for key in sorted(self.model_fields_set):
            if key in _TABLES and key != benchmark.name:
                with at(key):
                    raise ValueError(
                        f"the table applies only to the benchmark {key}, not to {benchmark.name}"
                    )
        return self

    @model_validator(mode="after")
    def _margins_of_tests_and_metrics(self) -> Spec:
        tests = self.configured_benchmark().tests
        judged = [*(test.name for test in tests), *(each.key for each in COMPARED)]
        for name in self.margins:
            if name not in judged:
                raise AtKeysError(no_such("test or metric", name, judged), ("margins", name))
        return self

    @model_validator(mode="after")
    def _can_be_run(self) -> Spec:
        benchmark = self.configured_benchmark()
        with at("suite"):
            _check_suite(benchmark, self.suite)
        for place, pattern in enumerate(self.tests):
            with at("tests", place):
                benchmark.matching([pattern])
        tests = self.chosen_tests()
        names = [test.name for test in tests]
        for place, name in enumerate(self.only):
            if name not in names:
                raise AtKeysError(no_such("chosen test", name, names), ("only", place))
        widest = max(tests, key=lambda test: test.least_rows)
        if self.rows < widest.least_rows:
            raise AtKeysError(
                f"{widest.name} needs at least {widest.least_rows}: use more rows or other tests",
                ("rows",),
            )
        if benchmark.most_rows is not None and self.rows > benchmark.most_rows:
            raise AtKeysError(f"the data set has only {benchmark.most_rows:,}", ("rows",))
        planned = self.planned_contenders()  # refuses matrices that cannot be crossed
        if len(planned) > MOST_CONTENDERS:
            raise ValueError(f"{len(planned):,} contenders: a report has at most {MOST_CONTENDERS}")
        if self.workload is not None:
            _check_dialects(self.workload, planned)
        self._check_bounds(benchmark, planned)
        given = {key for key in self.model_fields_set if getattr(self, key)}
        check_running_servers(planned, given)
        check_pool(self.pool, self.memory, len(planned))
        for contender in planned:
            if contender.name.dbms is not None and (kind := family_if_known(contender.name.dbms)):
                self.settings_of_pool(contender, kind, contender.name.engine)
        if self.slice and self.budget > (self.slice + self.discard) * MOST_SLICES:
            shortest = format_duration(self.budget / MOST_SLICES)
            raise AtKeysError(
                f"too short for {format_duration(self.budget)}: an experiment can have "
                f"at most {MOST_SLICES:,} slices; write {shortest} or more",
                ("slice",),
            )
        if self.is_calibration:
            with at("contenders"):
                if self.configured_benchmark().measuring is Measuring.STEPS:
                    raise ValueError(
                        f"slowed: {self.benchmark} is measured in long steps, not in slices"
                    )
                check_calibration(planned)
        return self

    def _check_bounds(self, benchmark: Benchmark, planned: Sequence[PlannedContender]) -> None:
        """Refuse contenders that the benchmark does not support, and too many clients."""
        for contender in planned:
            name = contender.name
            dbms = name.url.dbms if name.url is not None else name.dbms
            kind = None if dbms is None else family_if_known(dbms)
            if kind is not None and not benchmark.suits(kind):
                with at("contenders", contender.place):
                    suited = [name for name, each in dialects().items() if benchmark.suits(each)]
                    known = listing(suited, "and")
                    raise ValueError(
                        f"the benchmark {benchmark.name} is written for {known}, not for {dbms}"
                    )
        for test in self.chosen_tests():
            if test.most_clients is not None and min(self.clients) > test.most_clients:
                raise AtKeysError(
                    f"{test.name} allows at most {test.most_clients}: add that number, or choose "
                    "other tests",
                    ("clients",),
                )
        if benchmark.most_clients is not None and max(self.clients) > benchmark.most_clients:
            raise AtKeysError(
                f"the benchmark {benchmark.name} allows at most {benchmark.most_clients}",
                ("clients",),
            )

    def configured_benchmark(self) -> Benchmark:
        """Return the benchmark as configured by its own table, or the workload."""
        if self.workload is not None:
            return self.workload
        benchmark = benchmarks.benchmark(self.benchmark)
        if benchmark.options_type is None:
            return benchmark
        return benchmark.configured(getattr(self, self.benchmark) or benchmark.options_type())

    @property
    def all_rows(self) -> int:
        """The number of rows in all tables together, in a benchmark that is measured in slices."""
        described = self.configured_benchmark().described(self.rows, self.tables, self.seed)
        return self.rows * self.tables if described is None else described.rows

    def chosen_tests(self) -> list[Test]:
        """Return the suite's tests, or all tests that match `tests`, in running order."""
        benchmark = self.configured_benchmark()
        suite = benchmark.suite(self.suite)
        return benchmark.matching(self.tests) if self.tests else suite

    def tests_to_measure(self) -> list[Test]:
        """Return the chosen tests that `only` names; all of them if it is empty."""
        return [test for test in self.chosen_tests() if not self.only or test.name in self.only]

    @property
    def budget_of_steps(self) -> Second | None:
        """The time for all starts of long steps; None if only their number was given."""
        return self.budget if "budget" in self.model_fields_set else None

    @property
    def is_calibration(self) -> bool:
        """Whether contenders are slowed by injected delays, to test whether they are detected."""
        return any(contender.slowed is not None for contender in self.contenders)

    @property
    def most_connections(self) -> int:
        """The most connections of all clients together."""
        return self.configured_benchmark().connections * max(self.clients)

    def planned_contenders(self) -> list[PlannedContender]:
        """Return the contenders with the combinations of their matrices; the first is the base."""
        return plan_contenders(self.contenders, self.matrix, self.set)

    def settings_of_pool(
        self, planned: PlannedContender, kind: Family, engine: str | None
    ) -> Mapping[str, str]:
        """Return the settings that give a contender's page cache the size of `pool`.

        Empty without `pool`.

        Raises:
            AtKeysError: the contender cannot have this size, or a key sets it, too.
        """
        if self.pool is None:
            return {}
        with at("pool"):
            try:
                settings = kind.pool_settings(self.pool, engine)
            except UsageError as error:
                raise UsageError(f"{planned.name.text}: {error}") from error
        for setting in settings:
            if keys := self.keys_of_setting(setting):
                raise AtKeysError(f"--pool already sets {setting}: remove one of them", keys)
        return settings

    def keys_of_setting(self, setting: str) -> Keys | None:
        """Return the keys that set or vary a setting; None if the specification does not."""
        tables: list[tuple[Keys, Spec | ContenderTable]] = [
            ((), self),
            *((("contenders", place), table) for place, table in enumerate(self.contenders)),
        ]
        for keys, table in tables:
            if setting in table.set:
                return (*keys, "set", setting)
            for axis, points in table.matrix.items():
                varied = points.values() if isinstance(points, dict) else ()
                if setting == axis or any(setting in point for point in varied):
                    return (*keys, "matrix", axis)
        return None

    def to_toml(self) -> str:
        """Return the specification as a TOML file for `slowdust run`."""
        benchmark = self.configured_benchmark()
        unused = set(benchmark.unused_keys)
        if benchmark.measuring is Measuring.STEPS and self.budget_of_steps is None:
            unused.add("budget")
        unused.update(key for key in ("only", "margins") if not getattr(self, key))
        return tomli_w.dumps(self.model_dump(exclude_none=True, exclude=unused))


_File = create_model("_File", __base__=Spec, **_TABLES)


def parse_spec(data: dict[str, object], origin: Origin | None = None) -> Spec:
    """Parse a specification.

    Raises:
        UsageError: names each wrong key, and its place in the origin.
    """
    place = origin or in_data
    try:
        with placed(place):
            return _File.model_validate(data)
    except ValidationError as error:
        explain(error, _File, data, place)


def read_spec(path: Path) -> Spec:
    """Read the specification in a TOML file; its name defaults to the file's.

    Raises:
        UsageError: no such file, invalid TOML, or wrong keys, with their lines.
    """
    data, origin = read_spec_data(path)
    return parse_spec({"name": path.stem, **data}, origin)


def read_spec_data(path: Path) -> tuple[dict[str, object], Origin]:
    """Return the data of a TOML file, with paths relative to the current directory, and its places.

    Raises:
        UsageError: no such file, or invalid TOML.
    """
    data, text = read_toml(path)
    if isinstance(workload := data.get("workload"), str):
        data["workload"] = str(path.parent / named_path(workload))
    for benchmark in benchmarks.BENCHMARKS.values():
        if isinstance(table := data.get(benchmark.name), dict):
            data[benchmark.name] = benchmark.with_files_in(path.parent, table)
    return data, in_file(path, text)
