"""What the head keeps of the files of its hosts."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowdust.errors import SlowdustError
from slowdust.fleet.hosts.shard import APPENDED
from slowdust.fleet.model import Part
from slowdust.store.folder import (
    MANIFEST_FILE,
    PROFILES,
    SPEC_FILE,
    WORKLOAD_FILE,
    Folder,
    replace_file,
)

_FILE = re.compile(
    "|".join(map(re.escape, (*APPENDED, MANIFEST_FILE, SPEC_FILE, WORKLOAD_FILE)))
    + rf"|{PROFILES}/[^/\0]+\.json\.gz"
)
"""The files of a folder that a host may write; it is not trusted with any other path."""


def receive(folder: Folder, part: Part) -> None:
    """Keep a part of a file; one that is received again changes nothing.

    Raises:
        SlowdustError: it is no file of an experiment, leaves a gap, or cannot be written.
    """
    if not _FILE.fullmatch(part.file):
        raise SlowdustError(f"a host has sent '{part.file}', which is no file of an experiment")
    path = folder.path / part.file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if part.offset is None:
            replace_file(path, part.content)
        else:
            _write_at(path, part.offset, part.content)
    except OSError as error:
        raise SlowdustError(f"cannot write {path}: {error.strerror}") from error


def _write_at(path: Path, offset: int, content: bytes) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if os.fstat(descriptor).st_size < offset:
            raise SlowdustError(f"what a host has sent leaves a gap in {path}")
        while content:
            written = os.pwrite(descriptor, content, offset)
            offset, content = offset + written, content[written:]
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)


def close(folder: Folder) -> None:
    """Mark what a lost host had measured as all that it was to measure: others did the rest.

    Raises:
        SlowdustError: the manifest is damaged, or cannot be written.
    """
    if not folder.has_manifest():
        return
    manifest = folder.read_manifest()
    if manifest.finished is None:
        manifest.finished = datetime.now(UTC).isoformat(timespec="seconds")
        manifest.method.incarnations = max(1, *manifest.turns_done.values(), 0)
        content = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        replace_file(folder.path / MANIFEST_FILE, content)


def received(folder: Folder) -> dict[str, int]:
    """Return file -> bytes of complete lines, of the files that are appended to."""
    sizes = {}
    for file in APPENDED:
        path = folder.path / file
        if path.exists():
            content = path.read_bytes()
            sizes[file] = content.rfind(b"\n") + 1
    return sizes
