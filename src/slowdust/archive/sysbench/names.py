"""Names of files of sysbench: sb.<kind>.<test>[.<phase>].range<R>.pk<0|1>[.dop<N>][.gz]."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TEST = r"(?P<test>[a-z][a-z-]*|(?:oltp|select|bulk)(?:_[a-z]+)+)(?P<phase>\.(?:pre|warm|warmpre))?"
_FILE = re.compile(
    r"sb\.(?P<kind>r\.\w+|perf\.(?:hw|last)|pgs\.\w+|prepare\.\w+|\w+)"
    rf"\.{_TEST}\.range(?P<range>\d{{1,9}})\.pk(?P<pk>[01])"
    r"(?:\.dop(?P<dop>[1-9]\d{0,8})|\.(?P<iteration>\d{1,9}))?"
    r"(?:\.(?P<extraction>raw|sorted))?(?:\.gz)?"
)
_LABEL = re.compile(rf"{_TEST}_range=(?P<range>\d{{1,9}})")
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
"""Test of sysbench -> its name in Slowdust."""
_WITHOUT_CLIENTS = re.compile(r"sb\..+\.dop0+(?:\.gz)?")
_CLIENTS = re.compile(r"(?<![^._-])(?:dop(?P<dop>[1-9]\d*)|(?P<users>[1-9]\d*)u)(?![^._-])")
"""A number of clients in other names: `dop40`, or for whole sets `40u` (users).

Similar names have other meanings: `c48` is CPUs, `10m` rows in millions.
"""
LOAD_BLOCK = "sb.prepare.met."
"""Beginning of the name of a block of the load, in a table of hardware."""
SCAN = "scan"
"""The test whose published rate is not in queries/s."""
_WITH_KEY, _WITHOUT_KEY = ".pk1", ".pk0"


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
    """Client threads; None if the name has no such suffix."""
    iteration: int | None
    """Iteration of the counters in a file `perf.hw`."""
    extraction: str | None
    """Form of an extraction of `perf.hw`: raw, sorted."""
    pk: int = 1
    """1 if the tables have a primary key, else 0."""

    @property
    def _with_phase(self) -> str:
        return f"{self.test}.{self.phase}" if self.phase else self.test

    @property
    def suffix(self) -> str:
        """The test: `hot-points.pre.range100`; ends with `.pk0` if the tables lack a key."""
        return test_of(self.common)

    @property
    def common(self) -> str:
        """The test as in file names of any kind: `hot-points.pre.range100.pk1`."""
        return f"{self._with_phase}.range{self.range}.pk{self.pk}"

    @property
    def label(self) -> str:
        """The test as in published tables: `scan.warm_range=100`."""
        return f"{self._with_phase}_range={self.range}"


def parse_file(name: str) -> FileName | None:
    """Parse the name; return None for a file that is not a run's.

    Sysbench's own names of tests are replaced by Slowdust's: `read-write` for `oltp_read_write`.
    """
    match = _FILE.fullmatch(name)
    if match is None or (test := _our_test(match["test"])) is None:
        return None
    return FileName(
        kind=match["kind"],
        test=test,
        phase=match["phase"] and match["phase"][1:],
        range=int(match["range"]),
        dop=int(match["dop"]) if match["dop"] else None,
        iteration=int(match["iteration"]) if match["iteration"] else None,
        extraction=match["extraction"],
        pk=int(match["pk"]),
    )


def why_no_file(name: str) -> str:
    """Return in words why `parse_file` does not parse a name."""
    if _WITHOUT_CLIENTS.fullmatch(name):
        return "0 clients according to its name, so it is not a result"
    if name.startswith("sb."):
        return "its name is not sb.KIND.TEST.rangeN.pk1[.dopN] with a known kind and test"
    return "not a file of a sysbench run"


def parse_label(label: str) -> str | None:
    """Return the test of a row of a published table, without `.pk1` or `.pk0`, which rows lack.

    None if it is not a test.
    """
    match = _LABEL.fullmatch(label)
    if match is None or (test := _our_test(match["test"])) is None:
        return None
    return f"{test}{match['phase'] or ''}.range{match['range']}"


def _our_test(test: str) -> str | None:
    return _OWN_TESTS.get(test) if "_" in test else test


def clients_in_name(name: str) -> int | None:
    """Return the number of clients in the name of a directory or a table; None without one."""
    match = _CLIENTS.search(name)
    return int(match["dop"] or match["users"]) if match else None


def block_name(common: str, dop: int | None) -> str:
    return f"sb.met.{common}{f'.dop{dop}' if dop else ''}"


def test_of(common: str) -> str:
    return common.removesuffix(_WITH_KEY)


def common_of_test(test: str) -> str:
    return test if test.endswith(_WITHOUT_KEY) else f"{test}{_WITH_KEY}"


def common_of(label: str, run: str) -> str | None:
    """Return the `FileName.common` of a row's test in the column of `run`; None if not a test."""
    test = parse_label(label)
    key = _WITHOUT_KEY if run.endswith(_WITHOUT_KEY) else _WITH_KEY
    return None if test is None else f"{test}{key}"
