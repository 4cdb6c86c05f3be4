"""Versions in their order, and which contenders are releases of one line.

A line is a DBMS with one engine, configuration and environment: what its contenders differ in is
the version, so that they have a history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slowdust.benchmarks.model import DEFAULT_CONFIG
from slowdust.errors import UsageError
from slowdust.store.manifest import ContenderFacts
from slowdust.versions import version_order
from slowdust.wording import short_names

_NAMED = re.compile(
    r"[a-z]+@[^/:+\s#]+(?P<parts>[^\s#]*)(?P<copy>#\d+)?(?P<points>( [^\s=]+=\S*)*)"
)
"""A contender that is named by its version: `mysql@9.7.4+jemalloc`, a matrix's points behind it."""
_PARTS = re.compile(r"(?P<engine>/[^:+]+)?(?::(?P<config>[^+]*))?(?P<additions>.*)")
_FEWEST_DIGITS, _ALL_DIGITS = 4, 64
"""Of a sha256, in a label."""


@dataclass(frozen=True)
class Release:
    """A version of a line; `build` tells apart those that are not the published one."""

    version: str
    build: str = ""
    """The contender's name where that is no version: a directory of binaries."""
    sha256: str = ""
    """Of a `build`'s binary, which may be another tomorrow."""

    @property
    def title(self) -> str:
        """What it is called, also by others of its line: a rebuilt directory keeps its name."""
        return f"{self.version} {self.build}" if self.build else self.version


@dataclass(frozen=True)
class LineParts:
    """What makes a contender's line."""

    system: str
    """DBMS and engine: `mysql/innodb`."""
    config: str
    additions: str
    """Environment, or how it was compiled: `+jemalloc`."""
    rest: str
    """A copy's number, a matrix's points: `#2 fsync=off`."""

    @property
    def line(self) -> str:
        """`mysql/innodb:small+jemalloc fsync=off`; without the config if that is the default."""
        config = f":{self.config}" if self.config != DEFAULT_CONFIG else ""
        return f"{self.system}{config}{self.additions}{self.rest}"


def parts_of(facts: ContenderFacts) -> LineParts:
    """The contender without its version, in parts."""
    named = _NAMED.fullmatch(facts.name)
    if facts.archived and named is None:
        # Without a version it is no release of any line.
        return LineParts(facts.name, DEFAULT_CONFIG, "", "")
    rest = (named["copy"] or "") + named["points"] if named else ""
    if named and facts.archived and (found := _PARTS.fullmatch(named["parts"])):
        # How it was compiled is in its name alone.
        config = found["config"] or DEFAULT_CONFIG
        return LineParts(facts.dbms + (found["engine"] or ""), config, found["additions"], rest)
    return LineParts(
        system=f"{facts.dbms}/{facts.engine}" if facts.engine else facts.dbms,
        config=facts.config,
        additions="".join(f"+{part}" for part in facts.environment),
        rest=rest,
    )


def line_of(facts: ContenderFacts) -> str:
    """The contender without its version: `mysql/innodb:small+jemalloc fsync=off`."""
    return parts_of(facts).line


def release_of(facts: ContenderFacts) -> Release:
    """The version a contender is of its line."""
    version = facts.build.version.removeprefix(f"{facts.dbms} ")
    if _NAMED.fullmatch(facts.name):
        return Release(version)
    return Release(version, facts.name, facts.build.sha256 or "")


def contender_called(wanted: str, contenders: Sequence[ContenderFacts]) -> str:
    """The contender that a user means: by its name, what sentences call it, or its version.

    `postgres@17.4:x10a_c32r128+o2nofp` may be written `17.4` or `postgres@17.4` where no other has
    that version. Raises `UsageError` if there is none, or several.
    """
    names = [facts.name for facts in contenders]
    if wanted in names:
        return wanted
    short = short_names(names)
    versions = {facts.name: release_of(facts).version for facts in contenders}
    meant = [
        one.name
        for one in contenders
        if wanted in {short[one.name], versions[one.name], f"{one.dbms}@{versions[one.name]}"}
    ]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise UsageError(f"{wanted} may be {' or '.join(meant)}: write the whole name")
    raise UsageError(f"{wanted} is not a contender; those are: {', '.join(names)}")


def lines_of(contenders: Iterable[ContenderFacts]) -> dict[str, dict[Release, str]]:
    """Line -> its releases, the oldest first -> the contender of each.

    Of several contenders of one release the first counts.
    """
    lines: dict[str, dict[Release, str]] = {}
    for facts in contenders:
        lines.setdefault(line_of(facts), {}).setdefault(release_of(facts), facts.name)
    return {
        name: {release: releases[release] for release in in_order(releases)}
        for name, releases in lines.items()
    }


def in_order(releases: Iterable[Release]) -> list[Release]:
    """The oldest first; builds behind the published release of their version.

    What was built anew under the same name keeps the order it comes in.
    """
    return sorted(releases, key=lambda one: (version_order(one.version), one.build))


def labels_of(releases: Sequence[Release]) -> dict[Release, str]:
    """Release -> what tells it apart from all others, as a table's column has it.

    Where several have one title, the first digits of their binaries' sha256 follow it.
    """
    titled: dict[str, list[Release]] = {}
    for release in releases:
        titled.setdefault(release.title, []).append(release)
    return {release: _label(release, titled[release.title]) for release in releases}


def _label(release: Release, same: Sequence[Release]) -> str:
    if len(same) == 1:
        return release.title
    return f"{release.title} {release.sha256[: _digits(same)]}".rstrip()


def _digits(releases: Sequence[Release]) -> int:
    """How many of the sha256 tell these releases apart."""
    counts = range(_FEWEST_DIGITS, _ALL_DIGITS)
    apart = (n for n in counts if len({one.sha256[:n] for one in releases}) == len(releases))
    return next(apart, _ALL_DIGITS)
