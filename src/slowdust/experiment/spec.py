"""The specification of an experiment: what a TOML file says, or the options of `compare`."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import tomli_w
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    field_validator,
    model_validator,
)

from slowdust.benchmarks import micro
from slowdust.errors import UsageError
from slowdust.experiment.duration import parse_duration
from slowdust.store.records import Second


def _seconds(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


Duration = Annotated[
    Second,
    Field(gt=0),
    BeforeValidator(_seconds),
    PlainSerializer(lambda s: f"{s:.6f}s"),
]


def _settings_as_text(value: object) -> object:
    if isinstance(value, dict):
        return {key: _setting_text(item) for key, item in value.items()}
    return value


Settings = Annotated[dict[str, str], BeforeValidator(_settings_as_text)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ContenderSpec(_Strict):
    """A contender with settings of its own."""

    contender: str
    name: str | None = Field(None, pattern=r"^[^\s|/][^|]*$")
    set: Settings = {}


class RateSpec(_Strict):
    """Open loop: operations per second over all clients, whatever the server answers."""

    per_second: float = Field(gt=0)
    arrivals: str = Field("poisson", pattern="^(poisson|uniform)$")


class Spec(_Strict):
    """One experiment. Field names are the keys of the TOML file."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@+-]*$")
    contenders: list[ContenderSpec] = Field(min_length=1)
    benchmark: str = micro.BENCHMARK
    suite: str = "default"
    tests: list[str] = []
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
    set: Settings = {}

    @field_validator("contenders", mode="before")
    @classmethod
    def _plain_names(cls, value: object) -> object:
        if isinstance(value, list):
            return [_contender(item) for item in value]
        return value

    @field_validator("clients")
    @classmethod
    def _distinct_clients(cls, value: list[int]) -> list[int]:
        if len(set(value)) < len(value):
            raise ValueError("the same number of clients stands there twice")
        return sorted(value)

    @model_validator(mode="after")
    def _known_tests(self) -> Spec:
        if self.benchmark != micro.BENCHMARK:
            raise ValueError(f"unknown benchmark '{self.benchmark}': there is {micro.BENCHMARK}")
        if self.suite not in micro.SUITES:
            raise ValueError(f"unknown suite '{self.suite}': there are {', '.join(micro.SUITES)}")
        widest = max(self.chosen_tests(), key=lambda test: test.least_rows)
        if self.rows < widest.least_rows:
            raise ValueError(f"rows: {widest.name} needs at least {widest.least_rows}")
        return self

    def chosen_tests(self) -> list[micro.Test]:
        """The suite's tests, or those of all tests that match `tests`, in METHOD.md's order."""
        if not self.tests:
            return [micro.BY_NAME[name] for name in micro.in_order(micro.SUITES[self.suite])]
        chosen: set[str] = set()
        for pattern in self.tests:
            matches = [name for name in micro.BY_NAME if fnmatchcase(name, pattern)]
            if "pre" not in pattern:
                matches = [name for name in matches if not name.endswith(".pre")]
            if not matches:
                raise ValueError(
                    f"no test is called '{pattern}': see `slowdust tests` for their names"
                )
            chosen.update(matches)
        return [micro.BY_NAME[name] for name in micro.in_order(chosen)]

    def to_toml(self) -> str:
        """The specification as a TOML file that `slowdust run` reads."""
        return tomli_w.dumps(self.model_dump(exclude_none=True))


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


def _contender(item: object) -> object:
    """A plain name as a table; a directory is kept where it is, whatever folder is current."""
    table = {"contender": item} if isinstance(item, str) else item
    if not isinstance(table, dict) or not isinstance(table.get("contender"), str):
        return table
    written = table["contender"]
    if not written.startswith(("./", "../", "~")) and written not in {".", ".."}:
        return table
    directory, colon, config = written.partition(":")
    absolute = str(Path(directory).expanduser().absolute()) + colon + config
    return {**table, "contender": absolute, "name": table.get("name") or _shown(written)}


def _shown(directory: str) -> str:
    return directory.lstrip("./~") or "build"


def _setting_text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _problem(location: tuple[int | str, ...], message: str) -> str:
    where = ".".join(str(part) for part in location)
    text = message.removeprefix("Value error, ")
    return f"{where}: {text}" if where else text
