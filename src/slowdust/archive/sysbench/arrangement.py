"""The experiments of directories: tables joined, copies left out, other conditions separated.

A summary table belongs to the experiment of its directory, or of one above that names the same
runs.

Run directories and experiments that are copies of another one next to them, as backups are, are
left out. A copy has the other's name with a suffix, and no result that the other one has not: to
the last digit, two measurements are never the same.

Tables that have other rates for the same tests of the same runs (`qps.abs.io.tsv` and
`qps.abs.mem.tsv`) were measured under other conditions: each set becomes an experiment of its own.
A ratio of one rate to a rate of the other set would compare the conditions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from slowdust.archive.runs import order_of_runs
from slowdust.archive.sysbench.clients import of_table
from slowdust.archive.sysbench.directories import Directory
from slowdust.archive.sysbench.names import common_of, parse_file
from slowdust.archive.sysbench.output import SCAN, ScanRule
from slowdust.archive.sysbench.run_directory import RunDirectory
from slowdust.archive.sysbench.slices import rate_of
from slowdust.archive.sysbench.summary_tables import (
    Hardware,
    Joined,
    Levels,
    Rates,
    Tables,
)
from slowdust.exchange import Problem
from slowdust.formats.text import plain, readable
from slowdust.wording import listing

_ALIKE = 0.01
"""Relative difference of rates that may be rounding or a hand's: two runs rarely come so close."""
Table = Rates | Hardware
_Cells = Mapping[tuple[str, str, str], Mapping[int | None, str]]
"""Run that the rates are relative to (or none), run and `FileName.common` -> clients -> rate."""


@dataclass
class _Condition:
    """Rates that may be of one condition, and the tables that have them."""

    words: list[str] = field(default_factory=list)
    """The words in the names of its first table and its directories."""
    own: frozenset[tuple[str, str, str]] = frozenset()
    """The keys of the rates in the runs' own files, if it is theirs."""
    rates: dict[tuple[str, str, str], dict[int | None, str]] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)

    def learn(self, cells: _Cells) -> None:
        for key, by_clients in cells.items():
            self.rates[key] = {**by_clients, **self.rates.get(key, {})}

    def likeness(self, cells: _Cells) -> int | None:
        """Return how many rates are the same; None if more of them differ.

        No rate is taken from a table of which the runs' own files have all.
        """
        found: Counter[bool] = Counter()
        for key, by_clients in cells.items():
            there = self.rates.get(key, {})
            for clients, rate in by_clients.items():
                others = [
                    float(other)
                    for count, other in there.items()
                    if count == clients or None in (count, clients)
                ]
                if others:
                    alike = (math.isclose(float(rate), x, rel_tol=_ALIKE) for x in others)
                    found[any(alike)] += 1
        has_all = bool(self.own) and self.own.issuperset(cells)
        return found[True] if has_all or found[False] <= found[True] else None


def arrange(directories: Sequence[Directory], runs: Mapping[Path, RunDirectory]) -> list[Directory]:
    """Return the experiments in the directories of a scan, of which `runs` were read."""
    return [
        part
        for home in _without_copies(_joined(directories), runs)
        for part in _by_condition(home, [runs[path] for path in home.runs])
    ]


def _by_condition(directory: Directory, runs: Sequence[RunDirectory]) -> list[Directory]:
    """Return the directory with the tables of its runs' condition, and one for each other.

    Where no run has a rate, the first table's condition is the first.
    """
    tables = directory.tables
    conditions = []
    if own := _of_runs(runs):
        conditions.append(_Condition(own=frozenset(own)))
        conditions[0].learn(own)
    compared: list[Table] = [*tables.rates, *tables.relative, *tables.hardware]
    for table in compared:
        words, cells = _words(directory, table), _cells(table)
        likeness = {
            place: (same, len(set(words) & set(condition.words)), -place)
            for place, condition in enumerate(conditions)
            if (same := condition.likeness(cells)) is not None
        }
        if not likeness:
            conditions.append(_Condition())
        condition = conditions[max(likeness, key=lambda at: likeness[at], default=-1)]
        condition.tables.append(table)
        condition.words = condition.words or words
        condition.learn(cells)
    if len(conditions) < 2:
        return [directory]
    titles = _titles(conditions)
    name, parts = directory.name, _parts(directory, conditions)
    for title, condition in zip(titles[1:], conditions[1:], strict=True):
        files = listing([table.path.name for table in condition.tables])
        parts[0].assumed.append(
            f"{files}: other rates of the same tests, so of another condition: imported by itself, "
            f"under a name that ends with '-{title}'"
        )
    for part, title in zip(parts, titles, strict=True):
        part.condition = title
        part.name = f"{name}-{title}" if title else name
    return parts


def _parts(directory: Directory, conditions: Sequence[_Condition]) -> list[Directory]:
    """Return a directory for each condition; everything without rates stays with the first."""
    parts = [replace(directory, runs={}, tables=Tables(), assumed=[]) for _ in conditions[1:]]
    for part, condition in zip(parts, conditions[1:], strict=True):
        for table in condition.tables:
            _move(table, directory.tables, part.tables)
    all_parts = [directory, *parts]
    others: list[Joined | Levels] = [*directory.tables.joined, *directory.tables.levels]
    for other in others:
        words = set(_words(directory, other))
        place = max(range(len(all_parts)), key=lambda at: len(words & set(conditions[at].words)))
        if place:
            _move(other, directory.tables, parts[place - 1].tables)
    return all_parts


def _move(table: Table | Joined | Levels, source: Tables, target: Tables) -> None:
    """Move a table, and those that are made of it, with their counts."""
    for name in ("rates", "relative", "hardware", "joined", "levels"):
        there = getattr(source, name)
        if any(each is table for each in there):
            setattr(source, name, [each for each in there if each is not table])
            getattr(target, name).append(table)
    if isinstance(table, Table):
        source.used -= 1
        target.used += 1
    for derived in [each for each in source.derived if each.source is table]:
        source.derived.remove(derived)
        target.derived.append(derived)
        kind, _, rest = plain(derived.path.name).removeprefix("qps.").partition(".")
        counted = Counter([f"qps.{kind}.{rest.rpartition('.')[2]}"])
        source.checked -= counted
        target.checked += counted


def _words(directory: Directory, table: Table | Joined | Levels) -> list[str]:
    below = table.path.parent.relative_to(directory.path).parts
    tag = table.path.name.split(".") if isinstance(table, Levels) else table.tag.split(".")
    return [word for word in (*below, *tag) if word]


def _titles(conditions: Sequence[_Condition]) -> list[str]:
    """Return the words that tell conditions apart, or numbers; the runs' condition has none."""
    of_tables = [set(each.words) for each in conditions if not each.own]
    common = set.intersection(*of_tables) if len(of_tables) > 1 else set()
    titles = []
    for number, condition in enumerate(conditions, start=1):
        words = [word for word in condition.words if word not in common]
        told = "-".join(words) or ("" if number == 1 else str(number))
        titles.append("" if condition.own else told)
    return titles


def _cells(table: Table) -> _Cells:
    """Return the rates of a table; those of 0 say nothing."""
    found: list[tuple[tuple[str, str, str], int | None, str]] = []
    if isinstance(table, Rates):
        named = of_table(table.path)
        base, clients = table.table.base or "", named.count if named else None
        for label, rates in table.table.rows.items():
            for run, rate in zip(table.table.runs, rates, strict=True):
                if (common := common_of(label, run)) is not None:
                    found.append(((base, run, common), clients, rate))
    else:
        for name, row in table.table.rows:
            if (file := parse_file(name)) is not None and file.kind == "met":
                found.append((("", row.run, file.common), file.dop, row["o/s"]))
    cells: dict[tuple[str, str, str], dict[int | None, str]] = {}
    for key, clients, rate in found:
        if rate and float(rate):
            cells.setdefault(key, {})[clients] = rate
    return cells


def _of_runs(runs: Sequence[RunDirectory]) -> _Cells:
    """Return the published rates of runs, but of scan, which has two rules."""
    cells: dict[tuple[str, str, str], dict[int | None, str]] = {}
    for run in runs:
        for test in run.tests.values():
            rate = rate_of(test, ScanRule.ALL_THREADS)
            if rate is not None and not test.is_load and test.file.test != SCAN:
                cells.setdefault(("", run.name, test.file.common), {})[test.dop] = rate.whole
    return cells


def _joined(directories: Sequence[Directory]) -> list[Directory]:
    """Join tables below an experiment that name its runs with it, and files that are no table."""

    def is_part(directory: Directory, other: Directory) -> bool:
        if directory.empty:
            return not other.empty
        known = directory.known_runs
        return not directory.runs and bool(known) and known <= other.known_runs

    kept: list[Directory] = []
    for directory in sorted(directories, key=lambda directory: len(directory.path.parts)):
        above = [other for other in reversed(kept) if other.path in directory.path.parents]
        nearest = [(other.tables, other.run_names) for other in (directory, *above)]
        directory.assumed += _name_columns(directory.tables, nearest)
        home = next((other for other in above if is_part(directory, other)), None)
        if home is None:
            kept.append(directory)
        else:
            home.tables.add(directory.tables)
            home.assumed += directory.assumed
    return sorted(kept, key=lambda directory: directory.path)


Around = tuple[Tables, Collection[str]]
"""The tables of a directory, and the names of its run directories."""


def _name_columns(tables: Tables, around: Sequence[Around]) -> list[str]:
    """Name the columns of tables that have no names, as .csv; return sentences on what was assumed.

    `around` are the directories to look at for as many runs, the nearest first, and in each of
    them tables before run directories. Where there are none, a column is its number.
    """
    assumed = []
    for table in (*tables.rates, *tables.relative):
        if table.named:
            continue
        width, why = len(table.runs), "numbered here"
        base = [] if table.table.base is None else [table.table.base]
        runs: Sequence[str] = [*base, *(f"col-{n}" for n in range(1, width + 1 - len(base)))]
        for others, directories in around:
            alike = [each for each in others.of_runs if each.named and len(each.runs) == width]
            if alike:
                runs, why = alike[0].runs, f"taken to be those of {alike[0].path.name}"
            elif len(directories) == width:
                runs = sorted(directories, key=order_of_runs)
                why = "taken to be the run directories, the oldest version first"
            else:
                continue
            table.named = True
            break
        table.name(runs)
        assumed.append(f"{table.path.name}: columns without names, {why}")
    return assumed


def _without_copies(
    directories: Sequence[Directory], runs: Mapping[Path, RunDirectory]
) -> list[Directory]:
    """Return the directories without copies; each copy is a problem of what it is a copy of."""
    rates = {
        path: {
            key: (test.output, test.load, test.met, test.rates.get("r.qps"))
            for key, test in run.tests.items()
        }
        for path, run in runs.items()
    }

    def is_copy(path: Path, other: Path) -> bool:
        suffix = path.name.removeprefix(other.name)  # x.pg174.c.pk1.bak
        return suffix not in ("", path.name) and not suffix[0].isalnum()

    def has_all(run: Path, other: Path) -> bool:
        return bool(rates[other]) and rates[other].items() <= rates[run].items()

    def has_everything(directory: Directory, other: Directory) -> bool:
        by_name = {path.name: path for path in other.runs}
        tables = [table.table for table in other.tables.of_runs]
        return all(
            path.name in by_name and has_all(by_name[path.name], path) for path in directory.runs
        ) and all(table.table in tables for table in directory.tables.of_runs)

    for directory in directories:
        for path in sorted(directory.runs, key=lambda path: len(path.name), reverse=True):
            originals = (o for o in directory.runs if is_copy(path, o) and has_all(o, path))
            if (original := next(originals, None)) is not None:
                del directory.runs[path]
                directory.problems.append(Problem(path, _copy_of(original)))
    kept: list[Directory] = []
    for directory in sorted(directories, key=lambda directory: len(directory.path.name)):
        first = next(
            (
                other
                for other in kept
                if directory.path.parent == other.path.parent
                and not directory.empty
                and is_copy(directory.path, other.path)
                and has_everything(directory, other)
            ),
            None,
        )
        if first is None:
            kept.append(directory)
        else:
            first.problems.append(Problem(directory.path, _copy_of(first.path)))
    return [directory for directory in directories if directory in kept]


def _copy_of(original: Path) -> str:
    return f"a copy of {readable(original.name)}, which is used"
