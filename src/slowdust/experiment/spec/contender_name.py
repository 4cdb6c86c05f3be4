"""The name of a contender.

`DBMS@VERSION[/ENGINE][:CONFIG][+ENV...]`, `DIRECTORY[:CONFIG][+ENV...]`, or the URL of a server
that runs already. A VERSION that is compiled, `git:REF`, `source:PATH` or one of SQLite, may be
followed by the name of a set of compiler flags: `+o3`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from slowdust.builds.compiling.flags import FLAG_SETS, flag_set
from slowdust.builds.revisions import DIRECTORY, GIT, is_source
from slowdust.builds.sources import amalgamation
from slowdust.dbms import engine_names
from slowdust.dbms.environment import ALLOCATORS, Environment, parse_environment
from slowdust.errors import UsageError
from slowdust.experiment.spec.server_url import ServerUrl, is_url, parse_url
from slowdust.places import named_path

_CONFIG = r"(?::(?P<config>[A-Za-z0-9._/-]+))?"
_NAMED = re.compile(
    rf"(?P<dbms>[a-z]+)@(?:(?P<source>(?:{GIT}|{DIRECTORY})[^\s:+|]+)"
    r"|(?P<version>[A-Za-z0-9._-]+)(?:/(?P<engine>[a-z][a-z0-9]*))?)"
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

    Either `dbms` and `version`, or `directory`, or `url` is set.
    """

    written: str
    dbms: str | None = None
    version: str | None = None
    directory: Path | None = None
    url: ServerUrl | None = None
    """The address of a server that runs already."""
    engine: str | None = None
    config: str | None = None
    """The name of its configuration; None for the benchmark's."""
    flags: str | None = None
    """The name of the set of flags with which it is compiled; None for the default."""
    environment: Environment = field(default_factory=Environment)

    @property
    def text(self) -> str:
        """The name as it is written, from its parts."""
        if self.url is not None:
            return self.written
        build = f"{self.dbms}@{self.version}" if self.directory is None else str(self.directory)
        engine = f"/{self.engine}" if self.engine else ""
        config = f":{self.config}" if self.config else ""
        additions = [*filter(None, [self.flags]), *self.environment.written]
        return "".join((build, engine, config, *(f"+{part}" for part in additions)))

    def at_version(self, version: str | None) -> str:
        """Return the name as written, with a version: `postgres@17` becomes `postgres@17.10`."""
        if self.url is not None:
            return self.url.text
        if version is None or self.directory is not None:
            return self.written
        return self.written.replace(f"@{self.version}", f"@{version}", 1)

    def at_absolute_path(self) -> ContenderName:
        """Return the name with its directory of binaries or sources wherever one is then."""
        if self.directory is not None:
            return replace(self, directory=self.directory.absolute())
        if self.version is not None and self.version.startswith(DIRECTORY):
            path = named_path(self.version.removeprefix(DIRECTORY)).absolute()
            return replace(self, version=f"{DIRECTORY}{path}")
        return self

    def with_parts(self, parts: Mapping[str, str]) -> ContenderName:
        """Return the name with an `engine`, `config`, `flags` or `environment` that it leaves open.

        A part that is empty stays open. Raises UsageError for a part that the name has already, for
        the engine of a directory, and for flags of what is not compiled.
        """
        own = {
            "engine": self.engine,
            "config": self.config,
            "flags": self.flags,
            "environment": self.environment.written,
        }
        if self.url is not None and any(parts.values()):
            raise UsageError(f"'{self.url.text}' runs already: its build and engine cannot vary")
        for part in parts:
            if own[part]:
                raise UsageError(f"'{self.written}' names its {part} already, which is to vary")
        if self.directory is not None and parts.get("engine"):
            raise UsageError(f"'{self.written}': {ENGINE_OF_A_DIRECTORY}")
        varied = replace(
            self,
            engine=parts.get("engine") or self.engine,
            config=parts.get("config") or self.config,
            flags=_checked_flags(self, parts.get("flags")) or self.flags,
        )
        if self.url is not None:
            return self
        environment = parts.get("environment")
        added = f"+{environment.removeprefix('+')}" if environment else ""
        return parse_contender(varied.text + added)


def parse_contender(written: str) -> ContenderName:
    """Take a contender apart.

    Raises:
        UsageError: it is malformed, or of a kind that this version cannot run.
    """
    if is_url(written):
        return ContenderName(written, url=parse_url(written))
    if directory := _DIRECTORY.fullmatch(written):
        return ContenderName(
            written,
            directory=named_path(directory["directory"]),
            config=directory["config"],
            environment=_environment(written, directory["environment"]),
        )
    named = _NAMED.fullmatch(written)
    if named is None:
        raise UsageError(
            f"'{written}' is not a contender: write DBMS@VERSION[/ENGINE][:CONFIG][+ENV...], for "
            f"example postgres@17.6, or a directory with binaries (./build)"
        )
    version, engine = named["version"], named["engine"]
    additions = named["environment"]
    flags = None
    if named["source"] is not None:
        version, engine = _without_engine(named["source"])
        flags, additions = _without_flags(additions)
    elif amalgamation.is_compiled(named["dbms"]):
        flags, additions = _without_flags(additions)
        if flags is not None:
            amalgamation.check_flags(flag_set(flags))
    return ContenderName(
        written,
        dbms=named["dbms"],
        version=version,
        engine=engine,
        config=named["config"],
        flags=flags,
        environment=_environment(written, additions),
    )


def _without_engine(source: str) -> tuple[str, str | None]:
    """Return a source's version and engine; a ref or path may have '/' too."""
    version, slash, last = source.rpartition("/")
    return (version, last) if slash and last in engine_names() else (source, None)


def _without_flags(additions: str) -> tuple[str | None, str]:
    """Return the set of flags, and the rest of what follows a name: ('o3', '+jemalloc')."""
    _, *parts = additions.split("+")
    flags = [part for part in parts if part in FLAG_SETS]
    others = [part for part in parts if part not in FLAG_SETS]
    if len(flags) > 1:
        raise UsageError(f"a build has one set of flags, not {' and '.join(flags)}")
    for part in others:
        if part not in ALLOCATORS and "=" not in part:
            raise UsageError(
                f"'+{part}' is neither a set of flags ({', '.join(FLAG_SETS)}) nor an environment "
                f"({', '.join(ALLOCATORS)} or NAME=VALUE)"
            )
    return (flags[0] if flags else None), "".join(f"+{part}" for part in others)


def _checked_flags(name: ContenderName, flags: str | None) -> str | None:
    if not flags:
        return None
    is_compiled = name.dbms is not None and amalgamation.is_compiled(name.dbms)
    if not is_compiled and (name.version is None or not is_source(name.version)):
        raise UsageError(
            f"'{name.written}' is not compiled here, so it cannot have the flags {flags}: write "
            "DBMS@git:REF or DBMS@source:PATH"
        )
    return flag_set(flags).name


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
