"""What the names of archived files and directories say.

sb.<kind>.<test>[.pre|.warm|.warmpre].range<R>.pk<0|1>[.dop<N>][.gz]
x.<dbms><version>_<build>.<config>.pk<0|1>
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FILE = re.compile(
    r"sb\.(?P<kind>r\.\w+|perf\.(?:hw|last)|pgs\.\w+|prepare\.\w+|\w+)"
    r"\.(?P<test>[a-z][a-z-]*)(?:\.(?P<phase>pre|warm|warmpre))?"
    r"\.range(?P<range>\d+)\.pk(?P<pk>[01])(?:\.dop(?P<dop>\d+)|\.(?P<iteration>\d+))?"
    r"(?:\.(?P<extraction>raw|sorted))?(?:\.gz)?"
)
_LABEL = re.compile(r"(?P<test>[a-z][a-z-]*(?:\.(?:pre|warm|warmpre))?)_range=(?P<range>\d+)")
_RUN = re.compile(
    r"(?:x\.)?(?P<letters>[a-z]+)(?P<digits>\d+)(?:_(?P<build>[A-Za-z0-9_]+?))?"
    r"(?:\.(?P<config>[A-Za-z0-9_]+))?(?:\.(?P<flag>[a-z]+))?(?:\.pk[01])?"
)
_DBMS = {
    "pg": "postgres",
    "my": "mysql",
    "ma": "mariadb",
    "rx": "myrocks",
    "fbmy": "myrocks",
    "mo": "mongodb",
}
_DBMS_OF_TWO_DIGIT_PARTS = frozenset({"ma"})
"""Their versions are written with two digits for each part: 110803."""
_FIRST_POSTGRES_OF_TWO_PARTS = 10
_POSTGRES_OF_THREE_PARTS = 9


@dataclass(frozen=True)
class FileName:
    """What the name of a file of a run says."""

    kind: str
    """o, met, vm, io, ps, r.qps, perf.hw, prepare.met, ..."""
    test: str
    phase: str | None
    """pre, warm, warmpre."""
    range: int
    dop: int | None
    """Client threads; None where the kind has no such suffix."""
    iteration: int | None
    """Of `perf.hw`."""
    extraction: str | None
    """Of `perf.hw`: raw, sorted."""
    pk: int = 1
    """Whether the tables have a primary key."""

    @property
    def suffix(self) -> str:
        """The test: `hot-points.pre.range100`."""
        phase = f".{self.phase}" if self.phase else ""
        return f"{self.test}{phase}.range{self.range}"

    @property
    def common(self) -> str:
        """The test as the names of files of any kind have it: `hot-points.pre.range100.pk1`."""
        return f"{self.suffix}.pk{self.pk}"

    @property
    def label(self) -> str:
        """The test as the published tables have it: `scan.warm_range=100`."""
        phase = f".{self.phase}" if self.phase else ""
        return f"{self.test}{phase}_range={self.range}"


@dataclass(frozen=True)
class RunName:
    """What the name of a run directory says of its contender."""

    dbms: str
    version: str
    build: str | None
    """How it was compiled: `o2nofp`."""
    config: str | None
    flag: str | None = None
    """What else is special of it: `badcnf`."""

    @property
    def title(self) -> str:
        """The contender as Slowdust writes one: `postgres@11.10:x10a_c32r128`."""
        config = f":{self.config}" if self.config else ""
        additions = "".join(f"+{addition}" for addition in (self.build, self.flag) if addition)
        return f"{self.dbms}@{self.version}{config}{additions}"


def parse_file(name: str) -> FileName | None:
    """What the name says; None for a file that is none of a run's."""
    found = _FILE.fullmatch(name)
    if found is None:
        return None
    return FileName(
        kind=found["kind"],
        test=found["test"],
        phase=found["phase"],
        range=int(found["range"]),
        dop=int(found["dop"]) if found["dop"] else None,
        iteration=int(found["iteration"]) if found["iteration"] else None,
        extraction=found["extraction"],
        pk=int(found["pk"]),
    )


def parse_label(label: str) -> str | None:
    """The test of a row of a published table, as `FileName.suffix` has it; None if it is none."""
    found = _LABEL.fullmatch(label)
    return None if found is None else f"{found['test']}.range{found['range']}"


def version_key(run: str) -> tuple[str, tuple[int, ...], str]:
    """The order of runs: by DBMS and version, then by name."""
    said = parse_run(run)
    if said is None:
        return "", (), run
    return said.dbms, tuple(int(part) for part in said.version.split(".")), run


def parse_run(name: str) -> RunName | None:
    """What the name says; None for a directory that is no run's, or of an unknown DBMS."""
    found = _RUN.fullmatch(name)
    if found is None or found["letters"] not in _DBMS:
        return None
    version = parse_version(found["letters"], found["digits"])
    if version is None:
        return None
    return RunName(_DBMS[found["letters"]], version, found["build"], found["config"], found["flag"])


def parse_version(letters: str, digits: str) -> str | None:
    """`pg`, `1110` -> 11.10; `my`, `8044` -> 8.0.44; `ma`, `110803` -> 11.8.3.

    None where the digits are too few to say.
    """
    if letters in _DBMS_OF_TWO_DIGIT_PARTS:
        if len(digits) < 5:
            return None
        parts = [digits[:-4], digits[-4:-2], digits[-2:]]
        return ".".join(str(int(part)) for part in parts)
    if letters == "pg":
        return _postgres_version(digits)
    if len(digits) < 2:
        return None
    patch = digits[2:]
    return ".".join([digits[0], digits[1], *([str(int(patch))] if patch else [])])


def _postgres_version(digits: str) -> str | None:
    if digits[0] == str(_POSTGRES_OF_THREE_PARTS) and len(digits) > 2:
        return f"{digits[0]}.{digits[1]}.{int(digits[2:])}"
    major, minor = digits[:2], digits[2:]
    if len(major) < 2 or int(major) < _FIRST_POSTGRES_OF_TWO_PARTS:
        return None
    return f"{int(major)}.{int(minor)}" if minor else major
