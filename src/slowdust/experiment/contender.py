"""What a contender is called: `DBMS@VERSION[/ENGINE][:CONFIG][+ENV...]`, or a directory."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.dbms.environment import Environment, parse_environment
from slowdust.dbms.settings import DEFAULT_CONFIG
from slowdust.errors import UsageError

_NAMED = re.compile(
    r"(?P<dbms>[a-z]+)@(?P<version>[A-Za-z0-9._-]+)"
    r"(?:/(?P<engine>[a-z]+))?(?::(?P<config>[A-Za-z0-9._/-]+))?"
    r"(?P<environment>(?:\+[^+|\s]+)*)"
)
_DIRECTORY = re.compile(r"(?P<directory>[~./][^:]*)(?::(?P<config>[A-Za-z0-9._/-]+))?")


@dataclass(frozen=True)
class ContenderName:
    """A contender as the user wrote it, taken apart.

    Either `dbms` and `version` or `directory` is set.
    """

    written: str
    dbms: str | None = None
    version: str | None = None
    directory: Path | None = None
    engine: str | None = None
    config: str = DEFAULT_CONFIG
    environment: Environment = field(default_factory=Environment)


def parse_contender(written: str) -> ContenderName:
    """Take a contender apart.

    Raises:
        UsageError: it is malformed, or of a kind that this version cannot run.
    """
    if "://" in written:
        raise UsageError(f"'{written}': servers that already run cannot be contenders yet")
    if directory := _DIRECTORY.fullmatch(written):
        return ContenderName(
            written,
            directory=Path(directory["directory"]).expanduser(),
            config=directory["config"] or DEFAULT_CONFIG,
        )
    named = _NAMED.fullmatch(written)
    if named is None:
        raise UsageError(
            f"'{written}' is no contender: write DBMS@VERSION[/ENGINE][:CONFIG][+ENV...], for "
            f"example postgres@17.6, or a directory with binaries (./build)"
        )
    return ContenderName(
        written,
        dbms=named["dbms"],
        version=named["version"],
        engine=named["engine"],
        config=named["config"] or DEFAULT_CONFIG,
        environment=_environment(written, named["environment"]),
    )


def _environment(written: str, text: str) -> Environment:
    try:
        return parse_environment(text.split("+")[1:])
    except UsageError as error:
        raise UsageError(f"'{written}': {error}") from error


def distinct(names: list[str]) -> list[str]:
    """The names with `#2`, `#3` behind repeated ones, so that A/A comparisons can be written."""
    result: list[str] = []
    for name in names:
        number = 1
        candidate = name
        while candidate in result:
            number += 1
            candidate = f"{name}#{number}"
        result.append(candidate)
    return result
