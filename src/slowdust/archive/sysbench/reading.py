"""Reading the files of sysbench's runs one by one: the content of each, or why it has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
_COUNTERS = "perf.hw"


@dataclass(frozen=True)
class Cpu:
    """Sums over the samples of vmstat, by the published rule and by the clean one."""

    published: Vmstat
    clean: Vmstat


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
Content = (
    Output | LoadOutput | Iostat | Cpu | Met | Peaks | PrintedRates | LastIteration | Extraction
)
Request = tuple[str, FileName, str | None]
"""Path of a file, its parsed name, and the part of a device's name that selects iostat's lines."""


def reads(file: FileName) -> bool:
    """Return whether files of this kind are read; others are by-products."""
    return _reader_of(file) is not None


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
        reader = _reader_of(file)
        assert reader is not None
        return reader(read_content(path), file, device)
    except DamagedError as error:
        return Unusable(str(error))
    except (ValueError, ArithmeticError, LookupError) as error:
        return Unusable(f"not as it should be: {error}")


def _read_output(content: bytes, file: FileName, device: str | None) -> Content | Unusable:
    if file.kind.startswith(PREPARE):
        return sysbench.read_load(content) or Unusable("the load did not end")
    return sysbench.read(content) or Unusable("the test did not end")


def _read_storage(content: bytes, file: FileName, device: str | None) -> Content | Unusable:
    if device is None:
        return Unusable("no sample of any device")
    return iostat.read(content, device) or Unusable(f"no sample of a device called {device}")


def _read_cpu(content: bytes, file: FileName, device: str | None) -> Content | Unusable:
    published, clean = vmstat.read_published(content), vmstat.read_clean(content)
    return Cpu(published, clean) if published and clean else Unusable("no sample")


def _read_met(content: bytes, file: FileName, device: str | None) -> Content | Unusable:
    return (ends_whole(content) and met.read(lines_of(content))) or Unusable("torn")


def _read_processes(content: bytes, file: FileName, device: str | None) -> Content | Unusable:
    return ps.read(content) or Unusable("no process")


def _read_rate(content: bytes, file: FileName, device: str | None) -> Content | Unusable:
    if not ends_whole(content):
        return Unusable("torn")
    line = lines_of(content)[0]
    *rates, text = line.split("\t")
    if not rates or not all(map(is_number, rates)):
        return Unusable(f"no rate: {line[:40]!r}")
    return PrintedRates(tuple(rates), text)


def _read_counters(content: bytes, file: FileName, device: str | None) -> Content | Unusable:
    if file.iteration is None:
        return Unusable("no iteration in its name")
    values = perf_stat.extract(lines_of(content))
    return values if perf_stat.LAST in values else Unusable(INCOMPLETE)


def _read_extraction(content: bytes, file: FileName, device: str | None) -> Content | Unusable:
    if file.iteration is None:
        return Unusable("no iteration in its name")
    return perf_stat.read_raw(lines_of(content)) if ends_whole(content) else Unusable("torn")


def _read_last(content: bytes, file: FileName, device: str | None) -> Content | Unusable:
    return LastIteration(int(content))


INCOMPLETE = "an iteration that was not completed"
"""The reason of files that have nothing wrong: the last iteration ends with its test."""

_Reader = Callable[[bytes, FileName, str | None], Content | Unusable]
_READERS: dict[str, _Reader] = {
    "o": _read_output,
    "io": _read_storage,
    "vm": _read_cpu,
    "met": _read_met,
    "ps": _read_processes,
    "r.qps": _read_rate,
    "r.rtavg": _read_rate,
    "r.rtmax": _read_rate,
    "r.rt95": _read_rate,
    _COUNTERS: _read_counters,
    "perf.last": _read_last,
}
"""The reader of each kind of file."""


def _reader_of(file: FileName) -> _Reader | None:
    if file.extraction is not None:
        return _read_extraction if file.kind == _COUNTERS else None
    return _READERS.get(file.kind.removeprefix(PREPARE))


def is_read(kind: str) -> bool:
    """Return whether something is read from files of this kind."""
    return kind.removeprefix(PREPARE) in _READERS
