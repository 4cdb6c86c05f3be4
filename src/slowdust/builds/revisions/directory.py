"""Sources in a directory or an archive."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
from pathlib import Path

from slowdust.builds.fingerprint import sha256_of
from slowdust.builds.revisions.revision import DIRECTORY, Revision, git
from slowdust.errors import SlowdustError, UsageError
from slowdust.places import named_path
from slowdust.temporary import temporary_folder
from slowdust.unpacking import unpack


def sources_at(version: str) -> Revision:
    """Return the sources that `source:PATH` names, as they are now.

    Of a clone those files are taken that git would track. Raises UsageError when PATH does not
    exist.
    """
    path = named_path(version.removeprefix(DIRECTORY)).absolute()
    if path.is_file():
        content, export = sha256_of(path), functools.partial(_unpack, path)
    elif path.is_dir():
        files = _files(path)
        content, export = _content(path, files), functools.partial(_copy, path, files)
    else:
        raise UsageError(f"{path} is no directory or archive of sources: it does not exist")
    return Revision(str(path), content, export)


def _files(root: Path) -> list[str]:
    """Return the paths of all sources, relative to the directory, sorted."""
    if (root / ".git").exists():
        listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = {name for name in listed.split("\0") if name}
        return sorted(name for name in names if (root / name).is_symlink() or _is_file(root / name))
    found = (path for path in root.rglob("*") if path.is_symlink() or path.is_file())
    return sorted(str(path.relative_to(root)) for path in found)


def _is_file(path: Path) -> bool:
    if path.is_dir():
        raise SlowdustError(
            f"{path} is a submodule, of which a directory has no list of files: commit what you "
            "changed, and write DBMS@git:REF"
        )
    return path.is_file()


def _content(root: Path, names: list[str]) -> str:
    """Return the SHA-256 of names, contents and whether files are programs."""
    digest = hashlib.sha256()
    for name in names:
        path = root / name
        if path.is_symlink():
            content = f"link {path.readlink()}"
        else:
            content = f"{'program' if os.access(path, os.X_OK) else 'file'} {sha256_of(path)}"
        digest.update(f"{name}\0{content}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _copy(root: Path, names: list[str], folder: Path) -> None:
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, target, follow_symlinks=False)


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive, without the folder that holds all of it."""
    with temporary_folder(folder.parent) as temporary:
        unpacked = temporary / "unpacked"
        unpack(archive, unpacked)
        content = list(unpacked.iterdir())
        alone = content[0] if len(content) == 1 and content[0].is_dir() else unpacked
        alone.rename(folder)
