"""A directory of Insert Benchmark results, read.

Nothing that is broken stops the reading: each such file is one `Problem`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.insert.archive import ArchivedStep, FoundLines, IbenchArchive, damage_of
from slowdust.archive.insert.reading import Lines, read_all
from slowdust.archive.insert.tables import take_tables
from slowdust.archive.problems import OTHER_KIND, TWICE
from slowdust.archive.sysbench.reading import Wanting
from slowdust.archive.two_processes import size_of
from slowdust.benchmarks.archived import SYSBENCH
from slowdust.formats.insert import response as ibench_response
from slowdust.formats.insert import result as ibench_result
from slowdust.formats.insert.client import ClientOutput
from slowdust.formats.insert.names import (
    FileKind,
    IbenchFile,
    in_order,
    parse_file,
    step_of_directory,
)

FOREIGN = "not a file of the Insert Benchmark"
_OF_NO_STEP = "not below a directory of a run and a step"
_EMPTY = "the plain one is empty: the compressed one is read"
_OF_OTHER_KIND = re.compile(r"(?:sb|qps\.abs|qps\.rel|o\.met|join\d+|conf\.diff)(?:\..*)?")


@dataclass(frozen=True)
class _FoundClient:
    path: Path
    file: IbenchFile
    output: ClientOutput


def read_archive(path: Path, files: Iterable[Path]) -> IbenchArchive:
    """Read the files of an archive, which lie below its directory."""
    archive = IbenchArchive(path)
    found: dict[FileKind, list[FoundLines]] = {kind: [] for kind in FileKind}
    for one in _read(archive, files):
        if isinstance(one, _FoundClient):
            _take_client(archive, one)
        else:
            found[one.file.kind].append(one)
    tables = (found[kind] for kind in (FileKind.RUN, FileKind.MERGED, FileKind.RELATIVE))
    take_tables(archive, *tables)
    for kind, take in _TAKERS.items():
        for lines in found[kind]:
            take(archive, lines)
    archive.runs = {
        tag: {step: archive.runs[tag][step] for step in in_order(archive.runs[tag])}
        for tag in archive.runs
    }
    return archive


def _read(archive: IbenchArchive, files: Iterable[Path]) -> Iterator[FoundLines | _FoundClient]:
    """The files that something can be taken from; what becomes of the others is noted."""
    named = {path: file for path in files if (file := _wanted(archive, path)) is not None}
    for path in sorted(named):
        if (compressed := path.with_name(f"{path.name}.gz")) in named:
            filled = size_of(str(path)) > 0
            unused, reason = (compressed, TWICE) if filled else (path, _EMPTY)
            archive.skip(unused, reason)
            del named[unused]
    wanted = list(named.items())
    contents = read_all([(path, file.kind) for path, file in wanted])
    for (path, file), content in zip(wanted, contents, strict=True):
        match content:
            case Wanting(reason):
                archive.skip(path, reason)
            case ClientOutput():
                yield _FoundClient(path, file, content)
            case Lines(whole, torn):
                yield FoundLines(path, file, whole, torn)


def _wanted(archive: IbenchArchive, path: Path) -> IbenchFile | None:
    """What the name says of a file that is worth reading; others are noted."""
    file = parse_file(path.name)
    if _OF_OTHER_KIND.fullmatch(path.name):
        archive.by_products[OTHER_KIND[SYSBENCH.name]] += 1
    elif file is None:
        archive.skip(path, FOREIGN)
    elif file.kind is FileKind.SELECTION:
        parts = path.name.split(".")
        archive.by_products[f"{parts[0]}.{parts[-1]}"] += 1
    elif file.kind is FileKind.BY_PRODUCT:
        archive.by_products[".".join(path.name.split(".")[:2])] += 1
    else:
        archive.folders.setdefault(path.parent.parent, set()).add(path.parent.name)
        return file
    return None


def _take_client(archive: IbenchArchive, one: _FoundClient) -> None:
    step = _step_of(archive, one.path)
    if step is None:
        archive.skip(one.path, _OF_NO_STEP)
        return
    if (reason := _not_of(step, one)) is not None:
        archive.skip(one.path, reason)
        return
    number = one.file.client or 1
    step.outputs[number], step.client_paths[number] = one.output, one.path
    step.clients = one.file.clients
    archive.use(one.path)


def _not_of(step: ArchivedStep, one: _FoundClient | FoundLines) -> str | None:
    """Why a file is not of the same clients as those that were taken; None if it is."""
    if step.clients in (None, one.file.clients):
        return None
    first = next(iter(step.client_paths.values()), step.result_path)
    return f"of another number of clients than {first.name}" if first else None


def _take_result(archive: IbenchArchive, one: FoundLines) -> None:
    step = _step_of(archive, one.path)
    if step is None:
        archive.skip(one.path, _OF_NO_STEP)
        return
    if (reason := _not_of(step, one)) is not None:
        archive.skip(one.path, reason)
        return
    step.result, step.result_path = ibench_result.read(one.lines), one.path
    step.clients = step.clients or one.file.clients
    if step.result is None:
        wrong = damage_of(one, one.lines[:1])
        archive.skip(one.path, f"no first line of results: {'; '.join(wrong)}")
    else:
        archive.use(one.path, damage_of(one, []))


def _take_response(archive: IbenchArchive, one: FoundLines) -> None:
    step = _step_of(archive, one.path)
    found = ibench_response.read_sum(one.lines)
    if step is None or found is None:
        archive.skip(one.path, _OF_NO_STEP if step is None else "no sum of the clients")
        return
    step.response_times[one.file.role or ""] = found
    archive.use(one.path, damage_of(one, []))


def _take_merged_response(archive: IbenchArchive, one: FoundLines) -> None:
    found, damaged = ibench_response.read_merged(one.lines)
    beside = [file.name.removeprefix("mrg.").partition(".rt.")[0] for file in _siblings(one.path)]
    step = step_of_directory(one.file.step or "", beside)
    damage = damage_of(one, damaged)
    if step is None:
        archive.skip(one.path, "of a step that is not known")
    elif not found:
        archive.skip(one.path, "; ".join(damage) or "nothing in it")
    else:
        archive.use(one.path, damage)
        for tag, shares in found.items():
            archive.step(tag, step).shares[one.file.role or ""] = shares


def _siblings(path: Path) -> list[Path]:
    return [file for file in path.parent.iterdir() if file.name.startswith("mrg.")]


_TAKERS: dict[FileKind, Callable[[IbenchArchive, FoundLines], None]] = {
    FileKind.RESULT: _take_result,
    FileKind.RESPONSE: _take_response,
    FileKind.MERGED_RESPONSE: _take_merged_response,
}
"""By kind of file, in the order in which they are read."""


def _step_of(archive: IbenchArchive, path: Path) -> ArchivedStep | None:
    """Of a file in RUN/STEP/."""
    folder, run = path.parent, path.parent.parent
    step = step_of_directory(folder.name, archive.folders[run])
    return None if step is None else archive.step(run.name, step)
