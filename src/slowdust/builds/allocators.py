"""Memory allocators for servers, as libraries for `LD_PRELOAD`.

They come from an old Debian suite, so that they run with the C libraries of older builds and
machines. Libraries that they depend on come from the server's build or the machine. They are cached
in `allocators/NAME/`, with `allocator.json`.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowdust.builds import cache, sources
from slowdust.builds.catalog import Origin
from slowdust.builds.fingerprint import hash_file
from slowdust.builds.model import Progress
from slowdust.errors import SlowdustError, UsageError
from slowdust.places import cache_root, within
from slowdust.store.storage import FAULTS

_RECORD = "allocator.json"
_SUITE = "bookworm"
_LIBRARIES = Path("usr/lib/x86_64-linux-gnu")


@dataclass(frozen=True)
class _Allocator:
    package: str
    version: str
    library: str


_ALLOCATORS = {
    "jemalloc": _Allocator("libjemalloc2", "5.3.0", "libjemalloc.so.2"),
    "tcmalloc": _Allocator("libtcmalloc-minimal4", "2.10", "libtcmalloc_minimal.so.4"),
}

NAMES = tuple(_ALLOCATORS)

KIND = "allocator"
"""The word before '@' in an allocator's name, in place of a DBMS."""

_REMEDY = f"run 'slowdust builds remove {KIND}@{{}}'; its next use fetches it again"


class Record(msgspec.Struct, kw_only=True):
    """The content of `allocator.json`."""

    library: str
    """The name of the library's file, in the same directory."""
    source: str
    version: str
    sha256: str
    disk_bytes: int


def cached(name: str) -> Record | None:
    """Read the record of an allocator; None if the allocator is not in the cache.

    An allocator with a missing or damaged record counts as not cached.
    """
    with suppress(OSError, *FAULTS):
        return msgspec.json.decode((_folder(name) / _RECORD).read_bytes(), type=Record)
    return None


def library(name: str, progress: Progress) -> Path:
    """Return the library of an allocator, fetched into the cache if necessary.

    Raises UsageError for a name that is not in `NAMES`, SlowdustError if it cannot be fetched.
    """
    folder = _folder(_known(name))
    record = cached(name)
    if record is None:
        with cache.lock(folder, progress) as report:
            record = cached(name) or _fetch(_ALLOCATORS[name], folder, report)
    path = within(folder, record.library)
    if not path.is_file() or hash_file(path) != record.sha256:
        raise SlowdustError(
            f"the cached {path} has changed since it was fetched: {_REMEDY.format(name)}"
        )
    return path


def remove(name: str) -> None:
    """Delete an allocator from the cache.

    Raises UsageError for a name that is not in `NAMES`, SlowdustError if it is not cached.
    """
    cache.remove_folder(_folder(_known(name)), f"{KIND}@{name}")


def _known(name: str) -> str:
    if name not in _ALLOCATORS:
        raise UsageError(f"unknown allocator {name!r}: choose {', '.join(NAMES)}")
    return name


def _fetch(allocator: _Allocator, folder: Path, progress: Progress) -> Record:
    origin = Origin("debian", {"suite": _SUITE, "packages": [allocator.package]}, allocator.version)

    def make(place: Path) -> Record:
        download = place / "download"
        unpacked = sources.provide_first(allocator.package, [origin], download, progress)
        path = place / allocator.library
        shutil.copyfile(unpacked.binaries / _LIBRARIES / allocator.library, path)
        path.chmod(0o644)
        shutil.rmtree(download)
        record = Record(
            library=allocator.library,
            source=unpacked.source,
            version=allocator.version,
            sha256=hash_file(path),
            disk_bytes=path.stat().st_size,
        )
        (place / _RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(record)))
        return record

    return cache.fill(folder, make)


def _folder(name: str) -> Path:
    return within(cache_root(), "allocators", name)
