"""Versions in their order, and which contenders are releases of one line.

A line is a DBMS with one engine, configuration and environment: what its contenders differ in is
the version, so that they have a history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from slowdust.store.manifest import ContenderFacts
from slowdust.versions import version_order

PLAIN_CONFIG = "default"
"""Of a contender that names none; left out of a line's name."""
_NAMED = re.compile(
    r"[a-z]+@[^/:+\s#]+(?P<parts>[^\s#]*)(?P<copy>#\d+)?(?P<points>( [^\s=]+=\S*)*)"
)
"""A contender that is named by its version: `mysql@9.7.4+jemalloc`, a matrix's points behind it."""
_PARTS = re.compile(r"(?P<engine>/[^:+]+)?(?::(?P<config>[^+]*))?(?P<additions>.*)")


@dataclass(frozen=True)
class Release:
    """A version of a line; `build` tells apart those that are not the published one."""

    version: str
    build: str = ""
    """The contender's name where that is no version: a directory of binaries."""
    sha256: str = ""
    """Of a `build`'s binary, which may be another tomorrow."""

    @property
    def label(self) -> str:
        """As a table's column has it."""
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
        """`mysql/innodb:small+jemalloc fsync=off`."""
        config = f":{self.config}" if self.config != PLAIN_CONFIG else ""
        return f"{self.system}{config}{self.additions}{self.rest}"


def parts_of(facts: ContenderFacts) -> LineParts:
    """The contender without its version, in parts."""
    named = _NAMED.fullmatch(facts.name)
    if facts.archived and named is None:
        # Without a version it is no release of any line.
        return LineParts(facts.name, PLAIN_CONFIG, "", "")
    rest = (named["copy"] or "") + named["points"] if named else ""
    if named and facts.archived and (found := _PARTS.fullmatch(named["parts"])):
        # How it was compiled is in its name alone.
        config = found["config"] or PLAIN_CONFIG
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
    """The oldest first; builds behind the published release of their version."""
    return sorted(releases, key=lambda one: (version_order(one.version), one.build, one.sha256))
