"""Named configurations of servers, sized for this machine.

A configuration is a TOML file: `[settings]` are required, `[optional]` are set if the server's
version knows them, `[create]` has options for creating a data directory. A value may be a share of
memory: `{ share = 0.25, min = "128MB", max = "8GB" }`. Contenders that run side by side divide the
memory equally. `[engines.ENGINE.settings]` and `[engines.ENGINE.optional]` apply only to contenders
with that storage engine. A file may be `based_on` a shipped configuration, even of another DBMS
(`mysql/default`), and then contains only the differences.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import msgspec
import psutil

from slowdust.builds.model import Build
from slowdust.errors import UsageError
from slowdust.units import parse_size
from slowdust.user_text import read_user_text
from slowdust.wording import guess, nearest

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_CAMEL_CASE = re.compile(r"[a-z][A-Z]")
_NUMBER = re.compile(r"([+-]?(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+))\s*([a-zA-Z]*)")
_TRUE = frozenset({"on", "true", "yes", "1"})
_FALSE = frozenset({"off", "false", "no", "0"})


def setting_name(text: str) -> str:
    """Normalize a name: MySQL reads dashes as underscores. Only MongoDB's names are case-sensitive.

    They are also the only names in camel case.
    """
    return text if _CAMEL_CASE.search(text) else text.lower().replace("-", "_")


class Share(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A size as a share of the host's memory."""

    share: float
    min: str | None = None
    max: str | None = None
    multiple_of: tuple[str, ...] = ()
    """Granules, ascending: the size is rounded down to a multiple of the largest that fits."""

    def __post_init__(self) -> None:
        """Check the share and the granules.

        Raises:
            ValueError: a value is out of range.
        """
        if not 0 < self.share <= 1:
            raise ValueError(f"share = {self.share:g}: write a number above 0 and up to 1")
        for granule in self.multiple_of:
            if _bytes(granule) <= 0:
                raise ValueError(f"multiple_of contains {granule}: write sizes above 0")

    def bytes_of(self, memory_bytes: int) -> int:
        size = int(self.share * memory_bytes)
        if self.max is not None:
            size = min(size, _bytes(self.max))
        if self.min is not None:
            size = max(size, _bytes(self.min))
        granules = [_bytes(granule) for granule in self.multiple_of]
        granule = max((granule for granule in granules if granule <= size), default=1)
        return size - size % granule


Value = str | int | float | bool | Share


class Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The required and the optional settings of a configuration, by name."""

    settings: dict[str, Value] = {}
    optional: dict[str, Value] = {}

    def over(self, base: Part) -> Part:
        """Return this part, completed by settings that only `base` has."""
        kept = {key: v for key, v in base.optional.items() if key not in self.settings}
        return Part(
            {
                key: value
                for key, value in {**base.settings, **self.settings}.items()
                if key in self.settings or key not in self.optional
            },
            {**kept, **self.optional},
        )

    def renamed(self) -> Part:
        """Return the part with normalized names. Raises UsageError for duplicates."""
        renamed = Part(
            {setting_name(key): value for key, value in self.settings.items()},
            {setting_name(key): value for key, value in self.optional.items()},
        )
        written = [setting_name(key) for key in (*self.settings, *self.optional)]
        for name in sorted({name for name in written if written.count(name) > 1}):
            raise UsageError(f"a configuration sets {name} more than once")
        return renamed


class ConfigFile(Part, forbid_unknown_fields=True, frozen=True):
    """A configuration as written, or completed by its base."""

    based_on: str | None = None
    engines: dict[str, Part] = {}
    create: dict[str, bool] = {}

    def part_of(self, engine: str | None) -> Part:
        return self if engine is None else self.engines.get(engine, Part()).over(self)

    def renamed(self) -> ConfigFile:
        own = super().renamed()
        engines = {engine: part.renamed() for engine, part in self.engines.items()}
        return msgspec.structs.replace(
            self, settings=own.settings, optional=own.optional, engines=engines
        )


@dataclass(frozen=True)
class Settings:
    """The intended settings of a server, with sizes for one machine."""

    config: str
    required: Mapping[str, str]
    optional: Mapping[str, str]
    create: Mapping[str, bool]

    def among(self, known: Container[str], build: Build, names: Iterable[str]) -> AcceptedSettings:
        """Return these settings without unknown optional ones.

        Raises UsageError for an unknown required setting; the message suggests one of `names`.
        """
        for name in sorted(self.required):
            if name not in known:
                raise unknown_setting(build, name, names)
        skipped = tuple(sorted(name for name in self.optional if name not in known))
        optional = {name: value for name, value in self.optional.items() if name in known}
        return AcceptedSettings({**optional, **self.required}, skipped, self.create)

    def check_not_reserved(self, reserved: frozenset[str]) -> None:
        """Raise UsageError for a setting that Slowdust chooses itself."""
        for name in sorted(reserved & {*self.required, *self.optional}):
            raise UsageError(f"{name} cannot be set: Slowdust chooses it for each instance")


@dataclass(frozen=True)
class AcceptedSettings:
    """The settings that a server of one version accepts."""

    values: Mapping[str, str]
    skipped: tuple[str, ...]
    """The optional settings that this version does not know, sorted."""
    create: Mapping[str, bool]


def shipped_configs(dbms: str) -> tuple[str, ...]:
    """Return the names of the configurations that Slowdust ships for a DBMS, sorted."""
    folder = resources.files(__package__) / "configs" / dbms
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir()))


def load_config(dbms: str, name: str) -> ConfigFile:
    """Load a shipped configuration by its name, or a user's by the path of a `.toml` file.

    Raises UsageError for an unknown or invalid configuration.
    """
    try:
        file = msgspec.toml.decode(_config_text(dbms, name), type=ConfigFile).renamed()
    except msgspec.DecodeError as error:  # also ValidationError
        raise UsageError(f"configuration {name}: {error}") from error
    if file.based_on is None:
        return file
    base_dbms, _, base_name = file.based_on.rpartition("/")
    base_dbms = base_dbms or dbms
    if base_name not in shipped_configs(base_dbms) or (base_dbms, base_name) == (dbms, name):
        names = ", ".join(shipped_configs(base_dbms))
        raise UsageError(f"configuration {name}: based_on must be one of {names}")
    base = load_config(base_dbms, base_name)
    part = file.over(base)
    return ConfigFile(
        settings=part.settings,
        optional=part.optional,
        engines={
            engine: file.engines.get(engine, Part()).over(base.engines.get(engine, Part()))
            for engine in sorted({*base.engines, *file.engines})
        },
        create={**base.create, **file.create},
    )


def _config_text(dbms: str, name: str) -> str:
    if name.endswith(".toml"):
        return read_user_text(Path(name))
    if name not in shipped_configs(dbms):
        raise UsageError(
            f"{dbms} has no configuration {name!r}: use one of {', '.join(shipped_configs(dbms))} "
            f"or the path of a .toml file{guess(name, shipped_configs(dbms))}"
        )
    file = resources.files(__package__) / "configs" / dbms / f"{name}.toml"
    return file.read_text(encoding="utf-8")


def size_config(
    name: str,
    part: Part,
    create: Mapping[str, bool],
    memory_bytes: int,
    render_bytes: Callable[[int], str],
) -> Settings:
    """Return a configuration's settings with sizes for a contender that has `memory_bytes`.

    `render_bytes` writes a size in the family's format.
    """

    def sized(values: Mapping[str, Value]) -> dict[str, str]:
        return {key: _text(value, memory_bytes, render_bytes) for key, value in values.items()}

    return Settings(name, sized(part.settings), sized(part.optional), dict(create))


def override(settings: Settings, overrides: Mapping[str, str]) -> Settings:
    return dataclasses.replace(
        settings,
        required={**settings.required, **overrides},
        optional={key: v for key, v in settings.optional.items() if key not in overrides},
    )


def _bytes(text: str) -> int:
    """Return a size of a configuration in bytes. Raises UsageError."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def host_memory_bytes() -> int:
    """Return the memory that servers may use: the host's, or the control group's limit."""
    total = psutil.virtual_memory().total
    try:
        limit = _CGROUP_LIMIT.read_text(encoding="ascii").strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total


def _text(value: Value, memory_bytes: int, render_bytes: Callable[[int], str]) -> str:
    if isinstance(value, Share):
        return render_bytes(value.bytes_of(memory_bytes))
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


class UnknownSettingError(UsageError):
    """The server of a build does not know a setting."""

    def __init__(self, text: str, setting: str) -> None:
        super().__init__(text)
        self.setting = setting


def check_complaints(build: Build, complaints: Sequence[str]) -> None:
    if complaints:
        reasons = "; ".join(complaints)
        raise UsageError(f"{build.dbms} {build.facts.version} refuses the settings: {reasons}")


def check_nothing_created(dbms: str, settings: Settings) -> None:
    for name in settings.create:
        raise UsageError(f"[create] of {dbms} has no options: remove {name!r}")


def unknown_setting(build: Build, name: str, known: Iterable[str]) -> UnknownSettingError:
    close = nearest(name, known)
    hint = f"did you mean {close}?" if close else "remove it or move it to [optional]"
    text = f"{build.dbms} {build.facts.version} has no setting {name!r}: {hint}"
    return UnknownSettingError(text, name)


@dataclass(frozen=True)
class InForce:
    """The value of a setting in a running server."""

    text: str
    """The value as the server writes it."""
    as_given: bool
    """Whether it equals the value that was given, in any notation."""


def number(text: str, units: Mapping[str, float], plain: float = 1.0) -> float | None:
    """Return the number of a value; None if the value is not a number.

    `units` is unit -> factor; a number without a unit is multiplied by `plain`.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (match.group(2) and match.group(2) not in units):
        return None
    digits = match.group(1)
    value = float(int(digits, 16) if "x" in digits.lower() else float(digits))
    return value * (units[match.group(2)] if match.group(2) else plain)


def truth(text: str) -> bool | None:
    """Return the boolean of a word, 0 or 1; None for any other value."""
    word = text.strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def same_value(given: str, has: str, units: Mapping[str, float]) -> bool | None:
    """Return whether two numbers or two booleans are equal; None for other values."""
    wanted, value = number(given, units), number(has, units)
    if wanted is not None and value is not None:
        return same_number(wanted, value)
    if truth(given) is not None and truth(has) is not None:
        return truth(given) == truth(has)
    return None


def same_number(value: float, other: float) -> bool:
    """Return whether two numbers are equal up to rounding."""
    return abs(value - other) <= 1e-6 * max(abs(value), abs(other))
