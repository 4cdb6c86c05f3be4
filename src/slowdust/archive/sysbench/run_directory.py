"""Run directories of sysbench, test by test: everything their files tell, raw or summarised.

Nothing that is broken stops the reading: each such file is one `Problem`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.problems import TWICE, Problem
from slowdust.archive.sysbench.reading import (
    INCOMPLETE,
    PREPARE,
    Cpu,
    Extraction,
    Found,
    LastIteration,
    PrintedRates,
    Wanting,
    busiest_device,
    is_read,
    read_all,
    reads,
)
from slowdust.archive.two_processes import size_of
from slowdust.benchmarks.archived import LOAD
from slowdust.formats.sysbench.iostat import Iostat
from slowdust.formats.sysbench.met import Met
from slowdust.formats.sysbench.names import FileName, parse_file
from slowdust.formats.sysbench.output import LoadOutput, Output
from slowdust.formats.sysbench.processes import Peaks
from slowdust.formats.text import readable
from slowdust.store.manifest import Fate
from slowdust.wording import counted

FOREIGN = "not a file of a run of sysbench"
_CUT_OFF = "sb.perf.hw cut off by the end of its test"
_STORAGE = re.compile(r"sb\.(?:prepare\.)?io\.")
_TELLING = 3
"""Files of iostat that are enough to tell which device was used."""
_BY_PRODUCT = re.compile(r"sb\.(?P<kind>(?:r|perf|pgs|prepare)\.\w+|[a-z]\w*)\b[\w.+-]*", re.ASCII)
_OF_A_TEST = ".range"
_WHOLE = 0.9
"""Of a test's seconds: sampling begins before the client and ends with it or later."""
_ENOUGH = 0.5
"""Below it, means are of a part of the test that may be unlike the rest."""
_CONFIGURATION = re.compile(r"(?:conf\.diff|.*\.(?:cnf|conf))(?:\.gz)?")


@dataclass(frozen=True)
class PrintedRate:
    """Of one test at one number of clients: a number, and the text behind it in its file."""

    number: str
    text: str


@dataclass
class ArchivedTest:
    """One test of a run; what its files do not tell is None."""

    file: FileName
    output: Output | None = None
    load: LoadOutput | None = None
    storage: Iostat | None = None
    cpu: Cpu | None = None
    met: Met | None = None
    rates: dict[str, PrintedRate] = field(default_factory=dict)
    """By kind of file: `r.qps`, `r.rt95`, ..."""
    peaks: Peaks | None = None
    counters: dict[int, Extraction] = field(default_factory=dict)
    """By iteration."""
    last_iteration: int | None = None
    """Of the counters: the last one that was completed."""
    extracted: dict[tuple[int, str], Extraction] = field(default_factory=dict)
    """By iteration and form (`raw`, `sorted`)."""
    names: dict[str, str] = field(default_factory=dict)
    """Of its files, by kind, or by what `extraction_kind` calls it."""

    @property
    def is_load(self) -> bool:
        """Of the tables, before the tests."""
        return self.load is not None or self.file.kind.startswith(PREPARE)

    @property
    def dop(self) -> int | None:
        """Client threads, as the names of files say."""
        return self.file.dop


TestKey = tuple[str, int | None]
"""`FileName.common`, or `LOAD`; and threads."""


@dataclass
class RunDirectory:
    """One contender's run."""

    path: Path
    tests: dict[TestKey, ArchivedTest] = field(default_factory=dict)
    device: str | None = None
    """By which iostat's lines were chosen."""
    used: int = 0
    """Files that something was read from."""
    checked: Counter[str] = field(default_factory=Counter)
    """Files that were only compared with what they are made of, by kind."""
    by_products: Counter[str] = field(default_factory=Counter)
    """Files that are known and of no use here, by kind."""
    problems: list[Problem] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Of the directory."""
        return readable(self.path.name)

    @property
    def cpus(self) -> int | None:
        """Of the host, as most of its tests say."""
        told = Counter(
            test.output.cpus for test in self.tests.values() if test.output and test.output.cpus
        )
        return told.most_common(1)[0][0] if told else None

    @property
    def dop(self) -> int | None:
        """Client threads of most of its tests."""
        told = Counter(test.dop for test in self.tests.values() if test.dop)
        return told.most_common(1)[0][0] if told else None

    @property
    def tables(self) -> int | None:
        """As most of its tests say, and its load."""
        told = Counter(
            said.tables
            for test in self.tests.values()
            for said in (test.output, test.load)
            if said is not None and said.tables
        )
        return told.most_common(1)[0][0] if told else None

    @property
    def probes(self) -> list[Iostat]:
        """Of the tests that have them."""
        return [test.storage for test in self.tests.values() if test.storage]


def read_runs(directories: Mapping[Path, Sequence[str]], device: str | None) -> list[RunDirectory]:
    """Read the files of run directories, given by their names.

    `device` is the part of a name by which iostat's lines are chosen; without one it is the
    device with the most traffic, an array before its members.
    """
    runs = [RunDirectory(path) for path in directories]
    places: list[tuple[RunDirectory, str, FileName]] = []
    for run in runs:
        run.device = device or _busiest_device(run.path, directories[run.path])
        for name in sorted(directories[run.path]):
            file = parse_file(name)
            if file is not None and reads(file):
                places.append((run, name, file))
            elif kind := _by_product(name):
                run.by_products[kind] += 1
            else:
                run.problems.append(Problem(run.path / name, FOREIGN))
    requests = [(f"{run.path}{os.sep}{name}", file, run.device) for run, name, file in places]
    answers = list(zip(places, read_all(requests), strict=True))
    # Names without threads belong to the tests that the others have.
    answers.sort(key=lambda answer: answer[0][2].dop is None)
    for (run, name, file), found in answers:
        if isinstance(found, Wanting):
            _set_aside(run, name, file, found)
        elif wrong := _give(_tests_of(run, file), name, file, found):
            run.problems.append(Problem(run.path / name, wrong))
        else:
            run.used += 1
            if isinstance(found, Output) and found.torn:
                run.problems.append(Problem(run.path / name, "torn behind its rate", Fate.PARTLY))
    for run in runs:
        _use_extractions(run)
        _leave_out_incomplete(run)
        _leave_out_cut(run)
    return runs


def _use_extractions(run: RunDirectory) -> None:
    """Counters whose own file is not there; others will be compared with it."""
    for test in run.tests.values():
        counted_before = set(test.counters)
        for (iteration, form), values in sorted(test.extracted.items()):
            if iteration in counted_before:
                run.checked[f"sb.perf.hw.{form}"] += 1
                run.used -= 1
            else:
                test.counters.setdefault(iteration, values)


def _leave_out_cut(run: RunDirectory) -> None:
    """Samples of less than half of a test; of those that end later it is said."""
    for test in run.tests.values():
        prefix = PREPARE if test.is_load else ""
        if test.peaks is not None and not test.peaks.whole:
            path = run.path / test.names[f"{prefix}ps"]
            run.problems.append(Problem(path, "cut in the middle of a line", Fate.PARTLY))
        seconds = _length(test)
        if not seconds:
            continue
        for kind in ("vm", "io"):
            samples = _samples(test, kind)
            if samples is None or samples >= _WHOLE * seconds:
                continue
            told = f"cut: {counted(samples, 'sample')} of a test of {seconds:.0f} s"
            path = run.path / test.names[f"{prefix}{kind}"]
            if samples >= _ENOUGH * seconds:
                run.problems.append(Problem(path, told, Fate.PARTLY))
                continue
            run.problems.append(Problem(path, told))
            run.used -= 1
            if kind == "vm":
                test.cpu = None
            else:
                test.storage = None


def _length(test: ArchivedTest) -> float | None:
    """Seconds; by the published number of samples where nothing else tells."""
    if test.load is not None:
        return test.load.seconds
    if test.output is not None:
        return test.output.elapsed
    return test.met.seconds if test.met is not None else None


def _samples(test: ArchivedTest, kind: str) -> int | None:
    """One a second."""
    if kind == "vm":
        return test.cpu.clean.samples if test.cpu else None
    return test.storage.samples if test.storage else None


def _leave_out_incomplete(run: RunDirectory) -> None:
    """Counters of an iteration that did not come to its end, as another file says."""
    for test in run.tests.values():
        last = test.last_iteration
        for iteration in [one for one in test.counters if last is not None and one > last]:
            del test.counters[iteration]
            run.by_products[_CUT_OFF] += 1
            run.used -= 1


def _busiest_device(path: Path, names: Sequence[str]) -> str | None:
    """As the largest files of iostat tell: where there is traffic, numbers are long."""
    files = [f"{path}{os.sep}{name}" for name in names if _STORAGE.match(name)]
    files.sort(key=size_of, reverse=True)
    return busiest_device(files[:_TELLING])


def _set_aside(run: RunDirectory, name: str, file: FileName, wanting: Wanting) -> None:
    if wanting.reason == INCOMPLETE and file.iteration is not None and file.iteration > 1:
        run.by_products[_CUT_OFF] += 1
    else:
        run.problems.append(Problem(run.path / name, wanting.reason))


def _by_product(name: str) -> str | None:
    """The kind of a file that is known and not read; None for a foreign one.

    Foreign are those, too, that would be read if their names were right.
    """
    if found := _BY_PRODUCT.fullmatch(name):
        if is_read(found["kind"]) and _OF_A_TEST in name and parse_file(name) is None:
            return None
        return f"sb.{found['kind']}" if parse_file(name) else name
    return "configuration" if _CONFIGURATION.fullmatch(name) else None


def _tests_of(run: RunDirectory, file: FileName) -> list[ArchivedTest]:
    """The test of a file.

    Kinds without threads in their names are of those that others have: by their number, if
    there are several.
    """
    common = LOAD if file.kind.startswith(PREPARE) else file.common
    if file.dop is None and common != LOAD:
        levels = {dop: test for (other, dop), test in run.tests.items() if other == common and dop}
        if levels:
            return [levels[dop] for dop in sorted(levels)]
    return [run.tests.setdefault((common, file.dop), ArchivedTest(file))]


def _give(tests: Sequence[ArchivedTest], name: str, file: FileName, found: Found) -> str | None:
    """Add what a file tells to its test, or to each of its tests; else what is wrong, in words."""
    if isinstance(found, PrintedRates):
        if len(found.numbers) != len(tests):
            rates, levels = counted(len(found.numbers), "rate"), counted(len(tests), "number")
            return f"{rates} for {levels} of clients: which is of which is not known"
        if wrong := _twice(tests[0], name, file):
            return wrong
        for test, number in zip(tests, found.numbers, strict=True):
            test.rates[file.kind] = PrintedRate(number, found.text)
            test.names[file.kind] = name
        return None
    if len(tests) > 1:
        return f"of which of {len(tests)} numbers of clients it is, is not known"
    if wrong := _twice(tests[0], name, file):
        return wrong
    _add(tests[0], file, found)
    tests[0].names[_kind(file)] = name
    return None


def _twice(test: ArchivedTest, name: str, file: FileName) -> str | None:
    """Whether the test has that kind already, in words: plain files come before compressed ones."""
    there = test.names.get(_kind(file))
    if there is None:
        return None
    if name == f"{there}.gz":
        return TWICE
    return f"twice: {there} is used"


def _kind(file: FileName) -> str:
    if file.extraction is not None:
        return extraction_kind(file.iteration or 0, file.extraction)
    return file.kind if file.iteration is None else f"{file.kind}.{file.iteration}"


def extraction_kind(iteration: int, form: str) -> str:
    """What a file of counters is called among `ArchivedTest.names`."""
    return f"perf.hw.{iteration}.{form}"


def _add(test: ArchivedTest, file: FileName, found: Found) -> None:
    match found:
        case Output():
            test.output = found
        case LoadOutput():
            test.load = found
        case Iostat():
            test.storage = found
        case Cpu():
            test.cpu = found
        case Met():
            test.met = found
        case Peaks():
            test.peaks = found
        case LastIteration():
            test.last_iteration = found.number
        case Mapping() if file.extraction is not None:
            test.extracted[file.iteration or 0, file.extraction] = found
        case Mapping():
            test.counters[file.iteration or 0] = found
