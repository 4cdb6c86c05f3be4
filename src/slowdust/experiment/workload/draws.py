"""Where values come from, as a workload's file writes it: of columns, and of parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, StrictBool, model_validator

from slowdust.benchmarks.options import AsCount, Table
from slowdust.experiment.workload.types import SqlType, read_type, seconds_of
from slowdust.units import parse_number
from slowdust.wording import listing

ByRow = Literal["serial", "cycle", "uniform", "zipf", "text", "choice"]
"""Ways to draw the values of a column."""
By = ByRow | Literal["new", "own", "span", "distinct", "sample"]
"""Ways to draw those of a parameter."""
_RANGED = ("uniform", "zipf", "span", "distinct", "own")
"""Ways to draw from the numbers between two ends."""
SEVERAL = ("span", "distinct")
"""Ways to draw that give several values."""
LONGEST_TEXT = 16_000
_DATE = re.compile(r"\d+-\d")
_MOST_VALUES = 10_000


@dataclass(frozen=True)
class _Keys:
    """The keys that go with one way to draw."""

    needed: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


_KEYS: Mapping[str, _Keys] = {
    "serial": _Keys(allowed=("start", "step")),
    "cycle": _Keys(needed=("count",), allowed=("start", "each")),
    "uniform": _Keys(allowed=("low", "high", "of", "scale")),
    "zipf": _Keys(allowed=("low", "high", "of", "exponent")),
    "text": _Keys(needed=("length",), allowed=("alphabet",)),
    "choice": _Keys(needed=("values",), allowed=("weights",)),
    "new": _Keys(needed=("of",)),
    "own": _Keys(allowed=("low", "high", "of")),
    "span": _Keys(needed=("count",), allowed=("low", "high", "of")),
    "distinct": _Keys(needed=("count",), allowed=("low", "high", "of")),
    "sample": _Keys(needed=("from_",)),
}


def _number(value: object) -> object:
    """Return a date or a time as seconds since 1970, and a text with a unit as a number."""
    if isinstance(value, datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    if isinstance(value, date):
        return int(datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp())
    if isinstance(value, str):
        return seconds_of(value) if _DATE.match(value) else parse_number(value)
    if isinstance(value, int | float):
        return value
    raise ValueError(f"{value} is neither a number nor a date")


def literals(value: object) -> object:
    """Return a list with dates as texts; refuse what no column can have."""
    if not isinstance(value, list):
        return value
    for item in value:
        finite = not isinstance(item, float) or math.isfinite(item)
        if not finite or not isinstance(item, str | int | float | date | None):
            raise ValueError(f"{item} is not a value: write text, numbers or dates")
    return [str(item) if isinstance(item, date) else item for item in value]


Amount = Annotated[int | float, BeforeValidator(_number)]
Value = Annotated[str | int | float, Field()]


class DrawTable(Table):
    """A way to draw, with its keys."""

    by: By | None = None
    of: str | None = None
    low: Amount | None = None
    high: Amount | None = None
    start: Annotated[int, AsCount, Field(ge=-(2**62), le=2**62)] | None = None
    step: Annotated[int, Field(ge=-(2**31), le=2**31)] | None = None
    each: Annotated[int, AsCount, Field(ge=1, le=2**40)] | None = None
    count: Annotated[int, AsCount, Field(ge=1, le=2**40)] | None = None
    exponent: Annotated[float, Field(gt=0, le=10)] | None = None
    scale: Annotated[int, Field(ge=0, le=9)] | None = None
    length: (
        Annotated[
            list[Annotated[int, Field(ge=1, le=LONGEST_TEXT)]],
            BeforeValidator(lambda value: [value, value] if isinstance(value, int) else value),
            Field(min_length=2, max_length=2),
        ]
        | None
    ) = None
    alphabet: Literal["letters", "digits"] | None = None
    values: (
        Annotated[
            list[Value], BeforeValidator(literals), Field(min_length=1, max_length=_MOST_VALUES)
        ]
        | None
    ) = None
    weights: list[Annotated[float, Field(gt=0, le=1e9)]] | None = None
    from_: str | None = Field(None, alias="from")

    @model_validator(mode="after")
    def _keys_of_its_way(self) -> DrawTable:
        given = {key for key in DrawTable.model_fields if getattr(self, key) is not None}
        given.discard("by")
        if self.by is None:
            if extra := sorted(given - {"of"}):
                raise ValueError(f"{_shown(extra[0])} needs `by`, the way to draw")
            return self
        keys = _KEYS[self.by]
        for key in keys.needed:
            if key not in given:
                raise ValueError(f'by = "{self.by}" needs the key {_shown(key)}')
        if wrong := sorted(given - {*keys.needed, *keys.allowed}):
            allowed = ", ".join(_shown(key) for key in (*keys.needed, *keys.allowed))
            raise ValueError(
                f'{_shown(wrong[0])} does not go with by = "{self.by}", whose keys are {allowed}'
            )
        self._check_ends(given)
        if self.step == 0:
            raise ValueError("step: 0 gives all rows the same: write 1, -1 or any other")
        if self.length and self.length[0] > self.length[1]:
            raise ValueError(f"length: {self.length[0]} is more than {self.length[1]}")
        if self.weights is not None and self.values and len(self.weights) != len(self.values):
            raise ValueError(f"there are {len(self.weights)} weights for {len(self.values)} values")
        return self

    def _check_ends(self, given: set[str]) -> None:
        if self.by not in _RANGED:
            return
        ends = given & {"low", "high"}
        if "of" in given and ends:
            raise ValueError("`of` gives the lowest and the highest: leave out low and high")
        if "of" not in given and len(ends) < 2:
            raise ValueError(f'by = "{self.by}" needs low and high, or of = "TABLE.COLUMN"')
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low = {self.low} is more than high = {self.high}")


def _shown(key: str) -> str:
    return key.rstrip("_")


class ColumnTable(DrawTable):
    """A column: its type, and where its values come from."""

    type: Annotated[SqlType, BeforeValidator(read_type)]
    nullable: StrictBool = False

    @model_validator(mode="after")
    def _drawn_by_the_row(self) -> ColumnTable:
        ways = listing([f'"{way}"' for way in get_args(ByRow)], "or")
        if self.by is None:
            raise ValueError(f"`by` is missing, the way to draw its values: {ways}")
        if self.by not in get_args(ByRow):
            raise ValueError(f'by = "{self.by}" is for parameters: that of a column is {ways}')
        return self


class ParameterTable(DrawTable):
    """A parameter of a statement."""

    type: Annotated[SqlType, BeforeValidator(read_type)] | None = None

    @model_validator(mode="after")
    def _drawn(self) -> ParameterTable:
        if self.by is None and self.of is None:
            raise ValueError('write where its values come from: of = "TABLE.COLUMN", or by')
        return self
