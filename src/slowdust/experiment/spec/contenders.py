"""The contenders of an experiment: their names, the matrices that vary them, and their plan.

A name is `DBMS@VERSION[/ENGINE][:CONFIG][+ENV...]`, `DIRECTORY[:CONFIG][+ENV...]`, or the URL of a
server that runs already. A VERSION that is compiled, `git:REF`, `source:PATH` or one of SQLite, may
be followed by the name of a set of compiler flags: `+o3`.

An axis of a matrix is named after what it varies: a setting of the server, or a part of the
contender (`engine`, `config`, `flags`, `environment`). Its points are a list of values, or a table
of named points that vary several things at once:

    [matrix]
    innodb_doublewrite = ["OFF", "ON"]
    engine = ["innodb", "rocksdb"]
    fsync.off = { innodb_flush_log_at_trx_commit = 2, sync_binlog = 0 }
    fsync.on = { innodb_flush_log_at_trx_commit = 1, sync_binlog = 1 }
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from slowdust.benchmarks.options import AsShare, Table
from slowdust.builds.recipe import FLAG_SETS, flag_set
from slowdust.builds.revisions import DIRECTORY, GIT, is_source
from slowdust.builds.sources import amalgamation
from slowdust.dbms import engine_names
from slowdust.dbms.environment import ALLOCATORS, Environment, parse_environment
from slowdust.dbms.server_url import ServerUrl, is_url, parse_url
from slowdust.dbms.settings import setting_name
from slowdust.errors import UsageError
from slowdust.located_errors import at
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


MOST_COMBINATIONS = 64
"""Contenders from which on a matrix is taken for a mistake: all are up side by side."""

PARTS = ("engine", "config", "flags", "environment")
"""The parts of a contender that an axis can vary beside settings of its server."""


_Value = TypeVar("_Value")


def _setting_text(value: object) -> object:
    """Return a scalar as a server writes it: `on`, `off`, digits; anything else unchanged."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, int | float) else value


_Setting = Annotated[str, BeforeValidator(_setting_text)]


def _distinct_names(items: Iterable[tuple[str, _Value]]) -> dict[str, _Value]:
    """Return the items by name; ValueError when a name is there twice."""
    result: dict[str, _Value] = {}
    for name, value in items:
        if name in result:
            raise ValueError(f"{name} is given twice")
        result[name] = value
    return result


Settings = Annotated[
    dict[str, _Setting],
    AfterValidator(
        lambda values: _distinct_names(
            (setting_name(name), value) for name, value in values.items()
        )
    ),
]
"""Settings by name, each spelled in one way, so that what fixes and what varies it is compared."""


def _normal_axis(value: object) -> object:
    """Return a list of values as points that vary nothing but the axis, still without a key."""
    if isinstance(value, list):
        labels = [_setting_text(item) for item in value]
        if not all(isinstance(label, str) for label in labels):
            raise ValueError("values are true, false, numbers or strings")
        if len(set(labels)) < len(labels):
            raise ValueError("the same value is given twice")
        value = labels
    if isinstance(value, list | dict) and not value:
        raise ValueError("an axis needs at least one value")
    return value


Axis = Annotated[list[str] | dict[str, Settings], BeforeValidator(_normal_axis)]


Matrix = Annotated[
    dict[str, Axis],
    AfterValidator(
        lambda matrix: _distinct_names(
            (setting_name(name) if isinstance(axis, list) else name, axis)
            for name, axis in matrix.items()
        )
    ),
]
"""Axes by name; those that are settings are spelled in one way, names of tables are the user's."""


@dataclass(frozen=True)
class Combination:
    """One point of every axis."""

    settings: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    """Axis -> the point as a name says it; an axis of a part has none: the part is in the name."""


def combinations(matrix: Matrix) -> list[Combination]:
    """Return the cross product, the last axis varying fastest; without axes one empty combination.

    Raises:
        ValueError: two axes vary the same, or there are more than `MOST_COMBINATIONS`.
    """
    count = 1
    for axis in matrix.values():
        count *= len(axis)
    check_number(count)
    names = short_axis_names(list(matrix))
    choices = [_points(key, axis, names[key]) for key, axis in matrix.items()]
    return [_together(points) for points in itertools.product(*choices)]


def check_number(count: int) -> None:
    """Raise ValueError for more contenders than anybody means, `MOST_COMBINATIONS`."""
    if count > MOST_COMBINATIONS:
        raise ValueError(
            f"the matrix makes {count:,} contenders, all of them up side by side: "
            f"at most {MOST_COMBINATIONS} can be"
        )


def short_axis_names(axes: Sequence[str]) -> dict[str, str]:
    """Return axis -> its name without the engine's prefix, where that leaves the names apart."""
    parts = {axis: axis.partition("_") for axis in axes}
    short = {
        axis: rest if rest and engine in engine_names() else axis
        for axis, (engine, _, rest) in parts.items()
    }
    taken = list(short.values())
    return {axis: name if taken.count(name) == 1 else axis for axis, name in short.items()}


def _points(key: str, axis: Axis, name: str) -> list[Combination]:
    if isinstance(axis, dict):
        return [_point(varied, {name: label}) for label, varied in axis.items()]
    if key in PARTS:
        return [_point({key: value}, {}) for value in axis]
    return [_point({key: value}, {name: _point_label(value, axis)}) for value in axis]


def _point(varied: Mapping[str, str], labels: Mapping[str, str]) -> Combination:
    return Combination(
        settings={key: value for key, value in varied.items() if key not in PARTS},
        parts={key: value for key, value in varied.items() if key in PARTS},
        labels=labels,
    )


def _point_label(value: str, axis: Iterable[str]) -> str:
    """Write a word in small letters, as most settings are, where all values stay apart.

    What has a digit may have a unit, whose letters say how large it is: it stays as it is.
    """
    if any(character.isdigit() for character in value):
        return value
    lowered = [other.lower() for other in axis]
    return value.lower() if lowered.count(value.lower()) == 1 else value


def _together(points: Sequence[Combination]) -> Combination:
    settings: dict[str, str] = {}
    parts: dict[str, str] = {}
    labels: dict[str, str] = {}
    for point in points:
        for whole, more in ((settings, point.settings), (parts, point.parts)):
            if twice := sorted(whole.keys() & more.keys()):
                raise ValueError(f"two axes vary {twice[0]}")
            whole.update(more)
        labels.update(point.labels)
    return Combination(settings, parts, labels)


class ContenderTable(Table):
    """A contender of the file, with settings and a matrix of its own."""

    contender: str
    name: str | None = Field(None, pattern=r"^[^\s|/][^|]*$")
    set: Settings = Field(default_factory=dict)
    slowed: Annotated[float, Field(ge=0, lt=1), AsShare] | None = None
    matrix: Matrix = Field(default_factory=dict)


@dataclass(frozen=True)
class PlannedContender:
    """One contender that is to be run: one combination of its matrices."""

    name: ContenderName
    """The name with the parts that a matrix varies."""
    alias: str | None
    """The name that its user gave it."""
    label: str
    """The values that a matrix gave it: 'doublewrite=off sync_binlog=1'; empty without one."""
    set: Mapping[str, str]
    slowed: float | None = None
    """The share of its throughput that a known delay takes, for a calibration; 0 for a contender
    that has the delay's library alone, None for one without it."""
    place: int = field(default=0, compare=False)
    """The place of its table among the specification's contenders."""

    def title(self, version: str | None) -> str:
        """Return its name in reports, with the version that was found for the one in its name."""
        slowed = f"slowed={self.slowed * 100:g}%" if self.slowed else ""
        name = self.alias or self.name.at_version(version)
        return " ".join(filter(None, (name, self.label, slowed)))


def as_table(item: object) -> object:
    """Return a plain name as a table; a directory is kept where it is, whatever is current."""
    table = {"contender": item} if isinstance(item, str) else item
    if not isinstance(table, dict) or not isinstance(table.get("contender"), str):
        return table
    written = table["contender"]
    is_relative = written.startswith(("./", "../", "~")) or written in {".", ".."}
    if not is_relative and f"@{DIRECTORY}" not in written:
        return table
    try:
        name = parse_contender(written)
    except UsageError:
        return table  # refused with its place when all contenders are planned
    absolute = name.at_absolute_path()
    if absolute == name:
        return table
    alias = table.get("name") or written.lstrip("./~") or "build"
    return {**table, "contender": absolute.text, "name": alias}


def plan_contenders(
    tables: Sequence[ContenderTable], matrix: Matrix, fixed: Collection[str] = ()
) -> list[PlannedContender]:
    """Cross every contender with every combination of `matrix` and its own; the base comes first.

    An axis of a contender's own stands in place of one of `matrix` that has its name. `fixed` are
    the settings that are the same for all.

    Raises:
        AtKeysError: a matrix that cannot be crossed, or that varies a setting that is fixed; a
            malformed contender, or one that names a part which is to vary.
    """
    planned: list[PlannedContender] = []
    for place, table in enumerate(tables):
        with at("contenders", place) if table.matrix or not matrix else at("matrix"):
            crossed = combinations({**matrix, **table.matrix})
        with at("contenders", place):
            planned.extend(_crossed(table, crossed, fixed, place))
            check_number(len(planned))
    return planned


def check_calibration(planned: Sequence[PlannedContender]) -> None:
    """Refuse contenders that differ in more than the delays of a calibration.

    Raises:
        ValueError: some have no delay, the first has one, or they are not one build.
    """
    base = planned[0]
    if any(contender.slowed is None for contender in planned):
        raise ValueError("slowed: all contenders of a calibration have it, 0 for no delay")
    if base.slowed != 0:
        raise ValueError("slowed: the first contender, the base, has to have 0")
    if any((each.name, each.set) != (base.name, base.set) for each in planned):
        raise ValueError("slowed: the contenders of a calibration are one build with one config")


def _crossed(
    table: ContenderTable, crossed: Sequence[Combination], fixed: Collection[str], place: int
) -> Iterator[PlannedContender]:
    name = parse_contender(table.contender)
    for combination in crossed:
        if both := sorted({*fixed, *table.set} & combination.settings.keys()):
            raise ValueError(f"{table.contender}: `set` fixes {both[0]}, which a matrix varies")
        parts = combination.parts
        yield PlannedContender(
            name=name.with_parts(parts) if parts else name,
            alias=table.name,
            label=_label(combination, [] if table.name is None else parts.values()),
            set={**table.set, **combination.settings},
            slowed=table.slowed,
            place=place,
        )


def _label(combination: Combination, parts: Iterable[str]) -> str:
    """Name what varies, also the parts where a name of the user's own hides them."""
    points = [*filter(None, parts), *(f"{axis}={at}" for axis, at in combination.labels.items())]
    return " ".join(re.sub(r"[\s|]+", "_", point) for point in points)
