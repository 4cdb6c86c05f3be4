"""Errors of specifications, with their key, its place and a correction.

All errors of an experiment file or of the options of `compare` are worded here, except for errors
that other modules raise `at` the keys in question.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, get_args, get_origin

from pydantic import BaseModel, ValidationError

from slowdust.benchmarks.options import OwnKeyError
from slowdust.errors import UsageError
from slowdust.user_text import read_user_text
from slowdust.wording import no_such

Keys = tuple[str | int, ...]
"""Keys and indices of a value: ('contenders', 1, 'name')."""

_KINDS = {
    "int": 'a whole number, such as 5000, 20_000 or "1M"',
    "float": "a number, such as 0.5 or 20_000",
    "string": 'text in quotes, such as "text"',
    "bool": "true or false",
    "list": "a list in brackets, such as [1, 8]",
    "dict": 'a table in braces, such as { key = "value" }',
    "model": 'a table in braces, such as { key = "value" }',
    "finite": "a finite number",
}
"""First part of the type of pydantic's error -> the expected value."""
_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}
_KEY = "[key]"
"""Pydantic's mark in a location for a wrong key, instead of a wrong value."""
_EXAMPLES = {
    "contenders": 'contenders = ["postgres@15.8", "postgres@17.6"]',
    "contender": '{ contender = "postgres@17.6" }',
    "per_second": "rate = { per_second = 1000 }",
}
"""Required key -> example."""
_SYNTAX = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)")
_BARE = re.compile(r"\s*(?P<key>[\w.-]+)\s*=\s*(?P<value>[\w.%@:+/-]+)\s*(?:#.*)?")


class AtKeysError(UsageError, ValueError):
    """An error of the value at some keys. It is a ValueError, so that pydantic collects it."""

    def __init__(self, text: str, keys: Keys) -> None:
        super().__init__(text)
        self.keys = keys


@contextmanager
def at(*keys: str | int) -> Iterator[None]:
    """Attach keys to errors of the block that have none yet."""
    try:
        yield
    except AtKeysError:
        raise
    except (UsageError, ValueError) as error:
        raise AtKeysError(str(error), keys) from error


Origin = Callable[[Keys], str]
"""Returns the place of a value, as a prefix of ': '; empty if unknown."""


def in_file(path: Path, text: str) -> Origin:
    """Return places such as 'FILE:LINE: KEY'; a missing key has no line."""

    def place(keys: Keys) -> str:
        line = line_of(text, keys)
        file = f"{path}:{line}" if line is not None else str(path)
        return f"{file}: {key}" if (key := in_data(keys)) else file

    return place


def in_data(keys: Keys) -> str:
    """Return the dotted key."""
    return ".".join(key for key in keys if isinstance(key, str))


_OTHER_OPTIONS = {"set": "--set", "matrix": "--set", "contenders": ""}


def in_options(keys: Keys) -> str:
    """Return the option that sets a key; empty for contenders, because their errors name them."""
    key = str(keys[0]) if keys else ""
    if key == "rate" and keys[-1] == "arrivals":
        return "--arrivals"
    own = len(keys) > 1 and isinstance(keys[1], str) and key not in ("set", "matrix", "rate")
    name = str(keys[1]) if own and key != "contenders" else key
    return _OTHER_OPTIONS.get(key, f"--{name.replace('_', '-')}" if name else "")


@contextmanager
def placed(origin: Origin) -> Iterator[None]:
    """Prefix errors at keys with their place in the origin."""
    try:
        yield
    except AtKeysError as error:
        raise UsageError(_line(origin, error.keys, str(error))) from error


def read_toml(path: Path) -> tuple[dict[str, object], str]:
    """Read a TOML file; return its data and its text.

    Raises:
        UsageError: the file cannot be read, or is not TOML; the message has the line.
    """
    text = read_user_text(path)
    try:
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        raise UsageError(_syntax_error(path, text, str(error))) from None
    except RecursionError:
        raise UsageError(f"{path}: lists or tables are nested too deeply") from None


def explain(
    error: ValidationError, model: type[BaseModel], data: object, origin: Origin
) -> NoReturn:
    """Raise pydantic's errors as a UsageError, with a line for each wrong value."""
    lines: dict[Keys, str] = {}
    for item in error.errors():
        cause = item.get("ctx", {}).get("error")
        keys = cause.keys if isinstance(cause, AtKeysError) else _keys(item["loc"], data)
        if isinstance(cause, OwnKeyError):
            keys = (*keys, cause.key)
        # Pydantic has an error for each type of a union: keep the first.
        lines.setdefault(keys, _line(origin, keys, _words(dict(item), keys, model)))
    raise UsageError("\n".join(lines.values())) from None


def _line(origin: Origin, keys: Keys, text: str) -> str:
    place = origin(keys)
    return f"{place}: {text}" if place else text


def _keys(location: tuple[int | str, ...], data: object) -> Keys:
    """Return the keys of an error, without the type names that pydantic inserts."""
    keys: list[str | int] = []
    for part in location[:-1] if location[-1:] == (_KEY,) else location:
        if isinstance(data, Mapping) and (part in data or part == location[-1]):
            data = data.get(part)
            keys.append(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
            keys.append(part)
    return tuple(keys)


def _words(item: Mapping[str, Any], keys: Keys, model: type[BaseModel]) -> str:
    """Return the error of a value, and a correction."""
    kind, given, context = item["type"], item["input"], item.get("ctx", {})
    if kind == "extra_forbidden":
        return no_such("key", str(keys[-1]), _known_keys(model, keys[:-1]))
    if kind == "missing":
        return f"the key is missing: write {_EXAMPLES.get(str(keys[-1]), f'{keys[-1]} = ...')}"
    if kind == "literal_error":
        return no_such("value", str(given), re.findall(r"'([^']*)'", context["expected"]))
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return f"{given} is out of range: it has to be {words} {context[name]:,.15g}"
    if kind == "string_pattern_mismatch":
        return f"'{given}' is not a valid name: {_name_rule(context['pattern'])}"
    if kind == "string_too_long":
        return f"'{given}' is too long: at most {context['max_length']} characters are allowed"
    if kind in ("too_short", "too_long"):
        limit = context.get("min_length") or context.get("max_length")
        words = "at least" if kind == "too_short" else "at most"
        return f"the list has {context['actual_length']} values, and needs {words} {limit}"
    if expected := _KINDS.get(kind.partition("_")[0]):
        shown = f"'{given}'" if isinstance(given, str) else _as_toml(given)
        return f"{shown} is not {expected}"
    return str(item["msg"]).removeprefix("Value error, ")


def _name_rule(pattern: str) -> str:
    """Return a pattern of names in words."""
    if "A-Z" not in pattern:
        return "use lower-case letters, digits and '_', and begin with a letter"
    signs = "'.', '_' and '-'" if "." in pattern else "'_' and '-'"
    return f"use letters, digits, {signs}, and begin with a letter or digit"


def _as_toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _known_keys(model: type[BaseModel], keys: Keys) -> list[str]:
    """Return the keys that the table at this path may have."""
    kind: object = model
    for key in keys:
        kind = _inside(kind, key)
    table = _model_in(kind)
    fields = table.model_fields.items() if table is not None else ()
    return [field.alias or name for name, field in fields]


def _inside(kind: object, key: str | int) -> object:
    """Return the type of the value at a key of a type; None if unknown."""
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(key))
        return None if field is None else field.annotation
    if get_origin(kind) is dict:
        return get_args(kind)[1]
    if get_origin(kind) is list:
        return get_args(kind)[0]
    found = (_inside(part, key) for part in get_args(kind))
    return next((part for part in found if part is not None), None)


def _model_in(annotation: object) -> type[BaseModel] | None:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for part in get_args(annotation) if (m := _model_in(part))), None)


def _syntax_error(path: Path, text: str, message: str) -> str:
    match = _SYNTAX.fullmatch(message)
    lines = text.splitlines()
    number = int(match["line"]) if match and match["line"] else len(lines)
    what = match["what"] if match else message
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    bare = _BARE.fullmatch(line)
    if bare and "overwrite" in what:
        return f"{path}:{number}: {bare['key']} is given twice"
    if "overwrite" in what or "twice" in what or "Duplicate" in what:
        return f"{path}:{number}: the key or table is given twice"
    if bare:
        value = "..." if "://" in bare["value"] else bare["value"]  # it may have a secret
        return f'{path}:{number}: {bare["key"]}: text needs quotes: {bare["key"]} = "{value}"'
    return f"{path}:{number}: not TOML: {what[:1].lower()}{what[1:]}"


_ENDING = re.compile(r"(?:[\]}]|\"\"\"|\'\'\')\s*$")
"""End of the last line of a multi-line statement."""
_LONGEST = 200
"""Maximum number of lines of a list whose items are located by line in errors, and of a statement
that a comment may follow: longer ones often contain a `#`."""
_KeyPath = Sequence[str | int]
"""Keys and indices of a value: ('contenders', 1, 'name')."""


def line_of(text: str, path: _KeyPath) -> int | None:
    """Return the 1-based line of a value; None if the file has no part of its path.

    For an item of a multi-line list it is the item's line; for a missing value, the line of the
    last part of its path that exists.
    """
    lines = text.splitlines()
    for length in range(len(path), 0, -1):
        if (line := _statement(lines, path[:length])) is not None:
            return line
    return None


def _statement(lines: Sequence[str], path: _KeyPath) -> int | None:
    statements = list(_statements(lines))

    def has(place: int) -> bool:
        return _has(_parsed("\n".join(lines[: statements[place][1]])), path)

    # A longer prefix of the file has all keys of a shorter one.
    place = bisect_left(range(len(statements)), x=True, key=has)
    return None if place == len(statements) else _item(lines, *statements[place], path)


def _statements(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines of each statement: the line number before it, and its last line."""
    begun = 0
    for end in range(1, len(lines) + 1):
        commented = end - begun <= _LONGEST and "#" in lines[end - 1]
        may_end = end == begun + 1 or commented or _ENDING.search(lines[end - 1])
        if may_end and _parsed("\n".join(lines[begun:end])) is not None:
            yield begun, end
            begun = end


def _item(lines: Sequence[str], begun: int, end: int, path: _KeyPath) -> int:
    """Return the line of a value within the lines of the statement that sets it."""
    if end - begun > _LONGEST:
        return begun + 1
    for last in range(begun + 1, end):
        beginning = "\n".join(lines[:last]).rstrip().rstrip(",")
        for closed in (f"{beginning}\n]", f"{beginning}\n]]", f"{beginning}\n}}"):
            data = _parsed(closed)
            if data is not None and _has(data, path):
                return last
    # An item that only the last line completes is on that line.
    return end if any(isinstance(part, int) for part in path) else begun + 1


def _parsed(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _has(data: object, path: _KeyPath) -> bool:
    for part in path:
        try:
            data = data[part]  # type: ignore[index] # a missing index raises one of these
        except (KeyError, IndexError, TypeError):
            return False
    return True
