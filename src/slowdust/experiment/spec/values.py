"""Values of an experiment file as the specification keeps them: durations, settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from slowdust.dbms.settings import setting_name
from slowdust.units import Second, parse_duration

_Value = TypeVar("_Value")


class Strict(BaseModel):
    """A table of the file: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _seconds(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


Duration = Annotated[
    Second,
    Field(gt=0),
    BeforeValidator(_seconds),
    PlainSerializer(lambda s: f"{s:.6f}s"),
]


def setting_text(value: object) -> object:
    """A scalar as a server writes it: `on`, `off`, digits; anything else as it is."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, int | float) else value


Setting = Annotated[str, BeforeValidator(setting_text)]


def once_each(items: Iterable[tuple[str, _Value]]) -> dict[str, _Value]:
    """By name; ValueError when a name is there twice."""
    result: dict[str, _Value] = {}
    for name, value in items:
        if name in result:
            raise ValueError(f"{name} stands there twice")
        result[name] = value
    return result


def _one_spelling(values: dict[str, str]) -> dict[str, str]:
    return once_each((setting_name(name), value) for name, value in values.items())


Settings = Annotated[dict[str, Setting], AfterValidator(_one_spelling)]
"""By name; each is written in one way, so that what fixes and what varies it can be compared."""
