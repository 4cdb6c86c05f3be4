"""Values of an experiment file as the specification keeps them: durations, settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from slowdust.experiment.duration import parse_duration
from slowdust.store.records import Second


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
Settings = dict[str, Setting]
