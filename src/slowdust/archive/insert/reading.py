"""Reading a directory of Insert Benchmark results.

Nothing that is broken stops the reading: each such file is one `Problem`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.importing import ForeignKind
from slowdust.archive.insert.archive import ArchivedStep, InsertArchive, TextFile
from slowdust.archive.insert.tables import take_tables
from slowdust.archive.problems import TWICE
from slowdust.archive.reading import Unusable, read_shared, size_of
from slowdust.formats.insert import client, result
from slowdust.formats.insert.client import ClientOutput
from slowdust.formats.insert.names import (
    FileKind,
    FileName,
    in_order,
    is_of_no_clients,
    parse_file,
    step_of_directory,
)
from slowdust.formats.text import DamagedError, lines_of, read_content

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
    """Read the files of an archive, which lie below its directory."""
    archive = InsertArchive(path)
    texts: dict[FileKind, list[TextFile]] = {kind: [] for kind in FileKind}
    for file in _read_files(archive, files, foreign):
        if isinstance(file, _ClientFile):
            _take_client(archive, file)
        else:
            texts[file.name.kind].append(file)
    merged = [*texts[FileKind.MERGED], *texts[FileKind.SELECTED]]
    take_tables(archive, texts[FileKind.RUN], merged, texts[FileKind.RELATIVE])
    for kind, take in _TAKERS.items():
        for text in texts[kind]:
            take(archive, text)
    archive.runs = {
        tag: {step: archive.runs[tag][step] for step in in_order(archive.runs[tag])}
        for tag in archive.runs
    }
    return archive


def _read_files(
    archive: InsertArchive, files: Iterable[Path], foreign: ForeignKind
) -> Iterator[TextFile | _ClientFile]:
    """Read the files that are of use, and note what becomes of the others."""
    named = {path: name for path in files if (name := _name(archive, path, foreign)) is not None}
    for path in sorted(named):
        if (compressed := path.with_name(f"{path.name}.gz")) in named:
            filled = size_of(str(path)) > 0
            unused, reason = (compressed, TWICE) if filled else (path, _EMPTY)
            archive.skip(unused, reason)
            del named[unused]
    _leave_out_selections(archive, named)
    requests = list(named.items())
    answers = read_shared(requests, [str(path) for path, _ in requests], _read_some)
    for (path, _), answer in zip(requests, answers, strict=True):
        if isinstance(answer, Unusable):
            archive.skip(path, answer.reason)
        else:
            yield answer


def _leave_out_selections(archive: InsertArchive, named: dict[Path, FileName]) -> None:
    """Leave out rows that were picked from other files, if these are there."""
    whole = {
        (path.parent, name.step) for path, name in named.items() if name.kind is FileKind.MERGED
    }
    for path, name in list(named.items()):
        if name.kind is FileKind.SELECTED and (path.parent, name.step) in whole:
            archive.by_products["mrg.some"] += 1
            del named[path]


def _name(archive: InsertArchive, path: Path, foreign: ForeignKind) -> FileName | None:
    """Parse the name of a file that is worth reading; note the others."""
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
    return [_read(path, name) for path, name in requests]


def _read(path: Path, name: FileName) -> _Answer:
    try:
        content = read_content(path)
    except DamagedError as error:
        return Unusable(str(error))
    if name.kind is FileKind.CLIENT:
        output = client.read(content)
        return Unusable("no whole row") if output is None else _ClientFile(path, name, output)
    lines = lines_of(content)
    torn = not content.endswith((b"\n", b"\r"))
    return TextFile(path, name, lines[:-1] if torn else lines, torn)


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
    step.result, step.result_path = result.read(file.lines), file.path
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


_TAKERS: dict[FileKind, Callable[[InsertArchive, TextFile], None]] = {
    FileKind.RESULT: _take_result,
    FileKind.RESPONSE: _take_response,
    FileKind.MERGED_RESPONSE: _take_merged_response,
}
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
