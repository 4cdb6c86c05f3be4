"""The specification of an experiment, from a TOML file or from the options of `compare`."""

from __future__ import annotations

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
from slowdust.benchmarks.model import DEFAULT_SUITE, Benchmark, Measuring, Test
from slowdust.benchmarks.options import AsCount, AsNumber, AsShare, Duration, Table
from slowdust.experiment.claims.cpus import parse_cpus
from slowdust.experiment.counting.method import Wanted
from slowdust.experiment.spec.contenders import (
    ContenderTable,
    PlannedContender,
    as_table,
    check_calibration,
    plan_contenders,
)
from slowdust.experiment.spec.errors import (
    AtKeysError,
    File,
    Keys,
    Names,
    Origin,
    at,
    explain,
    placed,
    read_toml,
)
from slowdust.experiment.spec.matrix import Matrix, Settings
from slowdust.experiment.spec.running_servers import check_running_servers
from slowdust.places import named_path
from slowdust.store.bounds import MOST_CONTENDERS, MOST_SLICES
from slowdust.store.folder import NAME
from slowdust.units import Second, format_duration, parse_size
from slowdust.wording import no_such

_TABLES: dict[str, Any] = {
    name: (benchmark.options_type | None, None)
    for name, benchmark in benchmarks.BENCHMARKS.items()
    if benchmark.options_type is not None
}
"""Benchmark -> the type and the default of its own table of an experiment file."""


_LEAST_MEMORY = 64 << 20
"""No server of today starts with less."""


def _size(value: object) -> object:
    size = parse_size(value) if isinstance(value, str) else value
    if isinstance(size, int) and size < _LEAST_MEMORY:
        raise ValueError(f"{value} is too little: write at least {_LEAST_MEMORY >> 20}MB")
    return size


Memory = Annotated[int, BeforeValidator(_size)]
"""Bytes."""
_YEAR = 365 * 86400.0
ShortDuration = Annotated[Duration, Field(le=3600)]
"""Seconds, an hour at most."""


class RateTable(Table):
    """An open loop: operations per second over all clients, whatever the server answers."""

    per_second: Annotated[float, Field(gt=0, le=10_000_000), AsNumber]
    arrivals: Literal["poisson", "uniform"] = "poisson"


class Spec(Table):
    """One experiment. Field names are the keys of the TOML file; so are the names of `_TABLES`."""

    name: str = Field(pattern=f"^{NAME}$")
    contenders: list[ContenderTable] = Field(min_length=1)
    matrix: Matrix = Field(default_factory=dict)
    benchmark: str = benchmarks.DEFAULT.name
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
    margin: Annotated[float, Field(gt=0, lt=1), AsShare] = 0.03
    incarnations: Annotated[int, Field(ge=1, le=10_000), AsCount] | None = None
    trial: Annotated[int, Field(ge=1, le=10_000), AsCount] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**53), AsCount] = 1
    rate: RateTable | None = None
    count: Wanted = "auto"
    simulate: bool = False
    cpus: list[Annotated[int, Field(ge=0)]] | None = Field(None, min_length=1)
    profile: bool = False
    waits: bool = False
    keep: bool = False
    memory: Memory | None = None
    repo: str | None = None
    set: Settings = Field(default_factory=dict)

    @property
    def has_running_servers(self) -> bool:
        """Whether a contender is a server that runs already."""
        return any(contender.name.url for contender in self.planned_contenders())

    def planned_incarnations(self, usual: int) -> int:
        """Return how many incarnations are planned, where builds have so many as `usual`.

        A server that runs already has one, and so has whoever is beside it, unless its tables are
        to be made anew.
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
        """Refuse names of the user's own that are no names; A/A comparisons need none."""
        names = [table.name or table.contender for table in value]
        for place, table in enumerate(value):
            if table.name is not None and table.name in names[:place]:
                raise AtKeysError(
                    f"two contenders are called '{table.name}': give one another name",
                    ("contenders", place, "name"),
                )
        return value

    @field_validator("repo")
    @classmethod
    def _repository_where_it_is(cls, value: str | None) -> str | None:
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

    @model_validator(mode="after")
    def _keys_of_the_benchmark(self) -> Spec:
        with at("benchmark"):
            unused = benchmarks.benchmark(self.benchmark).unused_keys
        for key in sorted(self.model_fields_set):
            with at(key):
                if key in unused:
                    raise ValueError(
                        f"does not apply to the benchmark {self.benchmark}: {unused[key]}"
                    )
                if key in _TABLES and key != self.benchmark:
                    raise ValueError(
                        f"the table applies only to the benchmark {key}, not to {self.benchmark}"
                    )
        return self

    @model_validator(mode="after")
    def _can_be_run(self) -> Spec:
        benchmark = self.configured_benchmark()
        with at("suite"):
            benchmark.suite(self.suite)
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
                f"{widest.name} needs at least {widest.least_rows}: choose other tests for fewer",
                ("rows",),
            )
        planned = self.planned_contenders()  # refuses matrices that cannot be crossed
        if len(planned) > MOST_CONTENDERS:
            raise ValueError(f"{len(planned):,} contenders: a report has at most {MOST_CONTENDERS}")
        given = {key for key in self.model_fields_set if getattr(self, key)}
        check_running_servers(planned, given)
        if self.slice and self.budget > (self.slice + self.discard) * MOST_SLICES:
            shortest = format_duration(self.budget / MOST_SLICES)
            raise AtKeysError(
                f"too short for {format_duration(self.budget)}: a report is made of at most "
                f"{MOST_SLICES:,} slices; write {shortest} or more",
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

    def configured_benchmark(self) -> Benchmark:
        """Return the benchmark as its own table describes it."""
        benchmark = benchmarks.benchmark(self.benchmark)
        if benchmark.options_type is None:
            return benchmark
        return benchmark.configured(getattr(self, self.benchmark) or benchmark.options_type())

    def chosen_tests(self) -> list[Test]:
        """Return the suite's tests, or all tests that match `tests`, in the order they run."""
        benchmark = self.configured_benchmark()
        suite = benchmark.suite(self.suite)
        return benchmark.matching(self.tests) if self.tests else suite

    def tests_to_measure(self) -> list[Test]:
        """Return the chosen tests that `only` names, all of them if it is empty."""
        return [test for test in self.chosen_tests() if not self.only or test.name in self.only]

    @property
    def budget_of_steps(self) -> Second | None:
        """The time for all incarnations of long steps; None if their number was planned alone."""
        return self.budget if "budget" in self.model_fields_set else None

    @property
    def is_calibration(self) -> bool:
        """Whether contenders are slowed by known delays, to see whether that is found."""
        return any(contender.slowed is not None for contender in self.contenders)

    @property
    def most_connections(self) -> int:
        """The connections that all clients hold at once, at most."""
        return self.configured_benchmark().connections * max(self.clients)

    def planned_contenders(self) -> list[PlannedContender]:
        """Return the contenders with the combinations of their matrices; the first is the base."""
        return plan_contenders(self.contenders, self.matrix, self.set)

    def keys_of_setting(self, setting: str) -> Keys | None:
        """Return the keys that set or vary a setting; None where the specification does not."""
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
        """Return the specification as a TOML file that `slowdust run` reads."""
        benchmark = self.configured_benchmark()
        unused = set(benchmark.unused_keys)
        if benchmark.measuring is Measuring.STEPS and self.budget_of_steps is None:
            unused.add("budget")
        if not self.only:
            unused.add("only")
        return tomli_w.dumps(self.model_dump(exclude_none=True, exclude=unused))


_File = create_model("_File", __base__=Spec, **_TABLES)


def parse_spec(data: dict[str, object], origin: Origin | None = None) -> Spec:
    """Return the specification that plain data means.

    Raises:
        UsageError: naming each key that is wrong, and its place in the origin.
    """
    place = origin or Names()
    try:
        with placed(place):
            return _File.model_validate(data)
    except ValidationError as error:
        explain(error, _File, data, place)


def read_spec(path: Path) -> Spec:
    """Read the specification in a TOML file; its name defaults to the file's.

    Raises:
        UsageError: no such file, not TOML, or wrong keys, with their lines.
    """
    data, text = read_toml(path)
    return parse_spec({"name": path.stem, **data}, File(path, text))
