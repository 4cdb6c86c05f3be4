"""Names of archived files and directories of sysbench.

sb.<kind>.<test>[.pre|.warm|.warmpre].range<R>.pk<0|1>[.dop<N>][.gz]
x.<dbms><version>_<build>.<config>.pk<0|1>
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from slowdust.versions import VersionOrder, version_order

_FILE = re.compile(
    r"sb\.(?P<kind>r\.\w+|perf\.(?:hw|last)|pgs\.\w+|prepare\.\w+|\w+)"
    r"\.(?P<test>[a-z][a-z-]*|(?:oltp|select|bulk)(?:_[a-z]+)+)(?:\.(?P<phase>pre|warm|warmpre))?"
    r"\.range(?P<range>\d{1,9})\.pk(?P<pk>[01])"
    r"(?:\.dop(?P<dop>[1-9]\d{0,8})|\.(?P<iteration>\d{1,9}))?"
    r"(?:\.(?P<extraction>raw|sorted))?(?:\.gz)?"
)
_OWN_TESTS = {
    "oltp_point_select": "point-query",
    "oltp_read_only": "read-only",
    "oltp_read_write": "read-write",
    "oltp_write_only": "write-only",
    "oltp_update_index": "update-index",
    "oltp_update_non_index": "update-nonindex",
    "oltp_delete": "delete",
    "oltp_insert": "insert",
    "select_random_points": "random-points",
    "select_random_ranges": "random-ranges",
    "bulk_insert": "bulk-insert",
}
"""The tests that sysbench itself has, and how they are called here."""
_WITHOUT_CLIENTS = re.compile(r"sb\..+\.dop0+(?:\.gz)?")
_CLIENTS = re.compile(r"(?<![^._-])(?:dop(?P<dop>[1-9]\d*)|(?P<users>[1-9]\d*)u)(?![^._-])")
"""A number of clients in other names: `dop40`, or of whole sets `40u` (users).

Others look like it and are not: `c48` are CPUs, `10m` rows in millions.
"""
_LABEL = re.compile(
    r"(?P<test>[a-z][a-z-]*|(?:oltp|select|bulk)(?:_[a-z]+)+)(?P<phase>\.(?:pre|warm|warmpre))?"
    r"_range=(?P<range>\d{1,9})"
)
_OF_RUNS = "sb."
LOAD_BLOCK = "sb.prepare.met."
"""The beginning of the name of a block of the load, in a table of hardware."""
_WITH_KEY, _WITHOUT_KEY = ".pk1", ".pk0"
_PREFIX, _KEY = re.compile(r"x\."), re.compile(r"\.pk[01]")
_HEAD = re.compile(
    r"(?P<letters>[a-z]+)"
    r"(?P<version>(?P<digits>\d{1,9})(?P<stage>(?:alpha|beta|rc)\d{1,9}|devel)?|devel)"
    r"(?:[_-](?P<build>[\w-]+))?"
)
_ORIOLEDB = re.compile(
    r"pg_oriole_patches(?P<major>\d{1,9})_(?P<patches>\d{1,9})(?:_(?P<build>[\w-]+))?"
)
"""Builds of the fork of Postgres that OrioleDB needs are called by its tags: patches17_5."""
_CONFIG = re.compile(r"[\w-]+(?:\.[\w-]+)*?")
_FLAG = re.compile(r"(?P<config>.+)\.(?P<flag>[a-z]+)")
_DAY = r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_HASH = r"(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40}(?![^_])"
_REVISION = re.compile(
    rf"(?:^|_)(?:(?:(?P<short>\d\d{_DAY})(?=_{_HASH})|(?P<long>20\d\d{_DAY}(?:\d{{4}})?)(?![^_]))"
    rf"(?:_(?P<dated>{_HASH}))?|(?P<hash>{_HASH}))(?P<numbers>(?:_\d{{1,9}}(?![^_]))*)"
)
"""A date with or without a time, of six digits only before a hash; a hash; numbers behind them."""
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
"""DBMS whose versions are written with two digits for each part: 110803."""
_FIRST_POSTGRES_OF_TWO_PARTS = 10
_POSTGRES_OF_THREE_PARTS = "9"


@dataclass(frozen=True)
class FileName:
    """The parts of the name of a run's file."""

    kind: str
    """One of o, met, vm, io, ps, r.qps, perf.hw, prepare.met, ..."""
    test: str
    phase: str | None
    """One of pre, warm, warmpre."""
    range: int
    dop: int | None
    """Client threads; None where the kind has no such suffix."""
    iteration: int | None
    """Iteration of the counters of a file `perf.hw`."""
    extraction: str | None
    """Form of an extraction of `perf.hw`: raw, sorted."""
    pk: int = 1
    """1 if the tables have a primary key, else 0."""

    @property
    def suffix(self) -> str:
        """The test: `hot-points.pre.range100`; behind it `.pk0`, if the tables have no key."""
        return test_of(self.common)

    @property
    def common(self) -> str:
        """The test as the names of files of any kind have it: `hot-points.pre.range100.pk1`."""
        phase = f".{self.phase}" if self.phase else ""
        return f"{self.test}{phase}.range{self.range}.pk{self.pk}"

    @property
    def label(self) -> str:
        """The test as the published tables have it: `scan.warm_range=100`."""
        phase = f".{self.phase}" if self.phase else ""
        return f"{self.test}{phase}_range={self.range}"


@dataclass(frozen=True)
class RunName:
    """The parts of the name of a run directory, which describe its contender."""

    dbms: str
    version: str | None
    """Version, with the date and the hash of the source, if any: `8.0.32-20241023-ba9709c9`.

    None where the digits do not say.
    """
    build: str | None
    """Flags of the compiler: `o2nofp`."""
    config: str | None
    flag: str | None = None
    """Mark of something special: `badcnf`."""

    @property
    def title(self) -> str | None:
        """The contender as Slowdust writes one: `postgres@11.10:x10a_c32r128`.

        None without a version.
        """
        if self.version is None:
            return None
        config = f":{self.config}" if self.config else ""
        additions = "".join(f"+{addition}" for addition in (self.build, self.flag) if addition)
        return f"{self.dbms}@{self.version}{config}{additions}"


def parse_file(name: str) -> FileName | None:
    """Parse the name; return None for a file that is none of a run's.

    A test of sysbench's own name is called as the same test is here: `read-write` for
    `oltp_read_write`.
    """
    match = _FILE.fullmatch(name)
    if match is None or not _is_known(match["test"]):
        return None
    return FileName(
        kind=match["kind"],
        test=_our_test(match["test"]),
        phase=match["phase"],
        range=int(match["range"]),
        dop=int(match["dop"]) if match["dop"] else None,
        iteration=int(match["iteration"]) if match["iteration"] else None,
        extraction=match["extraction"],
        pk=int(match["pk"]),
    )


def why_no_file(name: str) -> str:
    """Say what is wrong with the name of a file that `parse_file` does not parse, in words."""
    if _WITHOUT_CLIENTS.fullmatch(name):
        return "0 clients by its name: it counts as no result"
    if name.startswith(_OF_RUNS):
        return "its name is not sb.KIND.TEST.rangeN.pk1[.dopN] with a known kind and test"
    return "not a file of a run of sysbench"


def parse_label(label: str) -> str | None:
    """Return the test of a row of a published table, without `.pk1` or `.pk0`; None if it is none.

    Rows do not say which of the two it is.
    """
    match = _LABEL.fullmatch(label)
    if match is None or not _is_known(match["test"]):
        return None
    return f"{_our_test(match['test'])}{match['phase'] or ''}.range{match['range']}"


def _is_known(test: str) -> bool:
    """Return whether it is a test of ours, or one of sysbench's own."""
    return "_" not in test or test in _OWN_TESTS


def _our_test(test: str) -> str:
    return _OWN_TESTS.get(test, test)


def clients_in_name(name: str) -> int | None:
    """Return the number of clients in the name of a directory or a table; None without one."""
    match = _CLIENTS.search(name)
    return int(match["dop"] or match["users"]) if match else None


def block_name(common: str, dop: int | None) -> str:
    """Return the name of a test's block in a table of hardware, as of its file sb.met."""
    return f"sb.met.{common}{f'.dop{dop}' if dop else ''}"


def load_block_name(common: str) -> str:
    """Return the name of the block of the load before a test."""
    return f"{LOAD_BLOCK}{common}"


def test_of(common: str) -> str:
    """Return the `FileName.suffix` of a `FileName.common`."""
    return common.removesuffix(_WITH_KEY)


def common_of_test(test: str) -> str:
    """Return the `FileName.common` of a `FileName.suffix`."""
    return test if test.endswith(_WITHOUT_KEY) else f"{test}{_WITH_KEY}"


def common_of(label: str, run: str) -> str | None:
    """Return the `FileName.common` of a row's test in the column of `run`; None if it is none."""
    test = parse_label(label)
    key = _WITHOUT_KEY if run.endswith(_WITHOUT_KEY) else _WITH_KEY
    return None if test is None else f"{test}{key}"


def order_of_runs(run: str) -> tuple[bool, str, VersionOrder, str]:
    """Return a key for sorting runs: by DBMS and version, then by name.

    Runs whose names do not say their version come last.
    """
    parsed = parse_run(run)
    known = parsed is not None and parsed.version is not None
    dbms = parsed.dbms if parsed else ""
    return not known, dbms, version_order((parsed and parsed.version) or ""), run


def by_version(runs: Iterable[str]) -> list[str]:
    """Return each run once, the oldest version of the first run's DBMS first.

    DBMS, and the runs of one version, stay in the order in which they are given. Runs whose names
    do not say their version come last.
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
    """Parse the name; return None for a directory that is no run's, or of an unknown DBMS."""
    head, _, config = _without_ends(name).partition(".")
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


def _without_ends(name: str) -> str:
    start = match.end() if (match := _PREFIX.match(name)) else 0
    end = len(name) - len(".pk1")
    return name[start:end] if _KEY.fullmatch(name[end:]) else name[start:]


def _run(dbms: str, version: str | None, build: str | None, config: str) -> RunName:
    compiled, revision = _parse_build(build or "")
    flagged = _FLAG.fullmatch(config)
    return RunName(
        dbms,
        "-".join([version, *revision]) if version else None,
        compiled if version else build,
        (flagged["config"] if flagged else config) or None,
        flagged["flag"] if flagged else None,
    )


def _parse_build(build: str) -> tuple[str | None, list[str]]:
    """Split a build into its flags and its source: `rel_end_241023_ba97` -> rel_end, 20241023, ...

    Numbers right behind a date or a hash belong to it. What stands behind them, as the names of
    patches do, is of the first part.
    """
    match = _REVISION.search(build)
    if match is None:
        return build or None, []
    date = f"20{match['short']}" if match["short"] else match["long"]
    revision = [date, match["dated"] or match["hash"], *match["numbers"].split("_")]
    compiled = [build[: match.start()], build[match.end() :].lstrip("_")]
    return "_".join(filter(None, compiled)) or None, [part for part in revision if part]


def parse_version(letters: str, digits: str) -> str | None:
    """Return the version: `pg`, `1110` -> 11.10; `my`, `8044` -> 8.0.44; `ma`, `110803` -> 11.8.3.

    None where the digits do not say.
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
