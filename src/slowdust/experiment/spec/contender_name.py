"""The name of a contender.

`DBMS@VERSION[/ENGINE][:CONFIG][+ENV...]`, or `DIRECTORY[:CONFIG][+ENV...]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from slowdust.dbms.environment import ALLOCATORS, Environment, parse_environment
from slowdust.errors import UsageError

_CONFIG = r"(?::(?P<config>[A-Za-z0-9._/-]+))?"
_NAMED = re.compile(
    r"(?P<dbms>[a-z]+)@(?P<version>[A-Za-z0-9._-]+)(?:/(?P<engine>[a-z]+))?"
    rf"{_CONFIG}(?P<environment>(?:\+[^+|\s]+)*)"
)
_SURE_ENVIRONMENT = rf"\+(?:{'|'.join(ALLOCATORS)}|[A-Za-z_][A-Za-z0-9_]*=[^+|\s]*)"
"""Environments of a directory, in whose name a '+' may be too."""
_DIRECTORY = re.compile(
    rf"(?P<directory>[~./][^:]*?){_CONFIG}(?P<environment>(?:{_SURE_ENVIRONMENT})*)"
)
ENGINE_OF_A_DIRECTORY = (
    "a directory has its default engine; give it a name by `slowdust builds add NAME DIRECTORY` "
    "and write DBMS@NAME/ENGINE"
)


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
    config: str | None = None
    """The name of its configuration; None for the benchmark's."""
    environment: Environment = field(default_factory=Environment)

    @property
    def text(self) -> str:
        """The name as it is written, from its parts."""
        build = f"{self.dbms}@{self.version}" if self.directory is None else str(self.directory)
        engine = f"/{self.engine}" if self.engine else ""
        config = f":{self.config}" if self.config else ""
        return "".join((build, engine, config, *(f"+{part}" for part in self.environment.written)))

    def at_version(self, version: str | None) -> str:
        """Return the name as written, with a version: `postgres@17` becomes `postgres@17.10`."""
        if version is None or self.directory is not None:
            return self.written
        return self.written.replace(f"@{self.version}", f"@{version}", 1)

    def with_parts(self, parts: Mapping[str, str]) -> ContenderName:
        """Return the name with an `engine`, `config` or `environment` that it leaves open.

        A part that is empty stays open. Raises UsageError for a part that the name has already, and
        for the engine of a directory.
        """
        own = {
            "engine": self.engine,
            "config": self.config,
            "environment": self.environment.written,
        }
        for part in parts:
            if own[part]:
                raise UsageError(f"'{self.written}' names its {part} already, which is to vary")
        if self.directory is not None and parts.get("engine"):
            raise UsageError(f"'{self.written}': {ENGINE_OF_A_DIRECTORY}")
        varied = replace(
            self,
            engine=parts.get("engine") or self.engine,
            config=parts.get("config") or self.config,
        )
        environment = parts.get("environment")
        added = f"+{environment.removeprefix('+')}" if environment else ""
        return parse_contender(varied.text + added)


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
            config=directory["config"],
            environment=_environment(written, directory["environment"]),
        )
    named = _NAMED.fullmatch(written)
    if named is None:
        raise UsageError(
            f"'{written}' is not a contender: write DBMS@VERSION[/ENGINE][:CONFIG][+ENV...], for "
            f"example postgres@17.6, or a directory with binaries (./build)"
        )
    return ContenderName(
        written,
        dbms=named["dbms"],
        version=named["version"],
        engine=named["engine"],
        config=named["config"],
        environment=_environment(written, named["environment"]),
    )


def _environment(written: str, text: str) -> Environment:
    try:
        return parse_environment(text.split("+")[1:])
    except UsageError as error:
        raise UsageError(f"'{written}': {error}") from error


def distinct(names: list[str]) -> list[str]:
    """Return the names with `#2`, `#3` behind repeated ones, so that A/A comparisons work."""
    result: list[str] = []
    for name in names:
        number = 1
        candidate = name
        while candidate in result:
            number += 1
            candidate = f"{name}#{number}"
        result.append(candidate)
    return result
