"""The list of the object files and static libraries that a build left."""

from __future__ import annotations

from pathlib import Path

import msgspec

_PATTERNS = ("*.o", "*.a")


class ObjectFile(msgspec.Struct, kw_only=True):
    """An object file or a static library."""

    path: str
    """Relative to the directory of objects."""
    disk_bytes: int


def object_files(build: Path) -> list[ObjectFile]:
    """Return all object files and static libraries below a directory, by path."""
    paths = sorted(path for pattern in _PATTERNS for path in build.rglob(pattern))
    return [
        ObjectFile(path=str(path.relative_to(build)), disk_bytes=path.stat().st_size)
        for path in paths
        if path.is_file() and not path.is_symlink()
    ]
