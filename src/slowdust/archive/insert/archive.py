"""The content of a directory of Insert Benchmark results, by run and step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.classic import Row
from slowdust.archive.files import (
    TWICE,
    Cell,
    Unusable,
    differing,
    read_shared,
    size_of,
)
from slowdust.archive.insert.names import (
    FileKind,
    FileName,
    in_order,
    is_of_no_clients,
    name_steps,
    parse_file,
    step_of_directory,
    without_size,
)
from slowdust.archive.insert.tables import (
    NUMBERS,
    RUN_TABLE,
    ClientOutput,
    ResponseTimes,
    StepResult,
    merged_row,
    read_client,
    read_groups,
    read_merged,
    read_result,
    read_steps,
    read_sum,
    relative_rows,
)
from slowdust.exchange import Files, ForeignKind
from slowdust.text import DamagedError, beginning, lines_of, read_content
from slowdust.units import Second, known
from slowdust.wording import counted

_SHOWN = 40
"""Maximum number of characters of a damaged line that a problem quotes."""
_ALIKE = 0.01
"""Relative difference of rates that may come from rounding or editing."""
Groups = tuple[tuple[str, ...], ...]
"""Tags of runs in the groups of a table; each group is compared with its own first run."""


@dataclass
class ArchivedStep:
    """One step of one run; values without a file are missing (None or empty)."""

    row: Row | None = None
    """The row of o.sum, or else of mrg."""
    row_source: str = ""
    """The table with the row."""
    clients: int | None = None
    result: StepResult | None = None
    outputs: dict[int, ClientOutput] = field(default_factory=dict)
    """Client -> its output; the next field has the paths of the files."""
    client_paths: dict[int, Path] = field(default_factory=dict)
    result_path: Path | None = None
    response_times: dict[str, ResponseTimes] = field(default_factory=dict)
    """`insert`, `delete`, `query` -> histogram over all clients."""
    longest: dict[str, Second] = field(default_factory=dict)
    """`insert`, `delete`, `query` -> longest time, from a table of several runs."""

    @property
    def whole_outputs(self) -> list[ClientOutput]:
        """The output of all clients; empty if any output is missing or incomplete.

        The counts of an incomplete output describe only the beginning, which may have been faster.
        """
        there = [self.outputs[number] for number in sorted(self.outputs)]
        whole = len(there) == (self.clients or 0) and all(output.complete for output in there)
        return there if whole else []

    @property
    def has_sources(self) -> bool:
        """Whether the sources of its row of o.sum exist."""
        return self.result is not None or bool(self.whole_outputs)


@dataclass
class MergedTables:
    """The files mrg of one directory with the same runs in the same groups."""

    folder: str
    """The directory, relative to the archive's."""
    groups: Groups
    steps: list[str]

    @property
    def runs(self) -> list[str]:
        return [run for group in self.groups for run in group]


@dataclass
class InsertArchive(Files):
    """The content of a directory."""

    path: Path
    runs: dict[str, dict[str, ArchivedStep]] = field(default_factory=dict)
    """Tag without the rows in millions -> step as in the file name."""
    tags: dict[str, str] = field(default_factory=dict)
    """The same tag -> tag as first read."""
    table_paths: dict[str, Path] = field(default_factory=dict)
    """The same tag -> its file o.sum, complete or not."""
    run_tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Tag of a complete file o.sum -> its steps."""
    cut_tables: dict[str, int] = field(default_factory=dict)
    """Run with a damaged file o.sum -> number of its steps, if known."""
    merged_tables: list[MergedTables] = field(default_factory=list)
    folders: dict[Path, set[str]] = field(default_factory=dict)
    """Directory -> names of its subdirectories with usable files."""

    def step(self, tag: str, step: str) -> ArchivedStep:
        run = without_size(tag)
        self.tags.setdefault(run, tag)
        return self.runs.setdefault(run, {}).setdefault(step, ArchivedStep())

    def steps_of(self, runs: Iterable[str], step: str) -> list[ArchivedStep]:
        return known(self.runs.get(run, {}).get(step) for run in runs)

    @property
    def all_steps(self) -> list[tuple[str, ArchivedStep]]:
        return [pair for steps in self.runs.values() for pair in steps.items()]

    def folder_of(self, path: Path) -> str:
        return str(path.parent.relative_to(self.path))


@dataclass(frozen=True)
class _File:
    """A file of an archive: its complete lines, or the output of a client."""

    path: Path
    name: FileName
    lines: list[str]
    torn: bool
    """Whether the last line is cut."""
    output: ClientOutput | None = None

    @property
    def step(self) -> str:
        return self.name.step or ""

    @property
    def role(self) -> str:
        return self.name.role or ""

    def damage(self, damaged: Sequence[str]) -> list[str]:
        """Return the damage in words, quoting the first of the `damaged` lines."""
        quoted = [repr(line[:_SHOWN]) for line in damaged]
        lines = [beginning(quoted, 1)] if damaged else []
        return [*lines, "its last line is torn"] if self.torn else lines


def read_archive(path: Path, files: Iterable[Path], foreign: ForeignKind) -> InsertArchive:
    archive = InsertArchive(path)
    by_kind: dict[FileKind, list[_File]] = {kind: [] for kind in FileKind}
    for file in _read_files(archive, files, foreign):
        by_kind[file.name.kind].append(file)
    for file in by_kind[FileKind.CLIENT]:
        _take_of_step(archive, file)
    merged = [*by_kind[FileKind.MERGED], *by_kind[FileKind.SELECTED]]
    relative = by_kind[FileKind.RELATIVE]
    named = {file.step for file in [*merged, *relative] if file.step}
    # Tables of runs come first: other tables are made from them.
    _take_runs(archive, by_kind[FileKind.RUN], tuple(in_order(named)))
    _take_merged(archive, merged)
    for kind, take in (
        (FileKind.RELATIVE, _take_relative),
        (FileKind.RESULT, _take_of_step),
        (FileKind.RESPONSE, _take_of_step),
        (FileKind.MERGED_RESPONSE, _take_merged_response),
    ):
        for file in by_kind[kind]:
            take(archive, file)
    archive.runs = {
        tag: {step: steps[step] for step in in_order(steps)} for tag, steps in archive.runs.items()
    }
    return archive


def _names_of_use(
    archive: InsertArchive, files: Iterable[Path], foreign: ForeignKind
) -> dict[Path, FileName]:
    named: dict[Path, FileName] = {}
    for path in files:
        name, parts = parse_file(path.name), path.name.split(".")
        if (by_product := foreign(path.name)) is not None:
            archive.by_products[by_product] += 1
        elif name is None:
            no_clients = "0 clients according to its name, so it is not a result"
            other = "not a file of the Insert Benchmark"
            archive.skip(path, no_clients if is_of_no_clients(path.name) else other)
        elif name.kind is FileKind.SELECTION:
            archive.by_products[f"{parts[0]}.{parts[-1]}"] += 1
        elif name.kind is FileKind.BY_PRODUCT:
            archive.by_products[".".join(parts[:2])] += 1
        else:
            archive.folders.setdefault(path.parent.parent, set()).add(path.parent.name)
            named[path] = name
    return named


def _read_files(
    archive: InsertArchive, files: Iterable[Path], foreign: ForeignKind
) -> Iterator[_File]:
    named = _names_of_use(archive, files, foreign)
    for path in sorted(named):
        if (compressed := path.with_name(f"{path.name}.gz")) in named:
            empty = (path, "the plain file is empty: the compressed file is read")
            unused, reason = (compressed, TWICE) if size_of(str(path)) > 0 else empty
            archive.skip(unused, reason)
            del named[unused]
    merged = {(at.parent, name.step) for at, name in named.items() if name.kind is FileKind.MERGED}
    for path, name in list(named.items()):
        if name.kind is FileKind.SELECTED and (path.parent, name.step) in merged:
            archive.by_products["mrg.some"] += 1
            del named[path]
    requests = list(named.items())
    answers = read_shared(requests, [str(path) for path, _ in requests], _read_some)
    for (path, _), answer in zip(requests, answers, strict=True):
        if isinstance(answer, Unusable):
            archive.skip(path, answer.reason)
        else:
            yield answer


def _read_some(requests: Sequence[tuple[Path, FileName]]) -> list[_File | Unusable]:
    answers: list[_File | Unusable] = []
    for path, name in requests:
        try:
            content = read_content(path)
        except DamagedError as error:
            answers.append(Unusable(str(error)))
            continue
        if name.kind is FileKind.CLIENT:
            output = read_client(content)
            whole = output and _File(path, name, [], torn=False, output=output)
            answers.append(whole or Unusable("no complete row"))
        else:
            lines = lines_of(content)
            torn = not content.endswith((b"\n", b"\r"))
            answers.append(_File(path, name, lines[:-1] if torn else lines, torn))
    return answers


def _take_of_step(archive: InsertArchive, file: _File) -> None:
    """Take a file in RUN/STEP/; note a file outside of such directories."""
    folder, run = file.path.parent, file.path.parent.parent
    name = step_of_directory(folder.name, archive.folders[run])
    if name is None:
        archive.skip(file.path, "not in a directory RUN/STEP")
        return
    step, clients = archive.step(run.name, name), file.name.clients
    first = next(iter(step.client_paths.values()), step.result_path)
    if first is not None and clients is not None and step.clients not in (None, clients):
        archive.skip(file.path, f"its number of clients is not the one of {first.name}")
    elif file.output is not None:
        number = file.name.client or 1
        step.outputs[number], step.client_paths[number] = file.output, file.path
        step.clients = clients
        archive.use(file.path)
    elif file.name.kind is FileKind.RESULT:
        step.result, step.result_path = read_result(file.lines), file.path
        step.clients = step.clients or clients
        if step.result is None:
            damage = "; ".join(file.damage(file.lines[:1]))
            archive.skip(file.path, f"the first line is not a result: {damage}")
        else:
            archive.use(file.path, file.damage([]))
    elif (histogram := read_sum(file.lines)) is None:
        archive.skip(file.path, "no sum over the clients")
    else:
        step.response_times[file.role] = histogram
        archive.use(file.path, file.damage([]))


def _take_merged_response(archive: InsertArchive, file: _File) -> None:
    longest_by_tag, damaged = read_merged(file.lines)
    names = (path.name for path in file.path.parent.iterdir())
    siblings = [
        name.removeprefix("mrg.").partition(".rt.")[0] for name in names if name.startswith("mrg.")
    ]
    step = step_of_directory(file.step, siblings)
    damage = file.damage(damaged)
    if step is None:
        archive.skip(file.path, "its step is unknown")
    elif not longest_by_tag:
        archive.skip(file.path, "; ".join(damage) or "it is empty")
    else:
        archive.use(file.path, damage)
        for tag, longest in longest_by_tag.items():
            archive.step(tag, step).longest[file.role] = longest


def _take_runs(archive: InsertArchive, files: Sequence[_File], named: tuple[str, ...]) -> None:
    tables = []
    for file in files:
        rows, damaged = read_steps(file.lines)
        tables.append(([*rows, None] if file.torn else rows, damaged))
    names = name_steps([rows for rows, _ in tables], named)
    for file, (rows, damaged), steps in zip(files, tables, names, strict=True):
        if steps is None or not any(rows):
            unknown = f"{counted(len(rows), 'step')}: unknown"
            archive.skip(file.path, unknown if any(rows) else "torn")
            continue
        tag = next((row.run for row in rows if row is not None), file.name.tag or "")
        run = without_size(tag)
        if any(step.row is not None for step in archive.runs.get(run, {}).values()):
            reason = "the same run with another size; import each size from its own directory"
            archive.skip(file.path, reason)
            continue
        archive.table_paths[run] = file.path
        for name, row in zip(steps.names, rows, strict=True):
            if row is not None:
                step = archive.step(tag, name)
                step.row, step.row_source = row, RUN_TABLE
        damage = file.damage(damaged)
        # The run may have directories of steps that its table lacks.
        of_run = [below for folder, below in archive.folders.items() if folder.name == tag]
        there = {step_of_directory(name, below) for below in of_run for name in below} - {None}
        expected = steps.expected
        if expected != len(steps.names) and (expected or not there <= set(steps.names)):
            of = f" of {expected}" if expected else ""
            done = max(place for place, row in enumerate(rows, 1) if row is not None)
            damage = [f"ends after {done}{of} steps", *damage]
        archive.use(file.path, damage)
        if not damage:
            archive.run_tables[tag] = steps.names
        elif expected is not None:
            archive.cut_tables[run] = expected


@dataclass(frozen=True)
class _Merged:
    """A file mrg."""

    file: _File
    groups: list[list[Row]]
    damage: list[str]

    @property
    def rows(self) -> list[Row]:
        return [row for group in self.groups for row in group]

    @property
    def runs(self) -> Groups:
        return tuple(tuple(without_size(row.run) for row in group) for group in self.groups)


def _take_merged(archive: InsertArchive, files: Sequence[_File]) -> None:
    tables = []
    for file in files:
        groups, damaged = read_groups(file.lines)
        table = _Merged(file, groups, file.damage(damaged))
        if (other := _of_other_condition(archive, table)) is not None:
            archive.skip(
                file.path,
                f"its rates of the same runs differ from {other}, so the conditions differed; "
                "import its directory alone",
            )
            continue
        tables.append(table)
        for row in table.rows:
            step = archive.step(row.run, file.step)
            if step.row is None:
                step.row = row
                step.row_source = f"{archive.folder_of(file.path)}/{file.path.name}"
    for folder in dict.fromkeys(table.file.path.parent for table in tables):
        of_folder = [table for table in tables if table.file.path.parent == folder]
        # The runs of most tables; for equal counts, the most runs.
        counts = Counter(table.runs for table in of_folder if table.runs)
        usual = max(counts, key=lambda runs: (counts[runs], sum(map(len, runs))), default=())
        for table in of_folder:
            _take_groups(archive, table, usual)
    for table in tables:
        by_source: dict[str, list[Cell]] = {}
        for row in table.rows:
            known_step = archive.step(row.run, table.file.step)
            if known_step.row is not None and known_step.row is not row:
                cells = by_source.setdefault(known_step.row_source, [])
                cells += _cells(row, merged_row(known_step.row))
        for source, cells in by_source.items():
            archive.problems += differing(table.file.path, cells, source)


def _of_other_condition(archive: InsertArchive, table: _Merged) -> str | None:
    """Return the merged table with different rates for most of the same runs, if any.

    Otherwise the rows of one contender would be from it, and the rows of another from this one.
    """
    alike: Counter[str] = Counter()
    for row in table.rows:
        there = archive.runs.get(without_size(row.run), {}).get(table.file.step)
        if there is not None and there.row is not None and there.row_source != RUN_TABLE:
            pairs = [(row.number(name), there.row.number(name)) for name in ("ips", "qps")]
            same = all(
                ours is None or theirs is None or math.isclose(ours, theirs, rel_tol=_ALIKE)
                for ours, theirs in pairs
            )
            alike[there.row_source] += 1 if same else -1
    return next((source for source, more in alike.items() if more < 0), None)


def _take_groups(archive: InsertArchive, table: _Merged, usual: Groups) -> None:
    """Take the runs of a table; runs that it lacks come from their own tables.

    A table without some of the usual runs has been cut.
    """
    runs = table.runs
    if not runs:
        archive.skip(table.file.path, "; ".join(table.damage) or "it is empty")
        return
    ours, all_ = [run for group in runs for run in group], [run for group in usual for run in group]
    cut = len(ours) < len(all_) and ours == [run for run in all_ if run in ours]
    rows = [f"{len(ours)} of {len(all_)} rows"] if cut else []
    archive.use(table.file.path, [*rows, *table.damage])
    folder, groups = archive.folder_of(table.file.path), usual if cut else runs
    for tables in archive.merged_tables:
        if (tables.folder, tables.groups) == (folder, groups):
            tables.steps.append(table.file.step)
            return
    archive.merged_tables.append(MergedTables(folder, groups, [table.file.step]))


def _cells(there: Row, expected: Row) -> Iterator[Cell]:
    for column, *cells in zip(NUMBERS, there.cells, expected.cells, strict=True):
        yield f"{column} of {without_size(there.run)}", cells[0], cells[1]


def _take_relative(archive: InsertArchive, file: _File) -> None:
    groups, damaged = read_groups(file.lines)
    there = {without_size(row.run): row for group in groups for row in group}
    step, folder = file.step, archive.folder_of(file.path)
    # If the step's own tables are missing, use the largest tables of the directory.
    tables = max(
        (tables for tables in archive.merged_tables if tables.folder == folder),
        key=lambda tables: (step in tables.steps, step not in tables.steps and len(tables.steps)),
        default=None,
    )
    expected: list[Row] = []
    for group in tables.groups if tables else ():
        steps = archive.steps_of(group, step)
        rows = [merged_row(each.row) for each in steps if each.row is not None]
        if rows and rows[0].run == group[0]:  # the others are relative to it
            expected += relative_rows(rows)
    if tables is None or not (expected or step in tables.steps):
        archive.skip(file.path, f"only relative numbers: mrg.{step} is missing")
        return
    if damage := file.damage(damaged):
        archive.skip(file.path, "; ".join(damage))
        return
    archive.used += 1
    cells: list[Cell] = []
    for row in expected:
        found = there.get(row.run)
        cells += _cells(found, row) if found else [(f"the row of {row.run}", "", "one")]
    others = there.keys() - {run for group in tables.groups for run in group[1:]}
    cells += [(f"the row of {run}", "one", "") for run in there if run in others]
    whole = any(each.row_source == RUN_TABLE for each in archive.steps_of(tables.runs, step))
    archive.problems += differing(file.path, cells, RUN_TABLE if whole else f"mrg.{step}")
