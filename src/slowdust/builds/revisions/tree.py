"""A tree of sources with its directory of objects, kept so that the next commit compiles less."""

from __future__ import annotations

import filecmp
import os
import shutil
import time
from pathlib import Path

from slowdust.builds.revisions.revision import Revision
from slowdust.unpacking import open_to_all

SOURCE = "source"
"""The folder of the sources."""
_INCOMING = "incoming"
_PROGRAM_MODE, _FILE_MODE = 0o755, 0o644


def update(tree: Path, revision: Revision) -> None:
    """Make the tree's sources those of a revision; files that stay the same are not touched.

    Files that change together get one time, since a repository has no times: a file that is
    generated from another, and stored beside it, must not look older.
    """
    incoming, source = tree / _INCOMING, tree / SOURCE
    shutil.rmtree(incoming, ignore_errors=True)
    revision.export(incoming)
    source.mkdir(exist_ok=True)
    now = time.time_ns()
    wanted = _paths(incoming)
    for name in sorted(_paths(source) - wanted):
        (source / name).unlink()
    for name in sorted(wanted):
        new, old = incoming / name, source / name
        if _same(new, old):
            continue
        old.parent.mkdir(parents=True, exist_ok=True)
        if not new.is_symlink():
            new.chmod(_PROGRAM_MODE if new.stat().st_mode & 0o100 else _FILE_MODE)
        os.utime(new, ns=(now, now), follow_symlinks=False)
        new.replace(old)
    shutil.rmtree(incoming)
    open_to_all(source)


def _paths(folder: Path) -> set[str]:
    """Return the paths of all files and links below a folder, relative to it."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def _same(new: Path, old: Path) -> bool:
    if new.is_symlink() or old.is_symlink():
        return new.is_symlink() and old.is_symlink() and new.readlink() == old.readlink()
    if not old.is_file() or (new.stat().st_mode ^ old.stat().st_mode) & 0o100:
        return False
    return filecmp.cmp(new, old, shallow=False)
