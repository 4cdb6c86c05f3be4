"""The content of a directory of Insert Benchmark results, run by run and step by step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.files import TWICE, Cell, Unusable, differing, read_shared, size_of
from slowdust.archive.insert import client
from slowdust.archive.insert.archive import (
    ArchivedStep,
    InsertArchive,
    MergedTables,
    RunTable,
    TextFile,
)
from slowdust.archive.insert.client import ClientOutput
from slowdust.archive.insert.names import (
    FileKind,
    FileName,
    in_order,
    is_of_no_clients,
    parse_file,
    rate_of,
    step_of_directory,
    without_size,
)
from slowdust.archive.insert.tables import (
    COLUMNS,
    RUN_TABLE,
    Row,
    merged_row,
    read_groups,
    read_result,
    read_steps,
    relative_rows,
)
from slowdust.exchange import ForeignKind
from slowdust.formats.text import DamagedError, lines_of, read_content
from slowdust.wording import counted

FOREIGN = "not a file of the Insert Benchmark"
_NO_CLIENTS = "0 clients by its name: it counts as no result"
_OF_NO_STEP = "not below a directory of a run and a step"
_EMPTY = "the plain one is empty: the compressed one is read"


@dataclass(frozen=True)
class _ClientFile:
    path: Path
    name: FileName
    output: ClientOutput


_Request = tuple[Path, FileName]
_Answer = TextFile | _ClientFile | Unusable


def read_archive(path: Path, files: Iterable[Path], foreign: ForeignKind) -> InsertArchive:
    archive = InsertArchive(path)
    texts: dict[FileKind, list[TextFile]] = {kind: [] for kind in FileKind}
    for file in _read_files(archive, files, foreign):
        if isinstance(file, _ClientFile):
            _take_client(archive, file)
        else:
            texts[file.name.kind].append(file)
    merged = [*texts[FileKind.MERGED], *texts[FileKind.SELECTED]]
    relative = texts[FileKind.RELATIVE]
    named = {file.name.step for file in [*merged, *relative] if file.name.step}
    # Tables of runs come first: the others are made of them.
    _take_runs(archive, texts[FileKind.RUN], tuple(in_order(named)))
    _take_merged(archive, merged)
    for text in relative:
        _take_relative(archive, text)
    for text in texts[FileKind.RESULT]:
        _take_result(archive, text)
    for text in texts[FileKind.RESPONSE]:
        _take_response(archive, text)
    for text in texts[FileKind.MERGED_RESPONSE]:
        _take_merged_response(archive, text)
    archive.runs = {
        tag: {step: steps[step] for step in in_order(steps)} for tag, steps in archive.runs.items()
    }
    return archive


def _read_files(
    archive: InsertArchive, files: Iterable[Path], foreign: ForeignKind
) -> Iterator[TextFile | _ClientFile]:
    named = {path: name for path in files if (name := _name(archive, path, foreign)) is not None}
    for path in sorted(named):
        if (compressed := path.with_name(f"{path.name}.gz")) in named:
            filled = size_of(str(path)) > 0
            unused, reason = (compressed, TWICE) if filled else (path, _EMPTY)
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


def _name(archive: InsertArchive, path: Path, foreign: ForeignKind) -> FileName | None:
    name = parse_file(path.name)
    if (by_product := foreign(path.name)) is not None:
        archive.by_products[by_product] += 1
    elif name is None:
        archive.skip(path, _NO_CLIENTS if is_of_no_clients(path.name) else FOREIGN)
    elif name.kind is FileKind.SELECTION:
        parts = path.name.split(".")
        archive.by_products[f"{parts[0]}.{parts[-1]}"] += 1
    elif name.kind is FileKind.BY_PRODUCT:
        archive.by_products[".".join(path.name.split(".")[:2])] += 1
    else:
        archive.folders.setdefault(path.parent.parent, set()).add(path.parent.name)
        return name
    return None


def _read_some(requests: Sequence[_Request]) -> list[_Answer]:
    answers: list[_Answer] = []
    for path, name in requests:
        try:
            content = read_content(path)
        except DamagedError as error:
            answers.append(Unusable(str(error)))
            continue
        if name.kind is FileKind.CLIENT:
            output = client.read(content)
            whole = None if output is None else _ClientFile(path, name, output)
            answers.append(whole or Unusable("no whole row"))
        else:
            lines = lines_of(content)
            torn = not content.endswith((b"\n", b"\r"))
            answers.append(TextFile(path, name, lines[:-1] if torn else lines, torn))
    return answers


def _take_client(archive: InsertArchive, file: _ClientFile) -> None:
    step = _step_of(archive, file)
    if step is None:
        return
    number = file.name.client or 1
    step.outputs[number], step.client_paths[number] = file.output, file.path
    step.clients = file.name.clients
    archive.use(file.path)


def _take_result(archive: InsertArchive, file: TextFile) -> None:
    step = _step_of(archive, file)
    if step is None:
        return
    step.result, step.result_path = read_result(file.lines), file.path
    step.clients = step.clients or file.name.clients
    if step.result is None:
        damage = file.damage(file.lines[:1])
        archive.skip(file.path, f"no first line of results: {'; '.join(damage)}")
    else:
        archive.use(file.path, file.damage([]))


def _take_response(archive: InsertArchive, file: TextFile) -> None:
    step = _step_of(archive, file)
    if step is None:
        return
    histogram = client.read_sum(file.lines)
    if histogram is None:
        archive.skip(file.path, "no sum of the clients")
        return
    step.response_times[file.name.role or ""] = histogram
    archive.use(file.path, file.damage([]))


def _take_merged_response(archive: InsertArchive, file: TextFile) -> None:
    longest_by_tag, damaged = client.read_merged(file.lines)
    names = (path.name for path in file.path.parent.iterdir())
    beside = [
        name.removeprefix("mrg.").partition(".rt.")[0] for name in names if name.startswith("mrg.")
    ]
    step = step_of_directory(file.name.step or "", beside)
    damage = file.damage(damaged)
    if step is None:
        archive.skip(file.path, "of a step that is not known")
    elif not longest_by_tag:
        archive.skip(file.path, "; ".join(damage) or "nothing in it")
    else:
        archive.use(file.path, damage)
        for tag, longest in longest_by_tag.items():
            archive.step(tag, step).longest[file.name.role or ""] = longest


"""Functions by kind of file, in the order in which they run."""


def _step_of(archive: InsertArchive, file: TextFile | _ClientFile) -> ArchivedStep | None:
    """Return the step of a file in RUN/STEP/; a file that is of none is noted."""
    folder, run = file.path.parent, file.path.parent.parent
    name = step_of_directory(folder.name, archive.folders[run])
    if name is None:
        archive.skip(file.path, _OF_NO_STEP)
        return None
    step = archive.step(run.name, name)
    if file.name.clients is None or step.clients in (None, file.name.clients):
        return step
    first = next(iter(step.client_paths.values()), step.result_path)
    if first is None:
        return step
    archive.skip(file.path, f"of another number of clients than {first.name}")
    return None


Groups = tuple[tuple[str, ...], ...]
"""Runs, as a table has them."""
_STEPS_2021 = (
    "l.i0", "l.x", "l.i1",
    *(f"q{rate}.{loop}" for rate in (100, 200, 400, 600, 800, 1000) for loop in (1, 2)),
)  # fmt: skip
_STEPS_2022 = ("l.i0", "l.x", "l.i1", "q100.1", "q500.1", "q1000.1")
_STEPS_2024 = (
    "l.i0", "l.x", "l.i1", "l.i2",
    "qr100.L1", "qp100.L2", "qr500.L3", "qp500.L4", "qr1000.L5", "qp1000.L6",
)  # fmt: skip
SEQUENCES = (_STEPS_2021, _STEPS_2022, _STEPS_2024)
"""The steps in the order in which they ran, of different years."""
_ALIKE = 0.01
"""Relative difference of rates that may be rounding or a hand's."""
_REACHED = 0.95
"""The part of a rate from which on it counts as reached."""

Rows = Sequence[Row | None]
"""The rows of a file; None is a damaged one."""


@dataclass(frozen=True)
class _Merged:
    """A file mrg."""

    file: TextFile
    groups: list[list[Row]]
    damage: list[str]

    @property
    def step(self) -> str:
        return self.file.name.step or ""

    @property
    def rows(self) -> list[Row]:
        return [row for group in self.groups for row in group]

    @property
    def runs(self) -> Groups:
        return tuple(tuple(without_size(row.tag) for row in group) for group in self.groups)


def _take_runs(archive: InsertArchive, files: Sequence[TextFile], named: tuple[str, ...]) -> None:
    tables = []
    for file in files:
        rows, damaged = read_steps(file.lines)
        tables.append(([*rows, None] if file.torn else rows, damaged))
    names = name_steps([rows for rows, _ in tables], named)
    for file, (rows, damaged), steps in zip(files, tables, names, strict=True):
        if steps is None or not any(rows):
            unknown = f"{counted(len(rows), 'step')}: which is not known"
            archive.skip(file.path, unknown if any(rows) else "torn")
            continue
        tag = next((row.tag for row in rows if row is not None), file.name.tag or "")
        run = without_size(tag)
        if any(step.row is not None for step in archive.runs.get(run, {}).values()):
            reason = "the same run at another size: import each size from its own directory"
            archive.skip(file.path, reason)
            continue
        archive.table_paths[run] = file.path
        for name, row in zip(steps.names, rows, strict=True):
            if row is not None:
                step = archive.step(tag, name)
                step.row, step.row_source = row, RUN_TABLE
        damage = file.damage(damaged)
        # The run may have directories of other steps than its table.
        of_run = [below for folder, below in archive.folders.items() if folder.name == tag]
        there = {step_of_directory(name, below) for below in of_run for name in below} - {None}
        if steps.cut_short or (steps.expected is None and not there <= set(steps.names)):
            of = f" of {steps.expected}" if steps.expected else ""
            done = max(place for place, row in enumerate(rows, 1) if row is not None)
            damage = [f"ends after {done}{of} steps", *damage]
        archive.use(file.path, damage)
        if not damage:
            archive.run_tables.append(RunTable(tag, steps.names))
        elif steps.expected is not None:
            archive.cut_tables[run] = steps.expected


def _take_merged(archive: InsertArchive, files: Sequence[TextFile]) -> None:
    tables = []
    for file in files:
        groups, damaged = read_groups(file.lines)
        table = _Merged(file, groups, file.damage(damaged))
        if (other := _of_other_condition(archive, table)) is not None:
            archive.skip(
                file.path,
                f"other rates of the same runs than {other}, so of another condition: import its "
                "directory alone",
            )
            continue
        tables.append(table)
        for row in table.rows:
            step = archive.step(row.tag, table.step)
            if step.row is None:
                step.row, step.row_source = row, f"{_folder(archive, file)}/{file.path.name}"
    for folder in dict.fromkeys(table.file.path.parent for table in tables):
        of_folder = [table for table in tables if table.file.path.parent == folder]
        # The runs that most tables have; of as many tables, the more runs.
        counts = Counter(table.runs for table in of_folder if table.runs)
        usual = max(counts, key=lambda runs: (counts[runs], sum(map(len, runs))), default=())
        for table in of_folder:
            _take_groups(archive, table, usual)
    for table in tables:
        by_source: dict[str, list[Cell]] = {}
        for row in table.rows:
            known = archive.step(row.tag, table.step)
            if known.row is not None and known.row is not row:
                cells = by_source.setdefault(known.row_source, [])
                cells += _cells(row, merged_row(known.row))
        for source, cells in by_source.items():
            archive.problems += differing(table.file.path, cells, source)


def _of_other_condition(archive: InsertArchive, table: _Merged) -> str | None:
    """Return the merged table with other rates of most of the same runs, if there is one.

    One contender's row would be from it, and another's from this one.
    """
    alike: Counter[str] = Counter()
    for row in table.rows:
        known = archive.runs.get(without_size(row.tag), {}).get(table.step)
        if known is not None and known.row is not None and known.row_source != RUN_TABLE:
            pairs = [(row.number(name), known.row.number(name)) for name in ("ips", "qps")]
            same = all(
                ours is None or theirs is None or math.isclose(ours, theirs, rel_tol=_ALIKE)
                for ours, theirs in pairs
            )
            alike[known.row_source] += 1 if same else -1
    return next((source for source, more in alike.items() if more < 0), None)


def _take_groups(archive: InsertArchive, table: _Merged, usual: Groups) -> None:
    """Take the runs of a table, those that it lacks from their own tables.

    A table that lacks some of the usual runs is one that was cut.
    """
    runs = table.runs
    if not runs:
        archive.skip(table.file.path, "; ".join(table.damage) or "nothing in it")
        return
    ours, all_ = [run for group in runs for run in group], [run for group in usual for run in group]
    cut = len(ours) < len(all_) and ours == [run for run in all_ if run in ours]
    rows = [f"{len(ours)} of {len(all_)} rows"] if cut else []
    archive.use(table.file.path, [*rows, *table.damage])
    folder = _folder(archive, table.file)
    groups = usual if cut else runs
    for tables in archive.merged_tables:
        if (tables.folder, tables.groups) == (folder, groups):
            tables.steps.append(table.step)
            break
    else:
        archive.merged_tables.append(MergedTables(folder, groups, [table.step]))


def _cells(there: Row, expected: Row) -> Iterator[Cell]:
    for column, *cells in zip(COLUMNS[:-1], there.cells, expected.cells, strict=False):
        yield f"{column} of {without_size(there.tag)}", cells[0], cells[1]


def _take_relative(archive: InsertArchive, file: TextFile) -> None:
    """Compare a file rel with mrg; nothing is taken from it."""
    groups, damaged = read_groups(file.lines)
    there = {without_size(row.tag): row for group in groups for row in group}
    step = file.name.step or ""
    tables = _tables_of(archive, _folder(archive, file), step)
    runs = tables.groups if tables else ()
    expected = [row for group in runs for row in _relative(archive, group, step)]
    if tables is None or not (expected or step in tables.steps):
        archive.skip(file.path, f"relative numbers alone: there is no mrg.{step} beside it")
        return
    if damage := file.damage(damaged):
        archive.skip(file.path, "; ".join(damage))
        return
    archive.used += 1
    cells: list[Cell] = []
    for row in expected:
        known = there.get(row.tag)
        cells += _cells(known, row) if known else [(f"the row of {row.tag}", "", "one")]
    others = there.keys() - {run for group in runs for run in group[1:]}
    cells += [(f"the row of {run}", "one", "") for run in there if run in others]
    of_runs = archive.steps_of(tables.runs, step)
    whole = any(known.row_source == RUN_TABLE for known in of_runs)
    archive.problems += differing(file.path, cells, RUN_TABLE if whole else f"mrg.{step}")


def _folder(archive: InsertArchive, file: TextFile) -> str:
    return str(file.path.parent.relative_to(archive.path))


def _tables_of(archive: InsertArchive, folder: str, step: str) -> MergedTables | None:
    """Return the tables with a step in a directory; where its own is missing, the largest."""
    of_folder = [tables for tables in archive.merged_tables if tables.folder == folder]
    own = [tables for tables in of_folder if step in tables.steps]
    return own[0] if own else max(of_folder, key=lambda tables: len(tables.steps), default=None)


def _relative(archive: InsertArchive, group: Sequence[str], step: str) -> list[Row]:
    """Return the rows of a group; none without its first, to which they are relative."""
    steps = archive.steps_of(group, step)
    rows = [merged_row(known.row) for known in steps if known.row is not None]
    return relative_rows(rows) if rows and rows[0].tag == group[0] else []


@dataclass(frozen=True)
class Steps:
    """The steps of the rows of a file."""

    names: tuple[str, ...]
    expected: int | None
    """Number of steps of a whole file; None where it is not known: several runs begin like this."""

    @property
    def cut_short(self) -> bool:
        return self.expected not in (None, len(self.names))


def name_steps(tables: Sequence[Rows], named: tuple[str, ...]) -> list[Steps | None]:
    """Return the steps of each table of a run, which has no names; None where they are not known.

    They follow from how many there are, which of them have queries, how many rows were inserted
    beside these, and the files around the table. `named` are those that have files of their own.
    A table is rather the beginning of these, or of the steps of longer tables, than a whole one of
    other steps, unless its insert rates differ.
    """
    steps_by_place: dict[int, Steps | None] = {}
    around = [named] if named else []
    for place in sorted(range(len(tables)), key=lambda place: -len(tables[place])):
        steps = _steps_of(tables[place], around)
        whole = steps is not None and steps.expected == len(steps.names)
        if steps is not None and whole and steps.names not in around:
            around.append(steps.names)
        steps_by_place[place] = steps
    return [steps_by_place[place] for place in range(len(tables))]


def _steps_of(rows: Rows, around: Sequence[tuple[str, ...]]) -> Steps | None:
    sequences = [steps for steps in dict.fromkeys([*around, *SEQUENCES]) if _fits(rows, steps)]
    if not sequences:
        return None

    def likeness(sequence: tuple[str, ...]) -> tuple[int, bool, bool]:
        return _reached(rows, sequence), sequence in around, len(sequence) == len(rows)

    best = max(map(likeness, sequences))
    alike = [sequence for sequence in sequences if likeness(sequence) == best]
    names = {sequence[: len(rows)] for sequence in alike}
    if len(names) > 1 and not any(best[1:]):
        return None
    expected = len(alike[0]) if len(alike) == 1 or any(best[1:]) else None
    return Steps(alike[0][: len(rows)], expected)


def _fits(rows: Rows, steps: Sequence[str]) -> bool:
    pairs = zip(rows, steps, strict=False)
    return 0 < len(rows) <= len(steps) and all(
        row is None or row.queries == (rate_of(step) is not None) for row, step in pairs
    )


def _reached(rows: Rows, steps: Sequence[str]) -> int:
    """Count the steps with queries that had the insert rate in their names.

    That is the rate of each client; there were as many as the step that did best needs.
    """
    pairs = [(row, rate_of(step)) for row, step in zip(rows, steps, strict=False)]
    parts = [
        inserts / rate
        for row, rate in pairs
        if row is not None and rate and (inserts := row.number("ips"))
    ]
    return sum(part >= _REACHED * max(parts) for part in parts)
