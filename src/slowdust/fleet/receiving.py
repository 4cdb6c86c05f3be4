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
from slowdust.places import is_plain
from slowdust.store.folder import (
    MANIFEST_FILE,
    PROFILES,
    SPEC_FILE,
    WORKLOAD_FILE,
    Folder,
    replace_file,
)
from slowdust.wording import first_line

_FILE = re.compile(
    "|".join(map(re.escape, (*APPENDED, MANIFEST_FILE, SPEC_FILE, WORKLOAD_FILE)))
    + rf"|{PROFILES}/[^/]+\.json\.gz"
)
"""The files of a folder that a host may write; it is not trusted with any other path."""


class OddPartError(SlowdustError):
    """A piece of a file that no host should send: the fault is the host's."""


def receive(folder: Folder, part: Part) -> None:
    """Keep a part of a file; one that is received again changes nothing.

    Raises:
        OddPartError: it is no file of an experiment, or leaves a gap.
        SlowdustError: it cannot be written.
    """
    if not _FILE.fullmatch(part.file) or not is_plain(Path(part.file).name):
        raise OddPartError(f"it has sent '{part.file}', which is no file of an experiment")
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
        if not 0 <= offset <= os.fstat(descriptor).st_size:
            raise OddPartError(f"what it has sent leaves a gap in {path.name}")
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


def unreadable(folder: Folder) -> str | None:
    """Return why what was received of a host cannot be read; None where all of it can."""
    if not folder.has_manifest():
        return None
    try:
        folder.read_manifest()
        folder.read_slices()
        folder.read_counts()
        folder.read_waits()
        folder.read_profiles()
    except SlowdustError as error:
        return first_line(str(error))
    return None


def received(folder: Folder) -> dict[str, int]:
    """Return file -> bytes of complete lines, of the files that are appended to."""
    sizes = {}
    for file in APPENDED:
        path = folder.path / file
        if path.exists():
            content = path.read_bytes()
            sizes[file] = content.rfind(b"\n") + 1
    return sizes
