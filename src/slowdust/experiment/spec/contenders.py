"""The contenders of an experiment: their names, the matrices that vary them, and their plan.

A name is `DBMS@VERSION[/ENGINE][:CONFIG][+ENV...]`, `DIRECTORY[:CONFIG][+ENV...]`, or the URL of a
running server. If VERSION is compiled (`git:REF`, `source:PATH` or a version of SQLite), the name
of a set of compiler flags may follow: `+o3`.

An axis of a matrix is named after what it varies: a setting of the server, or a part of the
contender (`engine`, `config`, `flags`, `environment`). Its points are a list of values, or a table
of named points that vary several settings or parts together:

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
"""Recognized environments of a directory, because its name may contain a '+', too."""
_DIRECTORY = re.compile(
    rf"(?P<directory>[~./][^:]*?){_CONFIG}(?P<environment>(?:{_SURE_ENVIRONMENT})*)"
)
ENGINE_OF_A_DIRECTORY = (
    "a directory is started with its default engine; to choose another one, register it with "
    "`slowdust builds add NAME DIRECTORY` and write DBMS@NAME/ENGINE"
)


@dataclass(frozen=True)
class ContenderName:
    """A contender's name in parts.

    Either `dbms` and `version`, or `directory`, or `url` is set.
    """

    written: str
    dbms: str | None = None
    version: str | None = None
    directory: Path | None = None
    url: ServerUrl | None = None
    """The address of a running server."""
    engine: str | None = None
    config: str | None = None
    """The name of its configuration; None for the benchmark's."""
    flags: str | None = None
    """The name of its set of compiler flags; None for the default."""
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
        """Return the name as written, with another version: `postgres@17` -> `postgres@17.10`."""
        if self.url is not None:
            return self.url.text
        if version is None or self.directory is not None:
            return self.written
        return self.written.replace(f"@{self.version}", f"@{version}", 1)

    def at_absolute_path(self) -> ContenderName:
        """Return the name with an absolute path to its directory of binaries or sources."""
        if self.directory is not None:
            return replace(self, directory=self.directory.absolute())
        if self.version is not None and self.version.startswith(DIRECTORY):
            path = named_path(self.version.removeprefix(DIRECTORY)).absolute()
            return replace(self, version=f"{DIRECTORY}{path}")
        return self

    def with_parts(self, parts: Mapping[str, str]) -> ContenderName:
        """Return the name with an `engine`, `config`, `flags` or `environment` that it leaves open.

        An empty part stays open. Raises UsageError for a part that the name sets already, for the
        engine of a directory, and for flags of a build that is not compiled.
        """
        own = {
            "engine": self.engine,
            "config": self.config,
            "flags": self.flags,
            "environment": self.environment.written,
        }
        if self.url is not None and any(parts.values()):
            raise UsageError(f"'{self.url.text}' is a running server: a matrix cannot vary it")
        for part in parts:
            if own[part]:
                raise UsageError(
                    f"'{self.written}' sets its {part} already, but the matrix varies it"
                )
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
    """Parse the name of a contender.

    Raises:
        UsageError: it is malformed, or this version cannot run it.
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
            f"example postgres@17.6, or a directory of binaries (./build)"
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
    """Return a source's version and engine; a ref or path may contain '/', too."""
    version, slash, last = source.rpartition("/")
    return (version, last) if slash and last in engine_names() else (source, None)


def _without_flags(additions: str) -> tuple[str | None, str]:
    """Return the set of flags, and the other additions to a name: ('o3', '+jemalloc')."""
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
            f"'{name.written}' is not compiled by Slowdust, so flags {flags} do not apply: write "
            "DBMS@git:REF or DBMS@source:PATH"
        )
    return flag_set(flags).name


def _environment(written: str, text: str) -> Environment:
    try:
        return parse_environment(text.split("+")[1:])
    except UsageError as error:
        raise UsageError(f"'{written}': {error}") from error


def distinct(names: list[str]) -> list[str]:
    """Return the names with `#2`, `#3` appended to repeated ones, for A/A comparisons."""
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
"""Maximum number of contenders of a matrix: all of them run side by side."""

PARTS = ("engine", "config", "flags", "environment")
"""The parts of a contender that an axis can vary, in addition to settings of its server."""


_Value = TypeVar("_Value")


def _setting_text(value: object) -> object:
    """Return a scalar as a server writes it: `on`, `off`, digits; anything else unchanged."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, int | float) else value


_Setting = Annotated[str, BeforeValidator(_setting_text)]


def _distinct_names(items: Iterable[tuple[str, _Value]]) -> dict[str, _Value]:
    """Return the items by name; ValueError if a name is repeated."""
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
"""Settings by normalized name, so that fixed and varied settings can be compared."""


def _normal_axis(value: object) -> object:
    """Convert the scalars of a list to text, and refuse repeated values and empty axes."""
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
"""Axes by name; names of settings are normalized, names of tables are the user's."""


@dataclass(frozen=True)
class Combination:
    """One point of every axis."""

    settings: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    """Axis -> the point's label; an axis of a part has none, because the name shows the part."""


def combinations(matrix: Matrix) -> list[Combination]:
    """Return the cross product, the last axis varying fastest; without axes one empty combination.

    Raises:
        ValueError: two axes vary the same thing, or there are more than `MOST_COMBINATIONS`.
    """
    count = 1
    for axis in matrix.values():
        count *= len(axis)
    check_number(count)
    names = short_axis_names(list(matrix))
    choices = [_points(key, axis, names[key]) for key, axis in matrix.items()]
    return [_merge_points(points) for points in itertools.product(*choices)]


def check_number(count: int) -> None:
    """Raise ValueError for more than `MOST_COMBINATIONS` contenders."""
    if count > MOST_COMBINATIONS:
        raise ValueError(
            f"the matrix has {count:,} contenders, which run side by side: "
            f"at most {MOST_COMBINATIONS} are possible"
        )


def short_axis_names(axes: Sequence[str]) -> dict[str, str]:
    """Return axis -> its name without the engine's prefix, unless names become equal."""
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
    """Return the value in lower case, as most settings are written, if all values stay distinct.

    A value with a digit is unchanged: its letters may be a unit, whose case matters.
    """
    if any(character.isdigit() for character in value):
        return value
    lowered = [other.lower() for other in axis]
    return value.lower() if lowered.count(value.lower()) == 1 else value


def _merge_points(points: Sequence[Combination]) -> Combination:
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
    """A contender in the file, with its own settings and matrix."""

    contender: str
    name: str | None = Field(None, pattern=r"^[^\s|/][^|]*$")
    set: Settings = Field(default_factory=dict)
    slowed: Annotated[float, Field(ge=0, lt=1), AsShare] | None = None
    matrix: Matrix = Field(default_factory=dict)


@dataclass(frozen=True)
class PlannedContender:
    """One contender to run: one combination of its matrices."""

    name: ContenderName
    """The name, including the parts that a matrix varies."""
    alias: str | None
    """The name given by the user."""
    label: str
    """The values given by a matrix: 'doublewrite=off sync_binlog=1'; empty without one."""
    set: Mapping[str, str]
    slowed: float | None = None
    """The share of its throughput that the injected delay takes, for a calibration; 0 for a
    contender with the delay's library but no delay, None for one without the library."""
    place: int = field(default=0, compare=False)
    """The index of its table in the specification."""

    def title(self, version: str | None) -> str:
        """Return its name in reports, with the version that was found."""
        slowed = f"slowed={self.slowed * 100:g}%" if self.slowed else ""
        name = self.alias or self.name.at_version(version)
        return " ".join(filter(None, (name, self.label, slowed)))


def as_table(item: object) -> object:
    """Return a plain name as a table; paths become absolute, and the written path the alias."""
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
        return table  # the error is raised with its place when all contenders are planned
    absolute = name.at_absolute_path()
    if absolute == name:
        return table
    alias = table.get("name") or written.lstrip("./~") or "build"
    return {**table, "contender": absolute.text, "name": alias}


def plan_contenders(
    tables: Sequence[ContenderTable], matrix: Matrix, fixed: Collection[str] = ()
) -> list[PlannedContender]:
    """Cross every contender with every combination of `matrix` and its own; the base comes first.

    A contender's own axis replaces the axis of `matrix` with the same name. `fixed` are the
    settings that are the same for all.

    Raises:
        AtKeysError: a matrix that cannot be crossed or varies a fixed setting; a malformed
            contender, or one that sets a part that the matrix varies.
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
    """Refuse contenders that differ in more than the injected delays of a calibration.

    Raises:
        ValueError: some have no delay, the first one's is not 0, or the builds differ.
    """
    base = planned[0]
    if any(contender.slowed is None for contender in planned):
        raise ValueError("slowed: all contenders of a calibration need it; 0 means no delay")
    if base.slowed != 0:
        raise ValueError("slowed: the first contender is the base and must have 0")
    if any((each.name, each.set) != (base.name, base.set) for each in planned):
        raise ValueError(
            "slowed: all contenders of a calibration must be one build with one config"
        )


def _crossed(
    table: ContenderTable, crossed: Sequence[Combination], fixed: Collection[str], place: int
) -> Iterator[PlannedContender]:
    name = parse_contender(table.contender)
    for combination in crossed:
        if both := sorted({*fixed, *table.set} & combination.settings.keys()):
            raise ValueError(f"{table.contender}: `set` fixes {both[0]}, but a matrix varies it")
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
    """Return the varied values, including parts that the user's own name does not show."""
    points = [*filter(None, parts), *(f"{axis}={at}" for axis, at in combination.labels.items())]
    return " ".join(re.sub(r"[\s|]+", "_", point) for point in points)
