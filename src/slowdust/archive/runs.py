"""Runs as contenders: their names, and the facts in the names.

The name of a run, from its directory or a table's column, is
x.<dbms><version>_<build>.<config>.pk<0|1>.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slowdust.store.manifest import BuildFacts, ContenderFacts
from slowdust.text import beginning
from slowdust.versions import VersionOrder, version_order

UNKNOWN = "unknown"
_WITHOUT_KEY = ".pk0"
_MOST_LISTED = 4
_PREFIX, _KEY = re.compile(r"x\."), re.compile(r"\.pk[01]")
_HEAD = re.compile(
    r"(?P<letters>[a-z]+)"
    r"(?P<version>(?P<digits>\d{1,9})(?P<stage>(?:alpha|beta|rc)\d{1,9}|devel)?|devel)"
    r"(?:[_-](?P<build>[\w-]+))?"
)
_ORIOLEDB = re.compile(
    r"pg_oriole_patches(?P<major>\d{1,9})_(?P<patches>\d{1,9})(?:_(?P<build>[\w-]+))?"
)
"""Builds of the fork of Postgres for OrioleDB are named by its tags: patches17_5."""
_CONFIG = re.compile(r"[\w-]+(?:\.[\w-]+)*?")
_FLAG = re.compile(r"(?P<config>.+)\.(?P<flag>[a-z]+)")
_DAY = r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_HASH = r"(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40}(?![^_])"
_REVISION = re.compile(
    rf"(?:^|_)(?:(?:(?P<short>\d\d{_DAY})(?=_{_HASH})|(?P<long>20\d\d{_DAY}(?:\d{{4}})?)(?![^_]))"
    rf"(?:_(?P<dated>{_HASH}))?|(?P<hash>{_HASH}))(?P<numbers>(?:_\d{{1,9}}(?![^_]))*)"
)
"""A date with or without a time (of six digits only before a hash), a hash, and numbers after
it."""
_DBMS = {
    "pg": "postgres",
    "my": "mysql",
    "ma": "mariadb",
    "rx": "myrocks",
    "fbmy": "myrocks",
    "mo": "mongodb",
}
_ORIOLE = "orioledb"
_DBMS_OF_TWO_DIGIT_PARTS = frozenset({"ma"})
"""DBMS whose versions have two digits for each part: 110803."""
_FIRST_POSTGRES_OF_TWO_PARTS = 10
_POSTGRES_OF_THREE_PARTS = "9"


@dataclass(frozen=True)
class RunName:
    """The parts of the name of a run directory, which describe its contender."""

    dbms: str
    version: str | None
    """Version, with the date and the hash of the source, if any: `8.0.32-20241023-ba9709c9`.

    None if the digits are ambiguous.
    """
    build: str | None
    """Compiler flags: `o2nofp`."""
    config: str | None
    flag: str | None = None
    """Mark of a special case: `badcnf`."""

    @property
    def title(self) -> str | None:
        """The contender in Slowdust's notation: `postgres@11.10:x10a_c32r128`.

        None without a version.
        """
        if self.version is None:
            return None
        config = f":{self.config}" if self.config else ""
        additions = "".join(f"+{addition}" for addition in (self.build, self.flag) if addition)
        return f"{self.dbms}@{self.version}{config}{additions}"


def titles_of(order: Sequence[str]) -> dict[str, str]:
    """Name the contender of each run; runs with the same title keep their own names.

    Runs of tables without a primary key are distinguished from runs with one.
    """
    parsed = {run: parse_run(run) for run in order}
    titles = {run: (name and name.title) or run for run, name in parsed.items()}
    times = Counter(titles.values())
    for run, title in titles.items():
        if times[title] > 1 and title != run and run.endswith(_WITHOUT_KEY):
            titles[run] = f"{title}+{_WITHOUT_KEY[1:]}"
    times = Counter(titles.values())
    return {run: title if times[title] == 1 else run for run, title in titles.items()}


def facts_of(run: str, title: str) -> ContenderFacts:
    name = parse_run(run)
    build = f"archived, compiled as {name.build}" if name and name.build else "archived"
    return ContenderFacts(
        name=title,
        dbms=name.dbms if name else UNKNOWN,
        build=BuildFacts(source=build, version=(name and name.version) or UNKNOWN),
        config=(name.config if name else None) or UNKNOWN,
        settings={},
        run=run,
    )


def undecoded(contenders: Sequence[ContenderFacts]) -> list[str]:
    """Return a line on the contenders without a known version; empty if all have one."""
    names = [contender.name for contender in contenders if contender.build.version == UNKNOWN]
    return [f"version not decoded: {beginning(names, _MOST_LISTED)}"] if names else []


def order_of_runs(run: str) -> tuple[bool, str, VersionOrder, str]:
    """Return a sort key for runs: by DBMS and version, then by name.

    Runs without a version in their names come last.
    """
    parsed = parse_run(run)
    known = parsed is not None and parsed.version is not None
    dbms = parsed.dbms if parsed else ""
    return not known, dbms, version_order((parsed and parsed.version) or ""), run


def by_version(runs: Iterable[str]) -> list[str]:
    """Return each run once, the oldest version of the first run's DBMS first.

    DBMS, and runs of one version, stay in the given order. Runs without a version in their names
    come last.
    """
    given = list(dict.fromkeys(runs))
    systems = [name.dbms for run in given if (name := parse_run(run)) and name.version]

    def place(run: str) -> tuple[bool, int, VersionOrder]:
        name = parse_run(run)
        if name is None or name.version is None:
            return True, 0, version_order("")
        return False, systems.index(name.dbms), version_order(name.version)

    return sorted(given, key=place)


def parse_run(name: str) -> RunName | None:
    """Parse the name; return None for a directory that is not a run, or of an unknown DBMS."""
    start = match.end() if (match := _PREFIX.match(name)) else 0
    end = len(name) - len(".pk1")
    inner = name[start:end] if _KEY.fullmatch(name[end:]) else name[start:]
    head, _, config = inner.partition(".")
    if config and not _CONFIG.fullmatch(config):
        return None
    if match := _ORIOLEDB.fullmatch(head):
        return _run(_ORIOLE, f"{match['major']}-patches{match['patches']}", match["build"], config)
    match = _HEAD.fullmatch(head)
    if match is None or match["letters"] not in _DBMS:
        return None
    version = (
        parse_version(match["letters"], match["digits"]) if match["digits"] else match["version"]
    )
    if version and match["stage"]:
        version += match["stage"]
    return _run(_DBMS[match["letters"]], version, match["build"], config)


def _run(dbms: str, version: str | None, build: str | None, config: str) -> RunName:
    """Split the build into flags and source: `rel_end_241023_ba97` -> rel_end, 20241023, ...

    Numbers right after a date or a hash belong to it. Anything after them, such as the names of
    patches, belongs to the flags.
    """
    match = _REVISION.search(build or "")
    if version and build and match:
        date = f"20{match['short']}" if match["short"] else match["long"]
        revision = [date, match["dated"] or match["hash"], *match["numbers"].split("_")]
        version = "-".join([version, *filter(None, revision)])
        compiled = [build[: match.start()], build[match.end() :].lstrip("_")]
        build = "_".join(filter(None, compiled))
    flagged = _FLAG.fullmatch(config)
    return RunName(
        dbms,
        version or None,
        build or None,
        (flagged["config"] if flagged else config) or None,
        flagged["flag"] if flagged else None,
    )


def parse_version(letters: str, digits: str) -> str | None:
    """Return the version: `pg`, `1110` -> 11.10; `my`, `8044` -> 8.0.44; `ma`, `110803` -> 11.8.3.

    None if the digits are ambiguous.
    """
    if letters in _DBMS_OF_TWO_DIGIT_PARTS:
        parts = [digits[start : start + 2] for start in range(0, len(digits), 2)]
        known = len(digits) in (4, 6)
    elif letters == "pg" and digits[0] != _POSTGRES_OF_THREE_PARTS:
        parts = [digits[:2], digits[2:]]
        known = int(digits[:2]) >= _FIRST_POSTGRES_OF_TWO_PARTS
    else:
        parts = [digits[0], digits[1:2], digits[2:]]
        known = len(digits) > 1
    return ".".join(str(int(part)) for part in parts if part) if known else None
