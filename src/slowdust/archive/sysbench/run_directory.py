"""Run directories of sysbench, test by test: the content of their files, raw or summarised.

Nothing that is broken stops the reading: each such file is one `Problem`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from slowdust.archive.problems import TWICE, Problem
from slowdust.archive.reading import Unusable, size_of
from slowdust.archive.sysbench.reading import (
    INCOMPLETE,
    PREPARE,
    Content,
    Cpu,
    Extraction,
    LastIteration,
    PrintedRates,
    Runs,
    busiest_device,
    is_read,
    read_all,
    reads,
)
from slowdust.benchmarks.archived import LOAD
from slowdust.formats.sysbench.iostat import Iostat
from slowdust.formats.sysbench.met import Met
from slowdust.formats.sysbench.names import FileName, parse_file, why_no_file
from slowdust.formats.sysbench.output import LoadOutput, Output
from slowdust.formats.sysbench.ps import Peaks
from slowdust.formats.text import readable
from slowdust.store.manifest import Fate
from slowdust.wording import counted, listing

_CUT_OFF = "sb.perf.hw cut off by the end of its test"
_STORAGE = re.compile(r"sb\.(?:prepare\.)?io\.")
_TELLING = 3
"""Number of files of iostat that are enough to tell which device was used."""
_BY_PRODUCT = re.compile(r"sb\.(?P<kind>(?:r|perf|pgs|prepare)\.\w+|[a-z]\w*)\b[\w.+-]*", re.ASCII)
_OF_A_TEST = ".range"
_WHOLE = 0.9
"""The part of a test's seconds that has samples: they begin before it and end with it or later."""
_ENOUGH = 0.5
"""The part below which means are of a part of the test that may differ from the rest."""
_CONFIGURATION = re.compile(r"(?:conf\.diff|.*\.(?:cnf|conf))(?:\.gz)?")


@dataclass(frozen=True)
class PrintedRate:
    """The rate of a test at one number of clients, and the text behind it in its file."""

    number: str
    text: str


@dataclass
class ArchivedTest:
    """One test of a run; values that no file has are None."""

    file: FileName
    output: Output | None = None
    load: LoadOutput | None = None
    storage: Iostat | None = None
    cpu: Cpu | None = None
    met: Met | None = None
    rates: dict[str, PrintedRate] = field(default_factory=dict)
    """Kind of file (`r.qps`, `r.rt95`, ...) -> its number."""
    peaks: Peaks | None = None
    counters: dict[int, Extraction] = field(default_factory=dict)
    """Iteration -> its counters."""
    last_iteration: int | None = None
    """The last iteration of the counters that was completed."""
    extracted: dict[tuple[int, str], Extraction] = field(default_factory=dict)
    """Iteration and form (`raw`, `sorted`) -> its counters."""
    names: dict[str, str] = field(default_factory=dict)
    """Kind of file, or `extraction_kind` -> its name."""

    @property
    def is_load(self) -> bool:
        """Whether it is the load of the tables, before the tests."""
        return self.load is not None or self.file.kind.startswith(PREPARE)

    @property
    def dop(self) -> int | None:
        """Client threads, as in the names of files."""
        return self.file.dop


TestKey = tuple[str, int | None]
"""`FileName.common`, or `LOAD`; and threads."""


@dataclass
class RunDirectory:
    """One contender's run."""

    path: Path
    tests: dict[TestKey, ArchivedTest] = field(default_factory=dict)
    device: str | None = None
    """The part of a device's name that selects iostat's lines."""
    used: int = 0
    """Number of files that something was read from."""
    checked: Counter[str] = field(default_factory=Counter)
    """Number of files that were only compared with their sources, by kind."""
    by_products: Counter[str] = field(default_factory=Counter)
    """Number of files that are known and of no use here, by kind."""
    problems: list[Problem] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)
    """Sentences on files that are used, and their names."""

    @property
    def name(self) -> str:
        """The directory's name."""
        return readable(self.path.name)

    @property
    def cpus(self) -> int | None:
        """CPUs of the host, as most of its tests have them."""
        return _most_common(test.output.cpus for test in self.tests.values() if test.output)

    @property
    def dop(self) -> int | None:
        """Client threads of most of its tests."""
        return _most_common(test.dop for test in self.tests.values())

    @property
    def tables(self) -> int | None:
        """Number of tables, as most of its tests and its load have it."""
        outputs = [output for test in self.tests.values() for output in (test.output, test.load)]
        return _most_common(output.tables for output in outputs if output is not None)

    @property
    def probes(self) -> list[Iostat]:
        """Samples of storage of the tests that have them."""
        return [test.storage for test in self.tests.values() if test.storage]


def _most_common(counts: Iterable[int | None]) -> int | None:
    known = Counter(count for count in counts if count)
    return known.most_common(1)[0][0] if known else None


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
                run.problems.append(Problem(run.path / name, why_no_file(name)))
    requests = [(f"{run.path}{os.sep}{name}", file, run.device) for run, name, file in places]
    answers = list(zip(places, read_all(requests), strict=True))
    # Names without threads belong to the tests that the others have, as do files of several runs.
    answers.sort(key=lambda answer: (answer[0][2].dop is None, _number_of_runs(answer[1])))
    for (run, name, file), content in answers:
        if isinstance(content, Unusable):
            _set_aside(run, name, file, content)
        elif isinstance(content, Runs):
            _give_runs(run, name, file, content.outputs)
        elif wrong := _give(_tests_of(run, file), name, file, content):
            run.problems.append(Problem(run.path / name, wrong))
        else:
            run.used += 1
    for run in runs:
        _move_to_actual_threads(run)
        _use_extractions(run)
        _leave_out_incomplete(run)
        _leave_out_cut(run)
    return runs


def _number_of_runs(content: Content | Unusable) -> int:
    return len(content.outputs) if isinstance(content, Runs) else 1


def _give_runs(run: RunDirectory, name: str, file: FileName, outputs: Sequence[Output]) -> None:
    """Give each run in a file to the test at its number of threads."""
    several = len(outputs) > 1
    given = 0
    for output in outputs:
        dop = output.threads if several or file.dop is None else file.dop
        of_run = replace(file, dop=dop)
        if wrong := _give(_tests_of(run, of_run), name, of_run, output):
            at = f"the run at {counted(output.threads or 0, 'thread')}: " if several else ""
            run.problems.append(Problem(run.path / name, at + wrong))
            continue
        given += 1
        if output.torn:
            run.problems.append(Problem(run.path / name, "truncated after its rate", Fate.PARTLY))
    run.used += given > 0
    if several and given:
        levels = listing([f"{output.threads}" for output in outputs])
        remark = f"{len(outputs)} runs in one file, each a result at its threads, {levels}"
        run.remarks.append((remark, name))


def _move_to_actual_threads(run: RunDirectory) -> None:
    """Move the tests whose output has another number of threads than their names.

    Sysbench prints the number that it ran with. Where there is such a test already, that counts.
    """
    for key, test in list(run.tests.items()):
        threads = test.output.threads if test.output is not None else None
        if not threads or test.dop in (None, threads):
            continue
        name, actual = test.names["o"], (test.file.common, threads)
        del run.tests[key]
        ran = f"sysbench ran with {counted(threads, 'thread')}, and not {test.dop} as in the name"
        if actual in run.tests:
            run.problems.append(Problem(run.path / name, f"{ran}: another file has that test"))
            run.used -= 1
            continue
        test.file = replace(test.file, dop=threads)
        run.tests[actual] = test
        run.remarks.append((f"{ran}: taken to be at {counted(threads, 'client')}", name))


def _use_extractions(run: RunDirectory) -> None:
    """Use the counters whose own file is not there; others will be compared with it."""
    for test in run.tests.values():
        counted_before = set(test.counters)
        for (iteration, form), values in sorted(test.extracted.items()):
            if iteration in counted_before:
                run.checked[f"sb.perf.hw.{form}"] += 1
                run.used -= 1
            else:
                test.counters.setdefault(iteration, values)


def _leave_out_cut(run: RunDirectory) -> None:
    """Leave out samples of less than half of a test; note those that end later."""
    for test in run.tests.values():
        prefix = PREPARE if test.is_load else ""
        if test.peaks is not None and not test.peaks.whole:
            path = run.path / test.names[f"{prefix}ps"]
            run.problems.append(Problem(path, "cut in the middle of a line", Fate.PARTLY))
        if test.cpu is not None and (impossible := test.cpu.clean.impossible):
            path = run.path / test.names[f"{prefix}vm"]
            reason = f"{counted(impossible, 'sample')} with impossible numbers, which are left out"
            run.problems.append(Problem(path, reason, Fate.PARTLY))
        seconds = _length(test)
        if not seconds:
            continue
        sampled = {"vm": test.cpu.clean if test.cpu else None, "io": test.storage}
        for kind, sums in sampled.items():
            if sums is None or sums.samples >= _WHOLE * seconds:  # one a second
                continue
            problem = f"cut: {counted(sums.samples, 'sample')} of a test of {seconds:.0f} s"
            path = run.path / test.names[f"{prefix}{kind}"]
            if sums.samples >= _ENOUGH * seconds:
                run.problems.append(Problem(path, problem, Fate.PARTLY))
                continue
            run.problems.append(Problem(path, problem))
            run.used -= 1
            if kind == "vm":
                test.cpu = None
            else:
                test.storage = None


def _length(test: ArchivedTest) -> float | None:
    """Return the seconds of a test; by the published number of samples where nothing else tells."""
    if test.load is not None:
        return test.load.seconds
    if test.output is not None:
        return test.output.elapsed
    return test.met.seconds if test.met is not None else None


def _leave_out_incomplete(run: RunDirectory) -> None:
    """Leave out the counters of an iteration that was not completed, as another file has it."""
    for test in run.tests.values():
        last = test.last_iteration
        for iteration in list(test.counters):
            if last is None or iteration <= last:
                continue
            del test.counters[iteration]
            run.by_products[_CUT_OFF] += 1
            run.used -= 1


def _busiest_device(path: Path, names: Sequence[str]) -> str | None:
    """Choose by the largest files of iostat: where there is traffic, numbers are long."""
    files = [f"{path}{os.sep}{name}" for name in names if _STORAGE.match(name)]
    files.sort(key=size_of, reverse=True)
    return busiest_device(files[:_TELLING])


def _set_aside(run: RunDirectory, name: str, file: FileName, unusable: Unusable) -> None:
    if unusable.reason == INCOMPLETE and file.iteration is not None and file.iteration > 1:
        run.by_products[_CUT_OFF] += 1
    else:
        run.problems.append(Problem(run.path / name, unusable.reason))


def _by_product(name: str) -> str | None:
    """Return the kind of a file that is known and not read; None for a foreign one.

    Foreign are those, too, that would be read if their names were right.
    """
    if match := _BY_PRODUCT.fullmatch(name):
        if is_read(match["kind"]) and _OF_A_TEST in name and parse_file(name) is None:
            return None
        unusual = is_read(match["kind"]) and parse_file(name) is None
        return name if unusual else f"sb.{match['kind']}"
    return "configuration" if _CONFIGURATION.fullmatch(name) else None


def _tests_of(run: RunDirectory, file: FileName) -> list[ArchivedTest]:
    """Return the tests of a file.

    Kinds without threads in their names are of those that others have: by their number, if
    there are several.
    """
    common = LOAD if file.kind.startswith(PREPARE) else file.common
    if file.dop is None and common != LOAD:
        levels = {dop: test for (other, dop), test in run.tests.items() if other == common and dop}
        if levels:
            return [levels[dop] for dop in sorted(levels)]
    return [run.tests.setdefault((common, file.dop), ArchivedTest(file))]


def _give(
    tests: Sequence[ArchivedTest], name: str, file: FileName, content: Content | Output
) -> str | None:
    """Add the content of a file to each of its tests; else return what is wrong, in words."""
    if isinstance(content, PrintedRates):
        if len(content.numbers) != len(tests):
            rates, levels = counted(len(content.numbers), "rate"), counted(len(tests), "number")
            return f"{rates} for {levels} of clients: which is of which is not known"
        if wrong := _twice(tests[0], name, file):
            return wrong
        for test, number in zip(tests, content.numbers, strict=True):
            test.rates[file.kind] = PrintedRate(number, content.text)
            test.names[file.kind] = name
        return None
    if len(tests) > 1:
        return f"of which of {len(tests)} numbers of clients it is, is not known"
    if wrong := _twice(tests[0], name, file):
        return wrong
    _add(tests[0], file, content)
    tests[0].names[_kind(file)] = name
    return None


def _twice(test: ArchivedTest, name: str, file: FileName) -> str | None:
    """Return in words that the test has that kind; plain files come before compressed ones."""
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
    """Return the key of a file of counters in `ArchivedTest.names`."""
    return f"perf.hw.{iteration}.{form}"


_FIELDS: dict[type, str] = {
    Output: "output",
    LoadOutput: "load",
    Iostat: "storage",
    Cpu: "cpu",
    Met: "met",
    Peaks: "peaks",
}
"""Fields of `ArchivedTest` by the type of their content."""


def _add(test: ArchivedTest, file: FileName, content: Content | Output) -> None:
    if isinstance(content, LastIteration):
        test.last_iteration = content.number
    elif not isinstance(content, Mapping):
        setattr(test, _FIELDS[type(content)], content)
    elif file.extraction is not None:
        test.extracted[file.iteration or 0, file.extraction] = content
    else:
        test.counters[file.iteration or 0] = content
