"""Reading the files of sysbench's runs one by one: the content of each, or why it has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from slowdust.archive.reading import Unusable, read_shared
from slowdust.formats.sysbench import iostat, met, perf_stat, ps, vmstat
from slowdust.formats.sysbench import output as sysbench
from slowdust.formats.sysbench.iostat import Iostat
from slowdust.formats.sysbench.met import Met
from slowdust.formats.sysbench.names import FileName
from slowdust.formats.sysbench.output import LoadOutput, Output
from slowdust.formats.sysbench.ps import Peaks
from slowdust.formats.sysbench.vmstat import Vmstat
from slowdust.formats.text import DamagedError, ends_whole, is_number, lines_of, read_content

PREPARE = "prepare."


@dataclass(frozen=True)
class Cpu:
    """Sums over the samples of vmstat, by the published rule and by the clean one."""

    published: Vmstat
    clean: Vmstat


@dataclass(frozen=True)
class Runs:
    """The runs in a file sb.o: mostly one, or one for each of several numbers of threads."""

    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class PrintedRates:
    """A file sb.r.*: a number for each number of clients, and the text behind them."""

    numbers: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class LastIteration:
    """A file sb.perf.last: the last iteration of the counters that was completed."""

    number: int


Extraction = Mapping[str, str]
"""Counter -> value as printed."""
Content = Runs | LoadOutput | Iostat | Cpu | Met | Peaks | PrintedRates | LastIteration | Extraction
Request = tuple[str, FileName, str | None]
"""Path of a file, its parsed name, and the part of a device's name that selects iostat's lines."""
INCOMPLETE = "an iteration that was not completed"
"""The reason of files that have nothing wrong: the last iteration ends with its test."""
_READ = frozenset(
    {"o", "io", "vm", "met", "ps", "r.qps", "r.rtavg", "r.rtmax", "r.rt95", "perf.hw", "perf.last"}
)


def reads(file: FileName) -> bool:
    """Return whether a file is read; others are by-products."""
    return is_read(file.kind) and (file.extraction is None or file.kind == "perf.hw")


def is_read(kind: str) -> bool:
    """Return whether something is read from files of this kind."""
    return kind.removeprefix(PREPARE) in _READ


def busiest_device(paths: Sequence[str]) -> str | None:
    """Return the device with the most traffic in files of iostat."""
    total: Counter[str] = Counter()
    for path in paths:
        with suppress(DamagedError):
            total.update(iostat.traffic(read_content(path)))
    return iostat.busiest(total)


def read_all(requests: Sequence[Request]) -> list[Content | Unusable]:
    """Return the content of each file, in the order of `requests`."""
    return read_shared(requests, [path for path, _, _ in requests], _read_some)


def _read_some(requests: Sequence[Request]) -> list[Content | Unusable]:
    return [_read(path, file, device) for path, file, device in requests]


def _read(path: str, file: FileName, device: str | None) -> Content | Unusable:
    try:
        content = read_content(path)
        if file.kind == "perf.hw":
            return _counters(content, file)
        return _parse(content, file.kind, device)
    except DamagedError as error:
        return Unusable(str(error))
    except (ValueError, ArithmeticError, LookupError) as error:
        return Unusable(f"not as it should be: {error}")


def _parse(content: bytes, kind: str, device: str | None) -> Content | Unusable:
    match kind.removeprefix(PREPARE):
        case "o" if kind.startswith(PREPARE):
            return sysbench.read_load(content) or Unusable("the load did not end")
        case "o":
            return _runs(content)
        case "io" if device is not None:
            nothing = Unusable(f"no sample of a device called {device}")
            return iostat.read(content, device) or nothing
        case "io":
            return Unusable("no sample of any device")
        case "vm":
            published, clean = vmstat.read_published(content), vmstat.read_clean(content)
            return Cpu(published, clean) if published and clean else Unusable("no sample")
        case "met":
            return (ends_whole(content) and met.read(lines_of(content))) or Unusable("torn")
        case "ps":
            return ps.read(content) or Unusable("no process")
        case "perf.last":
            return LastIteration(int(content))
        case _:
            return _rate(content)


def _runs(content: bytes) -> Runs | Unusable:
    """Read the runs of a file, which are told apart by their threads."""
    outputs = sysbench.read(content)
    if not outputs:
        return Unusable(sysbench.why_unread(content))
    threads = Counter(output.threads for output in outputs)
    if len(threads) < len(outputs) or (len(outputs) > 1 and None in threads):
        return Unusable(
            f"{len(outputs)} runs in it, and not each at a number of threads of its own: which one "
            "counts is not known"
        )
    return Runs(tuple(outputs))


def _rate(content: bytes) -> PrintedRates | Unusable:
    if not ends_whole(content):
        return Unusable("torn")
    line = lines_of(content)[0]
    *rates, text = line.split("\t")
    if not rates or not all(map(is_number, rates)):
        return Unusable(f"no rate: {line[:40]!r}")
    return PrintedRates(tuple(rates), text)


def _counters(content: bytes, file: FileName) -> Extraction | Unusable:
    if file.iteration is None:
        return Unusable("no iteration in its name")
    if file.extraction is not None:
        return perf_stat.read_raw(lines_of(content)) if ends_whole(content) else Unusable("torn")
    values = perf_stat.extract(lines_of(content))
    return values if perf_stat.LAST in values else Unusable(INCOMPLETE)
