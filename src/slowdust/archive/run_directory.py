"""One run directory of sysbench, test by test: everything its files tell, raw or summarised.

Nothing that is broken stops the reading: each such file is one `Problem`.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive import iostat, met, perf_stat, processes, sysbench, vmstat
from slowdust.archive.iostat import Iostat
from slowdust.archive.met import Met
from slowdust.archive.names import FileName, parse_file
from slowdust.archive.processes import Peaks
from slowdust.archive.sysbench import LoadOutput, Output
from slowdust.archive.vmstat import Vmstat

_LOAD = "prepare."
LOAD = "prepare"


@dataclass(frozen=True)
class Problem:
    """A file that could not be used."""

    path: Path
    reason: str


@dataclass
class ArchivedTest:
    """One test of a run; what its files do not tell is None."""

    file: FileName
    output: Output | None = None
    load: LoadOutput | None = None
    storage: Iostat | None = None
    cpu_published: Vmstat | None = None
    cpu_clean: Vmstat | None = None
    met: Met | None = None
    rate: str | None = None
    """As sb.r.qps has it: rounded to an integer."""
    peaks: Peaks | None = None
    counters: dict[int, dict[str, str]] = field(default_factory=dict)
    """By iteration."""


@dataclass
class RunDirectory:
    """One contender's run."""

    path: Path
    tests: dict[tuple[str, int | None], ArchivedTest]
    """By suffix and threads; the load is under `LOAD`."""
    used: int
    """Files that something was read from."""
    others: list[str]
    """Names of files that are by-products or no part of a run."""
    problems: list[Problem]


def read_run(path: Path, device: str | None) -> RunDirectory:
    """Read a run; `device` is the part of a name by which iostat's lines are chosen.

    Without one it is the device with the most traffic, an array before its members.
    """
    run = RunDirectory(path, {}, 0, [], [])
    for name in sorted(entry.name for entry in os.scandir(path) if entry.is_file()):
        file = parse_file(name)
        if file is None or file.extraction or file.kind.removeprefix(_LOAD) not in _TAKERS:
            run.others.append(name)
            continue
        try:
            lines = _lines(path / name)
        except (OSError, EOFError, zlib.error) as error:
            run.problems.append(Problem(path / name, f"cannot be read: {error}"))
            continue
        _take(run, path / name, file, lines, device)
    return run


def _take(
    run: RunDirectory, path: Path, file: FileName, lines: list[str], device: str | None
) -> None:
    """Add what the file tells to its test."""
    if not lines:
        run.problems.append(Problem(path, "empty"))
        return
    wanting = _TAKERS[file.kind.removeprefix(_LOAD)](_test_of(run, file), file, lines, device)
    if wanting is None:
        run.used += 1
    else:
        run.problems.append(Problem(path, wanting))


def _test_of(run: RunDirectory, file: FileName) -> ArchivedTest:
    """The test of the file. Kinds without threads in their names belong to the test that has."""
    suffix = LOAD if file.kind.startswith(_LOAD) else file.suffix
    if file.dop is None and suffix != LOAD:
        for (other, dop), test in run.tests.items():
            if other == suffix and dop is not None:
                return test
    return run.tests.setdefault((suffix, file.dop), ArchivedTest(file))


def _take_output(
    test: ArchivedTest, file: FileName, lines: list[str], device: str | None
) -> str | None:
    if file.kind.startswith(_LOAD):
        test.load = sysbench.read_load(lines)
        return None if test.load else "the load did not end"
    test.output = sysbench.read(lines)
    return None if test.output else "the test did not end"


def _take_storage(
    test: ArchivedTest, file: FileName, lines: list[str], device: str | None
) -> str | None:
    chosen = device or iostat.busiest(lines)
    test.storage = iostat.read(lines, chosen) if chosen else None
    return None if test.storage else f"no sample of a device called {device or '...'}"


def _take_cpu(
    test: ArchivedTest, file: FileName, lines: list[str], device: str | None
) -> str | None:
    test.cpu_published, test.cpu_clean = vmstat.read_published(lines), vmstat.read_clean(lines)
    return None if test.cpu_clean else "no sample"


def _take_met(
    test: ArchivedTest, file: FileName, lines: list[str], device: str | None
) -> str | None:
    test.met = met.read(lines)
    return None if test.met else "torn"


def _take_processes(
    test: ArchivedTest, file: FileName, lines: list[str], device: str | None
) -> str | None:
    test.peaks = processes.read(lines)
    return None if test.peaks else "no process"


def _take_rate(
    test: ArchivedTest, file: FileName, lines: list[str], device: str | None
) -> str | None:
    rates = lines[0].split("\t")[:-1]
    if len(rates) != 1:
        return f"{len(rates)} rates in a line: which of them is meant is not known"
    if not rates[0].isdecimal():
        return f"no rate: {lines[0][:40]!r}"
    test.rate = rates[0]
    return None


def _take_counters(
    test: ArchivedTest, file: FileName, lines: list[str], device: str | None
) -> str | None:
    if file.iteration is None:
        return "no iteration in its name"
    values = perf_stat.extract(lines)
    if perf_stat.LAST not in values:
        return "an iteration that was not completed"
    test.counters[file.iteration] = values
    return None


_TAKERS: dict[str, Callable[[ArchivedTest, FileName, list[str], str | None], str | None]] = {
    "o": _take_output,
    "io": _take_storage,
    "vm": _take_cpu,
    "met": _take_met,
    "ps": _take_processes,
    "r.qps": _take_rate,
    "perf.hw": _take_counters,
}
"""By kind of file: adds to the test; what is wanting, in words, where the file is of no use."""


def _lines(path: Path) -> list[str]:
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    return content.decode(errors="replace").splitlines()
