"""The specification of an experiment: what a TOML file says, or the options of `compare`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import tomli_w
from pydantic import Field, ValidationError, field_validator, model_validator

from slowdust import benchmarks
from slowdust.benchmarks.insert import INSERT
from slowdust.benchmarks.model import DEFAULT_SUITE, Measuring, Test
from slowdust.errors import UsageError
from slowdust.experiment.spec.contenders import ContenderSpec, Entrant, as_table, entrants_of
from slowdust.experiment.spec.insert_spec import InsertSpec
from slowdust.experiment.spec.matrix import Matrix
from slowdust.experiment.spec.values import Duration, Settings, Strict
from slowdust.store.folder import NAME

_OF_SLICES = {
    "rows": "write it into [insert]",
    "tables": "each client has its own, or all share one ([insert] table)",
    "budget": "the steps of insert end by themselves",
    "slice": "the steps of insert are not sliced",
    "discard": "the steps of insert are not sliced",
    "warmup": "the steps of insert begin with no warm-up",
    "rate": "the rates of insert are those of its writers ([insert] rates)",
}
"""Keys that mean nothing to a benchmark of long steps, and why."""

_CONNECTIONS_OF_INSERT = 4
"""Of each client: inserts, deletes, queries, and a long transaction."""


class RateSpec(Strict):
    """Open loop: operations per second over all clients, whatever the server answers."""

    per_second: float = Field(gt=0)
    arrivals: str = Field("poisson", pattern="^(poisson|uniform)$")


class Spec(Strict):
    """One experiment. Field names are the keys of the TOML file."""

    name: str = Field(pattern=f"^{NAME}$")
    contenders: list[ContenderSpec] = Field(min_length=1)
    matrix: Matrix = Field(default_factory=dict)
    benchmark: str = benchmarks.DEFAULT.name
    suite: str = DEFAULT_SUITE
    tests: list[str] = Field(default_factory=list)
    clients: list[Annotated[int, Field(ge=1, le=10_000)]] = Field([1], min_length=1)
    rows: int = Field(100_000, ge=100)
    tables: int = Field(1, ge=1, le=1000)
    budget: Duration = 600.0
    slice: Duration = 0.1
    discard: Duration = 0.025
    warmup: Duration = 0.5
    margin: float = Field(0.03, gt=0, lt=1)
    incarnations: int | None = Field(None, ge=1)
    seed: int = Field(1, ge=0, lt=2**53)
    rate: RateSpec | None = None
    insert: InsertSpec | None = None
    set: Settings = Field(default_factory=dict)

    @field_validator("contenders", mode="before")
    @classmethod
    def _plain_names(cls, value: object) -> object:
        if isinstance(value, list):
            return [as_table(item) for item in value]
        return value

    @field_validator("clients")
    @classmethod
    def _distinct_clients(cls, value: list[int]) -> list[int]:
        if len(set(value)) < len(value):
            raise ValueError("the same number of clients stands there twice")
        return sorted(value)

    @model_validator(mode="after")
    def _keys_of_the_benchmark(self) -> Spec:
        if self.measuring is Measuring.SLICES and self.insert is not None:
            raise ValueError(f"insert: the table is of the benchmark insert, not {self.benchmark}")
        if self.measuring is Measuring.STEPS:
            for key in sorted(_OF_SLICES.keys() & self.model_fields_set):
                raise ValueError(f"{key}: not of the benchmark insert: {_OF_SLICES[key]}")
        return self

    @model_validator(mode="after")
    def _known_tests(self) -> Spec:
        widest = max(self.chosen_tests(), key=lambda test: test.least_rows)
        if self.rows < widest.least_rows:
            raise ValueError(f"rows: {widest.name} needs at least {widest.least_rows}")
        return self

    @model_validator(mode="after")
    def _crossable(self) -> Spec:
        self.entrants()
        return self

    def chosen_tests(self) -> list[Test]:
        """The suite's tests, or those of all tests that match `tests`, in the order they run."""
        benchmark = benchmarks.benchmark(self.benchmark)
        if self.measuring is Measuring.STEPS:
            benchmark = INSERT.at_rates(self.insert_options.rates)
        suite = benchmark.suite(self.suite)
        return benchmark.matching(self.tests) if self.tests else suite

    @property
    def measuring(self) -> Measuring:
        """How the benchmark's tests are measured."""
        return benchmarks.benchmark(self.benchmark).measuring

    @property
    def insert_options(self) -> InsertSpec:
        """The table `[insert]`, or what it is by default."""
        return self.insert or InsertSpec()

    @property
    def most_connections(self) -> int:
        """That clients hold at once."""
        each = _CONNECTIONS_OF_INSERT if self.measuring is Measuring.STEPS else 1
        return each * max(self.clients)

    def entrants(self) -> list[Entrant]:
        """The contenders with the combinations of their matrices; the first is the base."""
        return entrants_of(self.contenders, self.matrix, self.set)

    def to_toml(self) -> str:
        """The specification as a TOML file that `slowdust run` reads."""
        of_others = set(_OF_SLICES) if self.measuring is Measuring.STEPS else set()
        return tomli_w.dumps(self.model_dump(exclude_none=True, exclude=of_others))


def parse_spec(data: dict[str, object]) -> Spec:
    """A specification from plain data.

    Raises:
        UsageError: naming each key that is wrong.
    """
    try:
        return Spec.model_validate(data)
    except ValidationError as error:
        raise UsageError(
            "; ".join(
                _problem(item["loc"], item["msg"])
                for item in error.errors(
                    include_url=False, include_context=False, include_input=False
                )
            )
        ) from None


def read_spec(path: Path) -> Spec:
    """The specification in a TOML file; its name defaults to the file's.

    Raises:
        UsageError: no such file, no TOML, or wrong keys.
    """
    try:
        data = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is no TOML: {error}") from None
    return parse_spec({"name": path.stem, **data})


def _problem(location: tuple[int | str, ...], message: str) -> str:
    where = ".".join(str(part) for part in location)
    text = message.removeprefix("Value error, ")
    return f"{where}: {text}" if where else text
