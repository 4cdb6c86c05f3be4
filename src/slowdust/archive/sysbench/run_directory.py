"""Read the files of sysbench's runs: the content of each, or the reason why it has none."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from slowdust.archive.classic import Row
from slowdust.archive.files import TWICE, Unusable, read_shared, size_of
from slowdust.archive.sysbench import counters
from slowdust.archive.sysbench.counters import Extraction
from slowdust.archive.sysbench.names import FileName, parse_file, why_no_file
from slowdust.archive.sysbench.run_files import (
    Cpu,
    Iostat,
    LoadOutput,
    Output,
    Peaks,
    busiest,
    read_iostat,
    read_load,
    read_met,
    read_output,
    read_ps,
    read_traffic,
    read_vmstat,
    why_unread,
)
from slowdust.benchmarks.sysbench import LOAD
from slowdust.exchange import Files
from slowdust.store.manifest import Fate
from slowdust.text import (
    DamagedError,
    ends_whole,
    is_number,
    lines_of,
    read_content,
    readable,
)
from slowdust.units import Second
from slowdust.wording import counted, listing

PREPARE = "prepare."
_READ = frozenset(
    {"o", "io", "vm", "met", "ps", "r.qps", "r.rtavg", "r.rtmax", "r.rt95", "perf.hw", "perf.last"}
)
_INCOMPLETE = "an iteration that was not completed"
"""The reason for files without a fault: the last iteration ends with its test."""
_CUT_OFF = "sb.perf.hw cut off by the end of its test"
_STORAGE = re.compile(r"sb\.(?:prepare\.)?io\.")
_TELLING = 3
"""Number of iostat files that are enough to find the device used."""
_BY_PRODUCT = re.compile(r"sb\.(?P<kind>(?:r|perf|pgs|prepare)\.\w+|[a-z]\w*)\b[\w.+-]*", re.ASCII)
_CONFIGURATION = re.compile(r"(?:conf\.diff|.*\.(?:cnf|conf))(?:\.gz)?")
_WHOLE = 0.9
"""Smallest share of a test's seconds with samples: sampling begins before the test and ends after
it."""
_ENOUGH = 0.5
"""Share below which means describe a part of the test that may differ from the rest."""


class PrintedRates(NamedTuple):
    """A file sb.r.*: a number for each number of clients, and the text after them."""

    numbers: Sequence[str]
    text: str


Content = list[Output] | LoadOutput | Iostat | Cpu | Row | Peaks | PrintedRates | int | Extraction
"""The content of a file; for sb.perf.last, the last complete iteration of the counters."""
Request = tuple[str, FileName, str | None]
"""Path of a file, its parsed name, and the part of a device's name that selects iostat's lines."""


def reads(file: FileName) -> bool:
    return _is_read(file.kind) and (file.extraction is None or file.kind == "perf.hw")


def _is_read(kind: str) -> bool:
    return kind.removeprefix(PREPARE) in _READ


def read_all(requests: Sequence[Request]) -> list[Content | Unusable]:
    return read_shared(requests, [path for path, _, _ in requests], _read_some)


def _read_some(requests: Sequence[Request]) -> list[Content | Unusable]:
    contents: list[Content | Unusable] = []
    for path, file, device in requests:
        try:
            contents.append(_parse(read_content(path), file, device))
        except DamagedError as error:
            contents.append(Unusable(str(error)))
        except (ValueError, ArithmeticError, LookupError) as error:
            contents.append(Unusable(f"damaged: {error}"))
    return contents


def _parse(content: bytes, file: FileName, device: str | None) -> Content | Unusable:
    match file.kind.removeprefix(PREPARE):
        case "o" if file.kind.startswith(PREPARE):
            return read_load(content) or Unusable("the load did not finish")
        case "o":
            outputs = read_output(content)
            threads = Counter(output.threads for output in outputs)
            if len(threads) < len(outputs) or (len(outputs) > 1 and None in threads):
                return Unusable(
                    f"{len(outputs)} runs in it with the same number of threads: which one counts "
                    "is unknown"
                )
            return outputs or Unusable(why_unread(content))
        case "io" if device is not None:
            nothing = Unusable(f"no samples of device {device}")
            return read_iostat(content, device) or nothing
        case "io":
            return Unusable("no samples of any device")
        case "vm":
            return read_vmstat(content) or Unusable("no samples")
        case "ps":
            return read_ps(content) or Unusable("no process")
        case "perf.hw" if file.iteration is None:
            return Unusable("no iteration in its name")
        case "perf.hw" if file.extraction is None:
            values = counters.extract(lines_of(content))
            return values if counters.LAST in values else Unusable(_INCOMPLETE)
        case "perf.last":
            return int(content)
    return _parse_lines(lines_of(content), file) if ends_whole(content) else Unusable("torn")


def _parse_lines(lines: Sequence[str], file: FileName) -> Content | Unusable:
    if file.kind.endswith("met"):
        return read_met(lines) or Unusable("torn")
    if file.kind == "perf.hw":
        return counters.read_raw(lines)
    *rates, text = lines[0].split("\t")
    if not rates or not all(map(is_number, rates)):
        return Unusable(f"not a rate: {lines[0][:40]!r}")
    return PrintedRates(rates, text)


@dataclass
class ArchivedTest:
    """One test of a run; values without a file are missing (None)."""

    file: FileName
    output: Output | None = None
    load: LoadOutput | None = None
    storage: Iostat | None = None
    cpu: Cpu | None = None
    met: Row | None = None
    rates: dict[str, str] = field(default_factory=dict)
    """Kind of file (`r.qps`, `r.rt95`, ...) -> its number."""
    rate_text: str | None = None
    """The text after the number in sb.r.qps."""
    peaks: Peaks | None = None
    counters: dict[int, Extraction] = field(default_factory=dict)
    """Iteration -> its counters."""
    last_iteration: int | None = None
    """The last complete iteration of the counters."""
    extracted: dict[tuple[int, str], Extraction] = field(default_factory=dict)
    """Iteration and form (`raw`, `sorted`) -> its counters."""
    names: dict[str, str] = field(default_factory=dict)
    """Kind of file, for counters `perf.hw.ITERATION[.FORM]` -> its name."""

    @property
    def is_load(self) -> bool:
        return self.load is not None or self.file.kind.startswith(PREPARE)

    @property
    def dop(self) -> int | None:
        return self.file.dop

    @property
    def seconds(self) -> Second | None:
        """The length of the test; by default the published number of samples."""
        if self.load is not None:
            return self.load.seconds
        if self.output is not None:
            return self.output.elapsed
        return float(self.met["samp"]) if self.met is not None else None


TestKey = tuple[str, int | None]
"""`FileName.common`, or `LOAD`; and threads."""


@dataclass
class RunDirectory(Files):
    """One contender's run."""

    path: Path
    tests: dict[TestKey, ArchivedTest] = field(default_factory=dict)
    device: str | None = None
    """The part of a device's name that selects iostat's lines."""
    checked: Counter[str] = field(default_factory=Counter)
    """Number of files that were only compared with their sources, by kind."""
    remarks: list[tuple[str, str]] = field(default_factory=list)
    """Sentences on files that are used, with the files' names."""

    @property
    def name(self) -> str:
        return readable(self.path.name)

    @property
    def cpus(self) -> int | None:
        return _most_common(test.output.cpus for test in self.tests.values() if test.output)

    @property
    def dop(self) -> int | None:
        return _most_common(test.dop for test in self.tests.values())

    @property
    def tables(self) -> int | None:
        outputs = [output for test in self.tests.values() for output in (test.output, test.load)]
        return _most_common(output.tables for output in outputs if output is not None)

    @property
    def probes(self) -> list[Iostat]:
        return [test.storage for test in self.tests.values() if test.storage]

    def complain(self, name: str, reason: str, fate: Fate = Fate.SKIPPED) -> None:
        self.skip(self.path / name, reason, fate)


def _most_common(counts: Iterable[int | None]) -> int | None:
    known = Counter(count for count in counts if count)
    return known.most_common(1)[0][0] if known else None


def read_runs(directories: Mapping[Path, Sequence[str]], device: str | None) -> list[RunDirectory]:
    """Read the files of run directories, given by their names.

    `device` is the part of a name that selects iostat's lines; by default it is the device with the
    most traffic, with arrays before their members.
    """
    runs = [RunDirectory(path) for path in directories]
    places: list[tuple[RunDirectory, str, FileName]] = []
    for run in runs:
        run.device = device or _busiest_device(run.path, directories[run.path])
        places += [(run, name, file) for name, file in _files_of_use(run, directories[run.path])]
    requests = [(f"{run.path}{os.sep}{name}", file, run.device) for run, name, file in places]
    answers = list(zip(places, read_all(requests), strict=True))

    def several(content: Content | Unusable) -> int:
        return len(content) if isinstance(content, list) else 1

    # Names without threads belong to the tests of the others, as do files of several runs.
    answers.sort(key=lambda answer: (answer[0][2].dop is None, several(answer[1])))
    for (run, name, file), content in answers:
        if isinstance(content, list):
            _give_runs(run, name, file, content)
            continue
        if isinstance(content, Unusable):
            wrong: str | None = content.reason
        else:
            wrong = _give(run, name, file, content)
        if wrong == _INCOMPLETE and (file.iteration or 0) > 1:
            run.by_products[_CUT_OFF] += 1
        elif wrong:
            run.complain(name, wrong)
        else:
            run.used += 1
    for run in runs:
        _move_to_actual_threads(run)
        for test in run.tests.values():
            _choose_counters(run, test)
            _leave_out_cut(run, test)
    return runs


def _files_of_use(run: RunDirectory, names: Sequence[str]) -> Iterator[tuple[str, FileName]]:
    for name in sorted(names):
        if (file := parse_file(name)) is not None and reads(file):
            yield name, file
        elif kind := _by_product(name):
            run.by_products[kind] += 1
        else:
            run.complain(name, why_no_file(name))


def _busiest_device(path: Path, names: Sequence[str]) -> str | None:
    """Choose by the largest files of iostat: traffic makes long numbers."""
    files = [f"{path}{os.sep}{name}" for name in names if _STORAGE.match(name)]
    files.sort(key=size_of, reverse=True)
    total: Counter[str] = Counter()
    for file in files[:_TELLING]:
        with suppress(DamagedError):
            total.update(read_traffic(read_content(file)))
    return busiest(total)


def _by_product(name: str) -> str | None:
    """Return the kind of a file that is known but not read; None for a foreign file.

    Files that would be read if their names were right are foreign, too.
    """
    if (match := _BY_PRODUCT.fullmatch(name)) is None:
        return "configuration" if _CONFIGURATION.fullmatch(name) else None
    if not _is_read(match["kind"]) or parse_file(name) is not None:
        return f"sb.{match['kind']}"
    return None if ".range" in name else name


def _give_runs(run: RunDirectory, name: str, file: FileName, outputs: Sequence[Output]) -> None:
    several = len(outputs) > 1
    given = 0
    for output in outputs:
        dop = output.threads if several or file.dop is None else file.dop
        if wrong := _give(run, name, replace(file, dop=dop), output):
            at = f"the run at {counted(output.threads or 0, 'thread')}: " if several else ""
            run.complain(name, at + wrong)
            continue
        given += 1
        if output.torn:
            run.complain(name, "truncated after its rate", Fate.PARTLY)
    run.used += given > 0
    if several and given:
        levels = listing([f"{output.threads}" for output in outputs])
        remark = f"{len(outputs)} runs in one file, used as results with {levels} threads"
        run.remarks.append((remark, name))


_FIELDS: dict[type, str] = {
    Output: "output",
    LoadOutput: "load",
    Iostat: "storage",
    Cpu: "cpu",
    Row: "met",
    Peaks: "peaks",
    int: "last_iteration",
}
"""Type of content -> field of `ArchivedTest`."""


def _give(run: RunDirectory, name: str, file: FileName, content: Content | Output) -> str | None:
    """Add the content of a file to its tests, or return what is wrong, in words.

    Kinds without threads in their names belong to the tests of other kinds, in the order of the
    threads if there are several.
    """
    common = LOAD if file.kind.startswith(PREPARE) else file.common
    levels = {dop: test for (other, dop), test in run.tests.items() if other == common and dop}
    if file.dop is None and common != LOAD and levels:
        tests = [levels[dop] for dop in sorted(levels)]
    else:
        tests = [run.tests.setdefault((common, file.dop), ArchivedTest(file))]
    if isinstance(content, PrintedRates):
        if len(content.numbers) != len(tests):
            rates, numbers = counted(len(content.numbers), "rate"), counted(len(tests), "number")
            return f"{rates} for {numbers} of clients: their assignment is unknown"
    elif len(tests) > 1:
        return f"it could belong to any of {len(tests)} numbers of clients"
    parts = (file.kind, file.iteration, file.extraction)
    kind = ".".join(str(part) for part in parts if part is not None)
    if (there := tests[0].names.get(kind)) is not None:
        # Plain files come before compressed ones.
        return TWICE if name == f"{there}.gz" else f"a duplicate: {there} is used"
    for place, test in enumerate(tests):
        test.names[kind] = name
        if isinstance(content, PrintedRates):
            test.rates[file.kind] = content.numbers[place]
            test.rate_text = content.text if file.kind == "r.qps" else test.rate_text
        elif not isinstance(content, Mapping):
            setattr(test, _FIELDS[type(content)], content)
        elif file.extraction is not None:
            test.extracted[file.iteration or 0, file.extraction] = content
        else:
            test.counters[file.iteration or 0] = content
    return None


def _move_to_actual_threads(run: RunDirectory) -> None:
    """Move the tests whose output states a different number of threads than their names.

    Sysbench prints the actual number. If there is already a test with it, that one is used.
    """
    for key, test in list(run.tests.items()):
        threads = test.output.threads if test.output is not None else None
        if not threads or test.dop in (None, threads):
            continue
        name, actual = test.names["o"], (test.file.common, threads)
        del run.tests[key]
        ran = f"sysbench ran with {counted(threads, 'thread')}, not with {test.dop} as in the name"
        if actual in run.tests:
            run.complain(name, f"{ran}: another file has that test")
            run.used -= 1
            continue
        test.file = replace(test.file, dop=threads)
        run.tests[actual] = test
        run.remarks.append((f"{ran}: assumed to have {counted(threads, 'client')}", name))


def _choose_counters(run: RunDirectory, test: ArchivedTest) -> None:
    """Use extractions whose source file is missing; drop incomplete iterations.

    Other extractions will be compared with their source.
    """
    counted_before = set(test.counters)
    for (iteration, form), values in sorted(test.extracted.items()):
        if iteration in counted_before:
            run.checked[f"sb.perf.hw.{form}"] += 1
            run.used -= 1
        else:
            test.counters.setdefault(iteration, values)
    for iteration in list(test.counters):
        if test.last_iteration is not None and iteration > test.last_iteration:
            del test.counters[iteration]
            run.by_products[_CUT_OFF] += 1
            run.used -= 1


def _leave_out_cut(run: RunDirectory, test: ArchivedTest) -> None:
    """Drop samples of less than half of a test; note those that end later."""
    names = {kind.removeprefix(PREPARE): name for kind, name in test.names.items()}
    if test.peaks is not None and not test.peaks.whole:
        run.complain(names["ps"], "truncated in the middle of a line", Fate.PARTLY)
    if test.cpu is not None and (impossible := test.cpu.clean.impossible):
        reason = f"{counted(impossible, 'sample')} with impossible numbers, excluded"
        run.complain(names["vm"], reason, Fate.PARTLY)
    if not (seconds := test.seconds):
        return
    sampled = {
        "cpu": ("vm", test.cpu.clean.samples if test.cpu else None),
        "storage": ("io", test.storage.samples if test.storage else None),
    }
    for attribute, (kind, samples) in sampled.items():
        if samples is None or samples >= _WHOLE * seconds:  # one a second
            continue
        problem = f"truncated: {counted(samples, 'sample')} in a test of {seconds:.0f} s"
        if samples >= _ENOUGH * seconds:
            run.complain(names[kind], problem, Fate.PARTLY)
            continue
        run.complain(names[kind], problem)
        run.used -= 1
        setattr(test, attribute, None)
