"""The sources of a build: where they are, what identifies their content, and their trees."""

from __future__ import annotations

import filecmp
import functools
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slowdust.builds.fingerprint import sha256_of
from slowdust.builds.sources.client import SourceUnavailable, run_client
from slowdust.errors import SlowdustError, UsageError
from slowdust.places import named_path
from slowdust.temporary import temporary_folder
from slowdust.unpacking import open_to_all, unpack

GIT = "git:"
DIRECTORY = "source:"
"""What a version begins with that is compiled: `git:REF`, `source:DIRECTORY` or an archive."""


@dataclass(frozen=True)
class Revision:
    """Sources of one content."""

    place: str
    """The repository, directory or archive."""
    content: str
    """The hash of git's tree, or the SHA-256 of the files' names and contents."""
    export: Callable[[Path], None]
    """Writes the sources into a new folder."""
    ref: str | None = None
    """The name by which a commit was asked for; with the next two, None without a repository."""
    commit: str | None = None
    subject: str | None = None
    """The first line of the commit's message."""


def is_source(version: str) -> bool:
    return version.startswith((GIT, DIRECTORY))


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output; raise SlowdustError with git's own message."""
    command = ["git", "-c", "core.quotePath=off", *arguments]
    try:
        return run_client(command, folder, _complaint)
    except SourceUnavailable as error:
        if shutil.which("git") is None:
            raise SlowdustError(
                "builds from a repository need git, which is not installed: install it, for "
                "example by `sudo apt install git`"
            ) from None
        raise SlowdustError(str(error)) from None


def _complaint(stdout: str, stderr: str) -> str | None:
    del stdout
    lines = [line for line in stderr.splitlines() if line.startswith(("fatal:", "error:"))]
    return lines[-1] if lines else None


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
    with temporary_folder(folder.parent) as temporary:
        unpacked = temporary / "unpacked"
        unpack(archive, unpacked)
        content = list(unpacked.iterdir())
        alone = content[0] if len(content) == 1 and content[0].is_dir() else unpacked
        alone.rename(folder)


SOURCE = "source"
"""The folder of the sources."""
_INCOMING = "incoming"
_PROGRAM_MODE, _FILE_MODE = 0o755, 0o644


def update_tree(tree: Path, revision: Revision) -> None:
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
