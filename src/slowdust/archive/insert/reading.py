"""Files of the Insert Benchmark, read: their lines, or what a client printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.sysbench.reading import Wanting
from slowdust.archive.two_processes import read_shared
from slowdust.formats.insert import client as ibench_client
from slowdust.formats.insert.client import ClientOutput
from slowdust.formats.insert.names import FileKind
from slowdust.formats.text import DamagedError, lines_of, read_content

Request = tuple[Path, FileKind]


@dataclass(frozen=True)
class Lines:
    """A file of text."""

    whole: list[str]
    torn: bool
    """Whether there is one more at the end, without the end of a line: it was cut."""


Content = Lines | ClientOutput


def read_all(requests: Sequence[Request]) -> list[Content | Wanting]:
    """What is in each file, in the order of `requests`; only of clients more than lines."""
    return read_shared(requests, [str(path) for path, _ in requests], _read_some)


def _read_some(requests: Sequence[Request]) -> list[Content | Wanting]:
    return [_read(path, kind) for path, kind in requests]


def _read(path: Path, kind: FileKind) -> Content | Wanting:
    try:
        content = read_content(path)
    except DamagedError as error:
        return Wanting(str(error))
    if kind is FileKind.CLIENT:
        return ibench_client.read(content) or Wanting("no whole row")
    lines = lines_of(content)
    torn = not content.endswith((b"\n", b"\r"))
    return Lines(lines[:-1] if torn else lines, torn)
