"""A directory of Insert Benchmark results, run by run and step by step: everything it tells.

Nothing that is broken stops the reading: each such file is one `Problem`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.analysis.phrases import counted
from slowdust.archive import ibench, ibench_response, ibench_result
from slowdust.archive.ibench import Row
from slowdust.archive.ibench_client import ClientOutput, ResponseTimes
from slowdust.archive.ibench_names import (
    FileKind,
    IbenchFile,
    in_order,
    parse_file,
    step_of_directory,
    without_size,
)
from slowdust.archive.ibench_reading import read_all
from slowdust.archive.ibench_response import Shares
from slowdust.archive.ibench_result import StepResult
from slowdust.archive.problems import OTHER_KIND, Problem
from slowdust.archive.reading import Wanting
from slowdust.archive.text import beginning
from slowdust.benchmarks.archived import SYSBENCH
from slowdust.store.manifest import Fate

FOREIGN = "not a file of the Insert Benchmark"
_OF_OTHER_KIND = re.compile(r"(?:sb|qps\.abs|qps\.rel|o\.met|join\d+)(?:\..*)?")
_SHOWN = 40
"""Characters of a damaged line that a problem quotes."""


@dataclass
class ArchivedStep:
    """One step of one run; what the files do not tell is None or empty."""

    row: Row | None = None
    """As o.sum has it, or else as mrg has it."""
    clients: int | None = None
    result: StepResult | None = None
    outputs: dict[int, ClientOutput] = field(default_factory=dict)
    """By client, as the paths of their files below."""
    client_paths: dict[int, Path] = field(default_factory=dict)
    result_path: Path | None = None
    response_times: dict[str, ResponseTimes] = field(default_factory=dict)
    """`insert`, `delete`, `query` -> the histogram of all clients."""
    shares: dict[str, Shares] = field(default_factory=dict)
    """The same in percent, of a table of several runs."""


@dataclass(frozen=True)
class RunTable:
    """A file o.sum."""

    tag: str
    steps: tuple[str, ...]


@dataclass
class MergedTables:
    """The files mrg of one directory that have the same runs in the same groups."""

    folder: str
    """Relative to the archive's directory."""
    groups: tuple[tuple[str, ...], ...]
    """Tags; each group is compared with its own first."""
    steps: list[str]


@dataclass
class IbenchArchive:
    """What a directory holds."""

    path: Path
    runs: dict[str, dict[str, ArchivedStep]] = field(default_factory=dict)
    """Tag without the rows in millions -> step as its file is called."""
    run_tables: list[RunTable] = field(default_factory=list)
    merged_tables: list[MergedTables] = field(default_factory=list)
    used: int = 0
    """Files that something was read from."""
    by_products: Counter[str] = field(default_factory=Counter)
    """Kind of file -> how many of it are known, and of no use here."""
    problems: list[Problem] = field(default_factory=list)
    folders: dict[Path, set[str]] = field(default_factory=dict)
    """Directory -> names of those below it that have files of use."""

    def step(self, tag: str, step: str) -> ArchivedStep:
        """That step of that run, which may be new."""
        steps = self.runs.setdefault(without_size(tag), {})
        return steps.setdefault(step, ArchivedStep())


@dataclass(frozen=True)
class _Found:
    path: Path
    file: IbenchFile
    lines: list[str]


@dataclass(frozen=True)
class _FoundClient:
    path: Path
    file: IbenchFile
    output: ClientOutput


@dataclass(frozen=True)
class _Damage:
    """What is wrong with a file whose rest is used."""

    reason: str


def read_archive(path: Path, files: Iterable[Path]) -> IbenchArchive:
    """Read the files of an archive, which lie below its directory."""
    archive = IbenchArchive(path)
    found: dict[FileKind, list[_Found]] = {kind: [] for kind in FileKind}
    for one in _read(archive, files):
        if isinstance(one, _FoundClient):
            _note(archive, one.path, _take_client(archive, one))
        else:
            found[one.file.kind].append(one)
    _take_runs(archive, found[FileKind.RUN], _named_sequence(found[FileKind.MERGED]))
    for kind, take in _TAKERS.items():
        for one in found[kind]:
            _note(archive, one.path, take(archive, one))
    archive.runs = {
        tag: {step: archive.runs[tag][step] for step in in_order(archive.runs[tag])}
        for tag in archive.runs
    }
    return archive


def _note(archive: IbenchArchive, path: Path, wrong: str | _Damage | None) -> None:
    """What became of a file; `wrong` says why it is not used, or what is not used of it."""
    match wrong:
        case None:
            archive.used += 1
        case _Damage(reason):
            archive.used += 1
            archive.problems.append(Problem(path, reason, Fate.PARTLY))
        case _:
            archive.problems.append(Problem(path, wrong))


def _read(archive: IbenchArchive, files: Iterable[Path]) -> Iterator[_Found | _FoundClient]:
    """The files that something can be taken from; what becomes of the others is noted."""
    wanted = [(path, file) for path in files if (file := _wanted(archive, path)) is not None]
    contents = read_all([(path, file.kind) for path, file in wanted])
    for (path, file), content in zip(wanted, contents, strict=True):
        match content:
            case Wanting(reason):
                archive.problems.append(Problem(path, reason))
            case ClientOutput():
                yield _FoundClient(path, file, content)
            case _:
                yield _Found(path, file, content)


def _wanted(archive: IbenchArchive, path: Path) -> IbenchFile | None:
    """What the name says of a file that is worth reading; others are noted."""
    file = parse_file(path.name)
    if _OF_OTHER_KIND.fullmatch(path.name):
        archive.by_products[OTHER_KIND[SYSBENCH.name]] += 1
    elif file is None:
        archive.problems.append(Problem(path, FOREIGN))
    elif file.kind is FileKind.SELECTION:
        parts = path.name.split(".")
        archive.by_products[f"{parts[0]}.{parts[-1]}"] += 1
    elif file.kind is FileKind.BY_PRODUCT:
        archive.by_products[".".join(path.name.split(".")[:2])] += 1
    else:
        archive.folders.setdefault(path.parent.parent, set()).add(path.parent.name)
        return file
    return None


def _named_sequence(merged: list[_Found]) -> tuple[str, ...]:
    """The steps that have files of their own, which tell their names."""
    return tuple(in_order({one.file.step for one in merged if one.file.step}))


def _take_runs(archive: IbenchArchive, tables: list[_Found], named: tuple[str, ...]) -> None:
    """Whole files first: they say which steps those that were cut short began with."""
    sequences = [named, *ibench.SEQUENCES]
    read = [(one, *ibench.read_steps(one.lines)) for one in tables]
    whole = {
        steps for _, rows, _ in read if (steps := ibench.steps_of(rows, sequences)) is not None
    }
    for one, rows, torn in read:
        damaged = list(torn)
        steps = ibench.steps_of(rows, sequences)
        if steps is None:
            steps = ibench.beginning_of(rows, whole)
            damaged += [f"ends after {counted(len(rows), 'step')}"] if steps else []
        if steps is None or not any(rows):
            reason = f"{counted(len(rows), 'step')}: which is not known" if any(rows) else "torn"
            archive.problems.append(Problem(one.path, reason))
            continue
        tag = next((row.tag for row in rows if row is not None), one.file.tag or "")
        if any(step.row is not None for step in archive.runs.get(without_size(tag), {}).values()):
            reason = "the same run at another size: import each size from its own directory"
            archive.problems.append(Problem(one.path, reason))
            continue
        for step, row in zip(steps, rows, strict=True):
            if row is not None:
                archive.step(tag, step).row = row
        _note(archive, one.path, _Damage(_told(damaged)) if damaged else None)
        if not damaged:
            archive.run_tables.append(RunTable(tag, steps))


def _take_merged(archive: IbenchArchive, one: _Found) -> str | _Damage | None:
    groups, damaged = ibench.read_groups(one.lines)
    step = one.file.step or ""
    differing = []
    for row in (row for group in groups for row in group):
        known = archive.step(row.tag, step)
        if known.row is None:
            known.row = row
        elif ibench.merged(known.row) != row:
            differing.append(row.tag)
    tags = tuple(tuple(without_size(row.tag) for row in group) for group in groups)
    folder = str(one.path.parent.relative_to(archive.path))
    for tables in archive.merged_tables:
        if (tables.folder, tables.groups) == (folder, tags):
            tables.steps.append(step)
            break
    else:
        if tags:
            archive.merged_tables.append(MergedTables(folder, tags, [step]))
    if differing:
        damaged.append(f"not as elsewhere: {', '.join(differing)}")
    return _damage(damaged) if tags else _told(damaged)


def _take_relative(archive: IbenchArchive, one: _Found) -> str | None:
    """Nothing is taken from it: it is looked at for whether it is what mrg says."""
    groups, damaged = ibench.read_groups(one.lines)
    folder = str(one.path.parent.relative_to(archive.path))
    step = one.file.step or ""
    of_folder = [
        tables
        for tables in archive.merged_tables
        if tables.folder == folder and step in tables.steps
    ]
    if not of_folder:
        return f"relative numbers alone: there is no mrg.{step} beside it"
    expected = [
        ibench.relative([ibench.merged(row) for row in rows])
        for group in of_folder[0].groups
        if (rows := [row for tag in group if (row := archive.step(tag, step).row) is not None])
    ]
    if groups != [group for group in expected if group]:
        damaged.append(f"not what mrg.{step} gives")
    return _told(damaged) if damaged else None


def _take_client(archive: IbenchArchive, one: _FoundClient) -> str | None:
    step = _step_of(archive, one.path)
    if step is None:
        return "not below a directory of a run and a step"
    number = one.file.client or 1
    step.outputs[number], step.client_paths[number] = one.output, one.path
    step.clients = one.file.clients
    return None


def _take_result(archive: IbenchArchive, one: _Found) -> str | None:
    step = _step_of(archive, one.path)
    if step is None:
        return "not below a directory of a run and a step"
    step.result, step.result_path = ibench_result.read(one.lines), one.path
    step.clients = step.clients or one.file.clients
    return None if step.result else f"no first line of results: {one.lines[0][:_SHOWN]!r}"


def _take_response(archive: IbenchArchive, one: _Found) -> str | None:
    step = _step_of(archive, one.path)
    if step is None:
        return "not below a directory of a run and a step"
    found = ibench_response.read_sum(one.lines)
    if found is None:
        return "no sum of the clients"
    step.response_times[one.file.role or ""] = found
    return None


def _take_merged_response(archive: IbenchArchive, one: _Found) -> str | _Damage | None:
    found, damaged = ibench_response.read_merged(one.lines)
    beside = [file.name.removeprefix("mrg.").partition(".rt.")[0] for file in _siblings(one.path)]
    step = step_of_directory(one.file.step or "", beside)
    if step is None:
        return "of a step that is not known"
    for tag, shares in found.items():
        archive.step(tag, step).shares[one.file.role or ""] = shares
    return _damage(damaged) if found else _told(damaged)


def _siblings(path: Path) -> list[Path]:
    return [file for file in path.parent.iterdir() if file.name.startswith("mrg.")]


_TAKERS: dict[FileKind, Callable[[IbenchArchive, _Found], str | _Damage | None]] = {
    FileKind.MERGED: _take_merged,
    FileKind.RELATIVE: _take_relative,
    FileKind.RESULT: _take_result,
    FileKind.RESPONSE: _take_response,
    FileKind.MERGED_RESPONSE: _take_merged_response,
}
"""By kind of file, in the order in which they are read; what is wrong with it, in words."""


def _step_of(archive: IbenchArchive, path: Path) -> ArchivedStep | None:
    """Of a file in RUN/STEP/."""
    folder, run = path.parent, path.parent.parent
    step = step_of_directory(folder.name, archive.folders[run])
    return None if step is None else archive.step(run.name, step)


def _damage(damaged: list[str]) -> _Damage | None:
    return _Damage(_told(damaged)) if damaged else None


def _told(damaged: list[str]) -> str:
    """The first, and how many more."""
    if not damaged:
        return "nothing in it"
    return beginning([repr(one[:_SHOWN]) for one in damaged], 1)
