"""Directories of archived results: which experiments lie in them, and in which files.

A directory is a run's if it has files of runs; the experiment is the directory that holds it. A
summary table belongs to the experiment of its directory, or of one above that names the same runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive import met_tables, rate_tables
from slowdust.archive.met_tables import MetRow
from slowdust.archive.names import parse_file
from slowdust.archive.rate_tables import RateTable
from slowdust.archive.run_directory import FOREIGN, Problem
from slowdust.archive.text import UNREADABLE_NAME, readable

_RATES = re.compile(r"qps\.(?P<kind>abs|rel)(?:\.(?P<tag>.+))?\.(?P<form>tsv|csv)")
_HARDWARE = re.compile(r"o\.met(?:\.(?P<tag>.+))?")
_COUNTERS = re.compile(r"join(?P<iteration>\d+)\.(?P<kind>abs|rel)\.(?P<tag>.+?)\.sb\.perf\.hw\..+")
_OTHER_BENCHMARK = re.compile(r"(?:o\.(?:ib|res|sum|rt|rate|iostat)|mrg|rel|rt)(?:\..+)?")
_COPY = re.compile(r".+\.(?:edit|markup)")
INSERT_BENCHMARK = "Insert Benchmark: import it with `slowdust import iibench`"
_GENERIC = re.compile(r"dop\d+")


@dataclass(frozen=True)
class Rates:
    """A table of absolute rates."""

    path: Path
    tag: str
    table: RateTable


@dataclass(frozen=True)
class Hardware:
    """A table of hardware per operation."""

    path: Path
    tag: str
    blocks: dict[str, list[MetRow]]

    @property
    def runs(self) -> list[str]:
        """Of all blocks, in the order of the first."""
        return list(dict.fromkeys(row.run for rows in self.blocks.values() for row in rows))


@dataclass
class Place:
    """An experiment's directory."""

    path: Path
    name: str
    runs: dict[Path, list[str]] = field(default_factory=dict)
    """Run directory -> names of its files."""
    rates: list[Rates] = field(default_factory=list)
    hardware: list[Hardware] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    """Tags of the tables of joined counters."""
    used: int = 0
    """Tables."""
    by_products: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def known_runs(self) -> set[str]:
        """Names of runs that its directories and tables have."""
        return {readable(path.name) for path in self.runs} | {
            run for table in self.rates for run in table.table.runs
        }.union(*(table.runs for table in self.hardware))

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it to make an experiment of."""
        return not (self.runs or self.rates or self.hardware)


def scan(roots: Iterable[Path]) -> list[Place]:
    """The experiments below `roots`, and what of their files is no part of one.

    Files outside of all experiments are in a place that is `empty`.
    """
    places: dict[Path, Place] = {}
    seen: set[Path] = set()
    for root in roots:
        for directory, names in _walk(root):
            if (resolved := directory.resolve()) not in seen:
                seen.add(resolved)
                _sort_files(places, root, directory, names)
    return _joined(list(places.values()))


def _walk(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Directories from the top, each with the names of its files."""
    for directory, subdirectories, names in os.walk(root):
        subdirectories.sort()
        yield Path(directory), sorted(names)


def _sort_files(places: dict[Path, Place], root: Path, directory: Path, names: list[str]) -> None:
    strange = {
        name: reason
        for name in names
        if (reason := _strangeness(root, directory / name)) is not None
    }
    names = [name for name in names if name not in strange]
    of_run = [name for name in names if name.startswith("sb.") and parse_file(name) is not None]
    home = directory.parent if of_run else directory
    if names or strange:
        place = places.setdefault(home, Place(home, name_of(home, root)))
        place.problems += [Problem(directory / name, why) for name, why in strange.items()]
        if of_run:
            place.runs[directory] = [name for name in names if not _is_table(name)]
            names = [name for name in names if _is_table(name)]
        for name in names:
            try:
                _take(place, directory / name)
            except OSError as error:
                reason = f"cannot be read: {error.strerror}"
                place.problems.append(Problem(directory / name, reason))


def _strangeness(root: Path, file: Path) -> str | None:
    """Why a file is none to be read, whatever it holds."""
    if not str(file.relative_to(root)).isprintable():
        return UNREADABLE_NAME
    return None if file.is_file() else "no regular file"


def name_of(directory: Path, root: Path) -> str:
    """What an experiment is called: its directory, and those above it up to the one that was named.

    A name such as `dop40` says too little to stand alone or first.
    """
    directory, root = directory.resolve(), root.resolve()
    parts = directory.relative_to(root).parts if root in directory.parents else (directory.name,)
    if _GENERIC.fullmatch(parts[0]):
        parts = (directory.parents[len(parts) - 1].name, *parts)
    return "-".join(part for part in parts if part) or "archive"


def _is_table(name: str) -> bool:
    return any(form.fullmatch(name) for form in (_RATES, _HARDWARE, _COUNTERS))


def _take(place: Place, path: Path) -> None:
    """Add a file that is no part of a run directory."""
    if found := _RATES.fullmatch(path.name):
        tag = found["tag"] or ""
        if found["kind"] == "abs" and found["form"] == "tsv":
            _take_rates(place, path, tag)
        elif path.with_name(f"qps.abs.{tag}.tsv" if tag else "qps.abs.tsv").is_file():
            _count(place, f"qps.{found['kind']}.{found['form']} beside qps.abs.tsv")
        else:
            place.problems.append(Problem(path, "there is no qps.abs.tsv beside it"))
    elif found := _HARDWARE.fullmatch(path.name):
        _take_hardware(place, path, found["tag"] or "")
    elif found := _COUNTERS.fullmatch(path.name):
        _take_counters(place, path, found["tag"])
    elif _OTHER_BENCHMARK.fullmatch(path.name):
        _count(place, INSERT_BENCHMARK)
    elif _COPY.fullmatch(path.name):
        _count(place, "copies edited by hand (.edit, .markup)")
    else:
        place.problems.append(Problem(path, FOREIGN))


def _count(place: Place, kind: str) -> None:
    place.by_products[kind] = place.by_products.get(kind, 0) + 1


def _take_rates(place: Place, path: Path, tag: str) -> None:
    table, strange = rate_tables.read_tsv(_lines(path))
    usable = bool(table.runs and table.rows)
    _complain(place, path, strange, partly=usable)
    if usable:
        place.rates.append(Rates(path, tag, table))
        place.used += 1
    elif not strange:
        place.problems.append(Problem(path, "empty" if not path.stat().st_size else "no rows"))


def _take_hardware(place: Place, path: Path, tag: str) -> None:
    blocks, strange = met_tables.read(_lines(path))
    _complain(place, path, strange, partly=bool(blocks))
    if blocks:
        place.hardware.append(Hardware(path, tag, blocks))
        place.used += 1
    elif not strange:
        place.problems.append(Problem(path, "empty" if not path.stat().st_size else "no rows"))


def _take_counters(place: Place, path: Path, tag: str) -> None:
    if not path.stat().st_size:
        place.problems.append(Problem(path, "empty"))
        return
    _count(place, "join of sb.perf.hw")
    if tag not in place.counters:
        place.counters.append(tag)


def _complain(place: Place, path: Path, strange: Sequence[str], *, partly: bool) -> None:
    """Lines that a hand has put in, or that were torn."""
    if strange:
        shown = " / ".join(repr(line.strip()[:50]) for line in strange[:2])
        more = f" and {len(strange) - 2} more" if len(strange) > 2 else ""
        reason = f"lines that are no part of a table, left out: {shown}{more}"
        place.problems.append(Problem(path, reason, partly))


def _joined(places: Sequence[Place]) -> list[Place]:
    """Tables below an experiment that name its runs are part of it."""
    kept: list[Place] = []
    for place in sorted(places, key=lambda one: len(one.path.parts)):
        above = [other for other in kept if other.path in place.path.parents]
        home = next(
            (
                other
                for other in reversed(above)
                if not place.runs and place.known_runs and place.known_runs <= other.known_runs
            ),
            None,
        )
        if home is None:
            kept.append(place)
            continue
        home.rates += place.rates
        home.hardware += place.hardware
        home.counters += place.counters
        home.used += place.used
        home.problems += place.problems
        for kind, count in place.by_products.items():
            home.by_products[kind] = home.by_products.get(kind, 0) + count
    return sorted(kept, key=lambda one: one.path)


def _lines(path: Path) -> list[str]:
    return path.read_bytes().decode(errors="replace").splitlines()
