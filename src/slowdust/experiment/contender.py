"""What a contender is called: `DBMS@VERSION[/ENGINE][:CONFIG][+ENV...]`, or a directory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from slowdust.dbms.settings import DEFAULT_CONFIG
from slowdust.errors import UsageError

_NAMED = re.compile(
    r"(?P<dbms>[a-z]+)@(?P<version>[A-Za-z0-9._-]+)"
    r"(?:/(?P<engine>[a-z]+))?(?::(?P<config>[A-Za-z0-9._/-]+))?"
    r"(?P<environment>(?:\+[A-Za-z0-9._=-]+)*)"
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
    config: str = DEFAULT_CONFIG


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
            f"'{written}' is no contender: write DBMS@VERSION[:CONFIG], for example "
            f"postgres@17.6, or a directory with binaries (./build)"
        )
    if named["engine"] or named["environment"]:
        raise UsageError(f"'{written}': {named['dbms']} has no engines or environments to choose")
    return ContenderName(
        written,
        dbms=named["dbms"],
        version=named["version"],
        config=named["config"] or DEFAULT_CONFIG,
    )


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
