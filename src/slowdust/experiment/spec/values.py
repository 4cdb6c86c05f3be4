"""Settings of an experiment file as the specification keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator

from slowdust.dbms.settings import setting_name

_Value = TypeVar("_Value")


def setting_text(value: object) -> object:
    """Return a scalar as a server writes it: `on`, `off`, digits; anything else unchanged."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, int | float) else value


Setting = Annotated[str, BeforeValidator(setting_text)]


def distinct_names(items: Iterable[tuple[str, _Value]]) -> dict[str, _Value]:
    """Return the items by name; ValueError when a name is there twice."""
    result: dict[str, _Value] = {}
    for name, value in items:
        if name in result:
            raise ValueError(f"{name} stands there twice")
        result[name] = value
    return result


def _one_spelling(values: dict[str, str]) -> dict[str, str]:
    return distinct_names((setting_name(name), value) for name, value in values.items())


Settings = Annotated[dict[str, Setting], AfterValidator(_one_spelling)]
"""Settings by name, each spelled in one way, so that what fixes and what varies it is compared."""
