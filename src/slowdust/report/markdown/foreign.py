"""Texts of others in Markdown: names, settings and messages that must not become its markup.

A server's message or the name of an imported run may have HTML or a link in it. All texts of what
is rendered are escaped before any Markdown is written around them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TypeVar, cast

import msgspec

_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\((?=[^\s)])|(?<=!)\[|(?<=\])\[|(?<=\]):")
"""What begins an element of HTML, and what makes a link or picture of a text in brackets."""

_Content = TypeVar("_Content")


def escape(text: str) -> str:
    """Return a text as Markdown that shows it."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", text)


def escaped(content: _Content) -> _Content:
    """Return content, a tree of structures, lists and texts, with all texts escaped."""
    return cast("_Content", _escaped(content))


def _escaped(value: object) -> object:
    if type(value) is str:
        return escape(value)
    if isinstance(value, msgspec.Struct):
        changed = _changed({name: getattr(value, name) for name in value.__struct_fields__})
        return msgspec.structs.replace(value, **changed) if changed else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (field.name for field in dataclasses.fields(value) if field.init)
        changed = _changed({name: getattr(value, name) for name in fields})
        return dataclasses.replace(value, **changed) if changed else value
    if isinstance(value, Mapping):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    if type(value) is list:
        return [_escaped(item) for item in value]
    if type(value) is tuple:
        return tuple(_escaped(item) for item in value)
    return value


def _changed(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields that are others when they are escaped."""
    after = {name: _escaped(value) for name, value in fields.items()}
    return {name: value for name, value in after.items() if value != fields[name]}
