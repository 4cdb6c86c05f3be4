"""Directories of archived results: the experiments in them, and their files.

A directory with files of runs is a run's; the directory that contains it is the experiment. A
summary table belongs to the experiment of its directory, or of one above that has the same runs.

Run directories and experiments that are copies of their neighbours, such as backups, are skipped. A
copy has the other's name with a suffix, and no result that the other lacks: two measurements never
agree to the last digit.

Tables with different rates for the same tests of the same runs (`qps.abs.io.tsv` and
`qps.abs.mem.tsv`) were measured under different conditions. Each set becomes an experiment of its
own: ratios between the sets would compare the conditions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from slowdust.archive.files import Packed, visit
from slowdust.archive.runs import order_of_runs
from slowdust.archive.sysbench.names import (
    SCAN,
    clients_in_name,
    common_of,
    parse_file,
    why_no_file,
)
from slowdust.archive.sysbench.rates import ScanRule, rate_of
from slowdust.archive.sysbench.run_directory import RunDirectory
from slowdust.archive.sysbench.tables import (
    Hardware,
    Rates,
    Table,
    Tables,
    is_table,
    take_tables,
)
from slowdust.exchange import ForeignKind, Problem, around, name_experiment
from slowdust.text import readable
from slowdust.wording import listing

_ALIKE = 0.01
"""Relative difference of rates that may come from rounding or editing; two runs rarely get so
close."""
_Cells = Mapping[tuple[str, str, str], Mapping[int | None, str]]
"""Run that the rates are relative to (or ''), run and `FileName.common` -> clients -> rate."""


@dataclass
class Directory:
    """An experiment's directory."""

    path: Path
    """The resolved path, which is the same for all spellings."""
    name: str
    around: list[Path]
    """The directory, and those around it whose names count, too: see `exchange.around`."""
    whole: bool
    """Whether the import got the whole directory, and not only runs in it."""
    runs: dict[Path, list[str]] = field(default_factory=dict)
    """Run directory -> names of its files."""
    tables: Tables = field(default_factory=Tables)
    assumed: list[str] = field(default_factory=list)
    """Sentences on the names that were assumed for columns without names."""
    condition: str = ""
    """Words that distinguish its tables from tables of other conditions in the directory."""

    @property
    def problems(self) -> list[Problem]:
        """Problems of files outside of runs."""
        return self.tables.problems

    @property
    def run_names(self) -> set[str]:
        return {readable(path.name) for path in self.runs}

    @property
    def known_runs(self) -> set[str]:
        """Names of runs from its directories and tables."""
        return self.run_names | self.tables.runs

    @property
    def empty(self) -> bool:
        """Whether it has nothing for an experiment."""
        return not (self.runs or self.tables.with_results)


def scan(roots: Iterable[Path], foreign: ForeignKind, packed: Packed) -> list[Directory]:
    """Return the experiments below `roots`, and the files outside of experiments.

    Files outside of experiments are in a directory that is `empty`. A run directory that is
    `packed` belongs to the directory with its archive.
    """
    directories: dict[Path, Directory] = {}
    for root, visited, place in visit(roots, packed):
        path, names = visited.path, visited.names
        if not names and not visited.problems:
            continue
        is_run = any(name.startswith("sb.") and parse_file(name) is not None for name in names)
        home = place.parent if is_run else place
        if home not in directories:
            title, whole = name_experiment(home, root), home.is_relative_to(root)
            directories[home] = Directory(home, title, around(home, root), whole)
        tables = directories[home].tables
        named = [name for name in names if not name.startswith("sb.") and is_table(name)]
        take_tables(tables, path, named)
        tables.problems.extend(visited.problems)
        others = []
        for name in (name for name in names if name not in named):
            if (by_product := foreign(name)) is not None:
                tables.by_products[by_product] += 1
            else:
                others.append(name)
        if is_run:
            directories[home].runs[path] = others
        else:
            tables.problems.extend(Problem(path / name, why_no_file(name)) for name in others)
    return list(directories.values())


def arrange(directories: Sequence[Directory], runs: Mapping[Path, RunDirectory]) -> list[Directory]:
    return [
        part
        for home in _without_copies(_joined(directories), runs)
        for part in _by_condition(home, [runs[path] for path in home.runs])
    ]


@dataclass
class _Condition:
    """Rates that may be from one condition, and the tables with them."""

    words: list[str] = field(default_factory=list)
    """The words in the names of its first table and its directories."""
    own: frozenset[tuple[str, str, str]] = frozenset()
    """The keys of the rates in the runs' own files, if they are from this condition."""
    rates: dict[tuple[str, str, str], dict[int | None, str]] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)

    def learn(self, cells: _Cells) -> None:
        for key, by_clients in cells.items():
            self.rates[key] = {**by_clients, **self.rates.get(key, {})}

    def likeness(self, cells: _Cells) -> int | None:
        """Return the number of rates that agree; None if more of them differ.

        A table whose rates are all in the runs' own files always agrees, since it is not used.
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


def _by_condition(directory: Directory, runs: Sequence[RunDirectory]) -> list[Directory]:
    """Return the directory with the tables of its runs' condition, and one for each other
    condition.

    If no run has a rate, the first table's condition is the first. Tables without rates stay with
    the first condition, unless they have more words in common with another.
    """

    def words_of(table: Table) -> list[str]:
        below = table.path.parent.relative_to(directory.path).parts
        return [word for word in (*below, *table.tag.split(".")) if word]

    tables = directory.tables
    conditions = []
    if own := _cells_of_runs(runs):
        conditions.append(_Condition(own=frozenset(own)))
        conditions[0].learn(own)
    homes: dict[int, int] = {}
    """Id of a table -> index of its condition."""
    for table in (*tables.rates, *tables.relative, *tables.of_kind(Hardware)):
        words, cells = words_of(table), _cells_of_table(table)
        likeness = {
            place: (same, len(set(words) & set(condition.words)), -place)
            for place, condition in enumerate(conditions)
            if (same := condition.likeness(cells)) is not None
        }
        if not likeness:
            conditions.append(_Condition())
        place = max(likeness, key=lambda at: likeness[at], default=len(conditions) - 1)
        condition = conditions[place]
        homes[id(table)] = place
        condition.tables.append(table)
        condition.words = condition.words or words
        condition.learn(cells)
    if len(conditions) < 2:
        return [directory]
    every, derived = tables.all, tables.derived
    for table in (table for table in every if id(table) not in homes):
        common = [len({*words_of(table)} & {*condition.words}) for condition in conditions]
        homes[id(table)] = common.index(max(common))
    parts = [directory]
    parts += [replace(directory, runs={}, tables=Tables(), assumed=[]) for _ in conditions[1:]]
    name = directory.name
    for place, (part, title) in enumerate(zip(parts, _titles(conditions), strict=True)):
        part.condition = title
        part.name = f"{name}-{title}" if title else name
        part.tables.all = [table for table in every if homes[id(table)] == place]
        part.tables.derived = [pair for pair in derived if homes[id(pair[1])] == place]
        if place:
            files = listing([table.path.name for table in conditions[place].tables])
            directory.assumed.append(
                f"{files}: rates of the same tests differ, so the conditions differed: imported "
                f"separately, under a name that ends with '-{title}'"
            )
    return parts


def _titles(conditions: Sequence[_Condition]) -> list[str]:
    of_tables = [set(each.words) for each in conditions if not each.own]
    common = set.intersection(*of_tables) if len(of_tables) > 1 else set()
    titles = []
    for number, condition in enumerate(conditions, start=1):
        words = [word for word in condition.words if word not in common]
        distinct = "-".join(words) or ("" if number == 1 else str(number))
        titles.append("" if condition.own else distinct)
    return titles


def _cells_of_table(table: Table) -> _Cells:
    """Return the rates of a table, without rates of 0."""
    found: list[tuple[tuple[str, str, str], int | None, str]] = []
    if isinstance(table, Rates):
        clients = clients_in_name(table.path.name)
        for label, run, rate in table.cells:
            if (common := common_of(label, run)) is not None:
                found.append(((table.base or "", run, common), clients, rate))
    elif isinstance(table, Hardware):
        for _, name, row in table.rows:
            if (file := parse_file(name)) is not None and file.kind == "met":
                found.append((("", row.run, file.common), file.dop, row["o/s"]))
    cells: dict[tuple[str, str, str], dict[int | None, str]] = {}
    for key, clients, rate in found:
        if rate and float(rate):
            cells.setdefault(key, {})[clients] = rate
    return cells


def _cells_of_runs(runs: Sequence[RunDirectory]) -> _Cells:
    """Return the published rates of runs, except scan, which has two rules."""
    cells: dict[tuple[str, str, str], dict[int | None, str]] = {}
    for run in runs:
        for test in run.tests.values():
            rate = rate_of(test, ScanRule.ALL_THREADS)
            if rate is not None and not test.is_load and test.file.test != SCAN:
                cells.setdefault(("", run.name, test.file.common), {})[test.dop] = rate.whole
    return cells


def _joined(directories: Sequence[Directory]) -> list[Directory]:
    """Merge tables below an experiment that have its runs, and stray files, into it."""

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


def _name_columns(
    tables: Tables, around: Sequence[tuple[Tables, Collection[str]]]
) -> Iterator[str]:
    """Name the columns of tables without names, such as .csv; yield sentences on assumptions.

    `around` has the tables and the names of run directories of the directories to search for the
    same number of runs, the nearest first; in each, tables precede run directories. If nothing
    matches, columns are numbered.
    """
    for table in (*tables.rates, *tables.relative):
        if table.named:
            continue
        width, why = len(table.runs), "so they are numbered"
        base = [] if table.base is None else [table.base]
        runs: Sequence[str] = [*base, *(f"col-{n}" for n in range(1, width + 1 - len(base)))]
        for others, directories in around:
            alike = [each for each in others.of_runs if each.named and len(each.runs) == width]
            if alike:
                runs, why = alike[0].runs, f"assumed to be as in {alike[0].path.name}"
            elif len(directories) == width:
                runs = sorted(directories, key=order_of_runs)
                why = "assumed to be the run directories, the oldest version first"
            else:
                continue
            table.named = True
            break
        table.name(runs)
        yield f"{table.path.name}: columns without names, {why}"


def _without_copies(
    directories: Sequence[Directory], runs: Mapping[Path, RunDirectory]
) -> list[Directory]:
    """Return the directories without copies; a copy is a problem of its original."""
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

    def is_copied(directory: Directory, other: Directory) -> bool:
        by_name = {path.name: path for path in other.runs}
        tables = other.tables.of_runs
        return (
            directory.path.parent == other.path.parent
            and not directory.empty
            and is_copy(directory.path, other.path)
            and all(
                path.name in by_name and has_all(by_name[path.name], path)
                for path in directory.runs
            )
            and all(table in tables for table in directory.tables.of_runs)
        )

    def copy(path: Path, original: Path) -> Problem:
        return Problem(path, f"a copy of {readable(original.name)}; the original is used")

    for directory in directories:
        for path in sorted(directory.runs, key=lambda path: len(path.name), reverse=True):
            originals = (o for o in directory.runs if is_copy(path, o) and has_all(o, path))
            if (original := next(originals, None)) is not None:
                del directory.runs[path]
                directory.problems.append(copy(path, original))
    kept: list[Directory] = []
    for directory in sorted(directories, key=lambda directory: len(directory.path.name)):
        first = next((other for other in kept if is_copied(directory, other)), None)
        if first is None:
            kept.append(directory)
        else:
            first.problems.append(copy(directory.path, first.path))
    return [directory for directory in directories if any(directory is each for each in kept)]
