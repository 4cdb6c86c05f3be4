"""Versions in order, and the grouping of contenders into lines.

A line is a DBMS with one engine, configuration and environment. Its contenders differ in their
version, so they have a history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slowdust.benchmarks.model import DEFAULT_CONFIG
from slowdust.errors import UsageError
from slowdust.store.manifest import ContenderFacts
from slowdust.units import grouped
from slowdust.versions import version_order
from slowdust.wording import build_name, guess, short_names

_NAMED = re.compile(
    r"[a-z]+@[^/:+\s#]+(?P<parts>[^\s#]*)(?P<copy>#\d+)?(?P<points>( [^\s=]+=\S*)*)"
)
"""A contender named by its version: `mysql@9.7.4+jemalloc`, possibly followed by matrix points."""
_PARTS = re.compile(r"(?P<engine>/[^:+]+)?(?::(?P<config>[^+]*))?(?P<additions>.*)")
_DIGITS_OF_A_COMMIT = 12
_FEWEST_DIGITS, _ALL_DIGITS = 4, 64
"""Digits of a sha256 in a label."""


@dataclass(frozen=True)
class Release:
    """A version of a line; `build` distinguishes builds other than the published one."""

    version: str
    build: str = ""
    """The contender's name if it is a directory of binaries; or its commit."""
    sha256: str = ""
    """Checksum of the binary of a `build`, which may change."""

    @property
    def title(self) -> str:
        """Name among the releases of its line; it survives a rebuild of the directory."""
        return f"{self.version} {self.build}" if self.build else self.version


@dataclass(frozen=True)
class LineParts:
    """The parts of a contender's line."""

    system: str
    """DBMS and engine: `mysql/innodb`."""
    config: str
    additions: str
    """Environment, or compiler flags: `+jemalloc`."""
    rest: str
    """A copy's number, a matrix's points: `#2 fsync=off`."""

    @property
    def line(self) -> str:
        """The line's name, without a default config: `mysql/innodb:small+jemalloc fsync=off`."""
        config = f":{self.config}" if self.config != DEFAULT_CONFIG else ""
        return f"{self.system}{config}{self.additions}{self.rest}"


def parts_of(facts: ContenderFacts) -> LineParts:
    """Return the parts of the contender's name and facts other than its version."""
    named = _NAMED.fullmatch(facts.name)
    if facts.run is not None and named is None:
        # Without a version it is not a release of any line.
        return LineParts(facts.name, DEFAULT_CONFIG, "", "")
    rest = (named["copy"] or "") + named["points"] if named else ""
    if named and facts.run is not None and (parts := _PARTS.fullmatch(named["parts"])):
        # Only its name has its compiler flags.
        config = parts["config"] or DEFAULT_CONFIG
        return LineParts(facts.dbms + (parts["engine"] or ""), config, parts["additions"], rest)
    return LineParts(
        system=f"{facts.dbms}/{facts.engine}" if facts.engine else facts.dbms,
        config=facts.config,
        additions="".join(f"+{part}" for part in [*_flags(facts), *facts.environment]),
        rest=rest,
    )


def release_of(facts: ContenderFacts) -> Release:
    """Return the version of a contender within its line."""
    version = facts.build.version.removeprefix(f"{facts.dbms} ")
    compiled = facts.build.compiled
    if compiled is not None and compiled.commit is not None:
        # Many commits have the same version.
        return Release(version, compiled.commit[:_DIGITS_OF_A_COMMIT], facts.build.sha256 or "")
    if _NAMED.fullmatch(facts.name):
        return Release(version)
    return Release(version, facts.name, facts.build.sha256 or "")


def _flags(facts: ContenderFacts) -> list[str]:
    compiled = facts.build.compiled
    return [] if compiled is None else [compiled.flags]


def find_contender(wanted: str, contenders: Sequence[ContenderFacts]) -> str:
    """Return the contender with this name, short name, or version.

    `postgres@17.4:x10a_c32r128+o2nofp` may be written `17.4` or `postgres@17.4` if it is the only
    one with that version. Raises `UsageError` if there is no such contender, or several.
    """
    names = [facts.name for facts in contenders]
    if wanted in names:
        return wanted
    short = short_names(names)
    versions = {facts.name: release_of(facts).version for facts in contenders}
    matching = [
        facts.name
        for facts in contenders
        if wanted
        in {short[facts.name], versions[facts.name], f"{facts.dbms}@{versions[facts.name]}"}
    ]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageError(f"{wanted} matches {' and '.join(matching)}: write the whole name")
    close = guess(wanted, [*names, *versions.values()])
    raise UsageError(f"{wanted} is not a contender; the contenders are {', '.join(names)}{close}")


def reader_names(contenders: Iterable[ContenderFacts]) -> dict[str, str]:
    """Return contender -> its name in reports: a directory's has its DBMS and version."""
    return {each.name: build_name(each.name, each.dbms, each.build.version) for each in contenders}


def lines_of(contenders: Iterable[ContenderFacts]) -> dict[str, dict[Release, str]]:
    """Return line -> its releases, the oldest first -> the contender of each.

    If several contenders have one release, the first counts.
    """
    lines: dict[str, dict[Release, str]] = {}
    for facts in contenders:
        lines.setdefault(parts_of(facts).line, {}).setdefault(release_of(facts), facts.name)
    return {
        name: {release: releases[release] for release in sorted_releases(releases)}
        for name, releases in lines.items()
    }


def sorted_releases(releases: Iterable[Release]) -> list[Release]:
    """Return the oldest first; builds follow the published release of their version.

    Builds of the same name stay in their order.
    """
    return sorted(releases, key=lambda release: (version_order(release.version), release.build))


def labels_of(releases: Sequence[Release]) -> dict[Release, str]:
    """Return release -> a unique label for its column.

    If several have the same title, the first digits of their binaries' sha256 follow it.
    """
    titled = grouped(releases, lambda release: release.title)
    return {release: _label(release, titled[release.title]) for release in releases}


def _label(release: Release, same: Sequence[Release]) -> str:
    if len(same) == 1:
        return release.title
    return f"{release.title} {release.sha256[: _digits(same)]}".rstrip()


def _digits(releases: Sequence[Release]) -> int:
    """Return the number of sha256 digits that distinguish these releases."""
    counts = range(_FEWEST_DIGITS, _ALL_DIGITS)
    enough = (n for n in counts if len({r.sha256[:n] for r in releases}) == len(releases))
    return next(enough, _ALL_DIGITS)
