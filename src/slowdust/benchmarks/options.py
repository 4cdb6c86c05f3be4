"""A benchmark's own table of the experiment file, and its own options of `slowdust compare`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from slowdust.errors import UsageError
from slowdust.shipped_tables import read_table
from slowdust.units import Second, parse_count, parse_duration, parse_number, parse_percentage

_UNUSED = "unused"
"""The value of a row for a key that does not apply to a benchmark."""


class Table(BaseModel):
    """A table of an experiment file. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class OwnKeyError(ValueError):
    """An error in one key of a table that depends on other keys."""

    def __init__(self, text: str, key: str) -> None:
        super().__init__(text)
        self.key = key


Duration = Annotated[
    Second,
    Field(gt=0),
    BeforeValidator(lambda value: parse_duration(value) if isinstance(value, str) else value),
    PlainSerializer(lambda s: f"{s:.6f}s"),
]


def _share(value: object) -> object:
    if isinstance(value, int | float) and value >= 1:
        raise ValueError(f'{value} is not below 1: write "{value:g}%"')
    return parse_percentage(value) if isinstance(value, str) else value


AsCount = BeforeValidator(lambda value: parse_count(value) if isinstance(value, str) else value)
"""Accepts an integer with a unit: "1M"."""
AsNumber = BeforeValidator(lambda value: parse_number(value) if isinstance(value, str) else value)
"""Accepts a number with a unit: "20k"."""
AsShare = BeforeValidator(_share)
"""Accepts a fraction as a percentage: "3%"."""


@dataclass(frozen=True)
class Option:
    """An option of `slowdust compare` that sets a key of the benchmark's own table."""

    name: str
    metavar: str | None
    """The kind of the value: `LIST` for numbers, `TIMES` for durations; None for a flag."""
    help: str
    sets: tuple[str, str] | None = None
    """The key and the value that a flag sets."""

    @property
    def parameter(self) -> str:
        """The name of the parsed option, and of the key that it sets: `rows_per_commit`."""
        return self.name.removeprefix("--").replace("-", "_")

    def item(self, given: object) -> tuple[str, object]:
        """Return the key of the table and its value. Raises UsageError that names the option."""
        if self.sets is not None:
            return self.sets
        if self.metavar == "LIST":
            return self.parameter, read_numbers(self.name, str(given))
        return self.parameter, split_list(str(given)) if self.metavar == "TIMES" else given


def split_list(text: str) -> list[str]:
    """Split a comma-separated list without empty parts."""
    return [part.strip() for part in text.split(",") if part.strip()]


def read_numbers(option: str, text: str) -> list[int]:
    """Read a comma-separated list of integers. Raises UsageError that names the option."""
    return [read_number(option, part) for part in split_list(text)]


def read_number(option: str, text: str) -> int:
    """Read an integer: 100000, 100k, 1e5. Raises UsageError that names the option."""
    try:
        return parse_count(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def own_options(benchmark: str) -> tuple[Option, ...]:
    """Return the options of `slowdust compare` that set keys of a benchmark's table."""
    return tuple(
        Option(f"--{name}", None if value == "-" else value, text, _pair(sets))
        for name, value, sets, text in _rows(benchmark)
        if value != _UNUSED
    )


def unused_keys(benchmark: str) -> dict[str, str]:
    """Return key of an experiment file that does not apply to a benchmark -> why."""
    rows = _rows(benchmark)
    return {name.replace("-", "_"): text for name, value, _, text in rows if value == _UNUSED}


def _rows(benchmark: str) -> Iterator[list[str]]:
    rows = read_table("benchmarks/options.tsv")
    return (fields for name, *fields in rows if name == benchmark)


def _pair(sets: str) -> tuple[str, str] | None:
    key, equals, value = sets.partition("=")
    return (key, value) if equals else None
