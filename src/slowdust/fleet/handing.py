"""Handing on builds: a folder of the head's cache becomes the same folder of a host's.

A folder is known by its content: the SHA-256 of its files' paths, rights and contents, without the
description that says when it was fetched.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from slowdust.builds import staging
from slowdust.builds.fingerprint import sha256_of
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import ResolvedContender
from slowdust.places import cache_root
from slowdust.unpacking import unpack

_FOLDER = re.compile(r"(?:builds|compiled)/[A-Za-z0-9_]+/[A-Za-z0-9][^/\0]*|allocators/[a-z0-9]+")
_DESCRIPTIONS = ("build.json", "allocator.json")


class Bundle(msgspec.Struct, kw_only=True, frozen=True):
    """A folder of the cache that is handed on."""

    folder: str
    """The path in the cache."""
    sha256: str
    """Checksum of its content."""


def folders_of(contenders: Sequence[ResolvedContender]) -> list[str]:
    """Return the folders of the cache that contenders need, without those of the user's own."""
    needed: dict[str, None] = {}
    for contender in contenders:
        own = [] if contender.build is None else [contender.build.root.parent]
        if contender.environment.library is not None:
            own.append(contender.environment.library.parent)
        for path in own:
            if path.is_relative_to(cache_root()):
                needed[str(path.relative_to(cache_root()))] = None
    return list(needed)


def packed(folder: str) -> tuple[Bundle, bytes]:
    """Return a folder of the cache as a tar archive.

    Raises:
        SlowdustError: it cannot be read.
    """
    root = cache_root() / folder
    archive = io.BytesIO()
    try:
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for path in _paths(root):
                tar.add(path, str(path.relative_to(root)), recursive=False)
        return Bundle(folder=folder, sha256=content_of(root)), archive.getvalue()
    except OSError as error:
        raise SlowdustError(f"cannot read {error.filename or root}: {error.strerror}") from error


def is_there(bundle: Bundle) -> bool:
    """Return whether this host has a folder.

    Raises:
        SlowdustError: it has one of that name with another content.
    """
    folder = _folder(bundle)
    if not folder.exists():
        return False
    if content_of(folder) != bundle.sha256:
        raise SlowdustError(
            f"{folder} is not what the head has: remove it by `slowdust builds remove`, or give "
            "--builds pull"
        )
    return True


def put(bundle: Bundle, archive: bytes) -> None:
    """Unpack a folder into the cache of this host; it appears whole or not at all.

    Raises:
        SlowdustError: the archive has another content, or the cache cannot be written.
    """
    folder = _folder(bundle)

    def make(staged: Path) -> None:
        with tempfile.NamedTemporaryFile(dir=staged.parent, prefix=f"{staged.name}-") as file:
            file.write(archive)
            file.flush()
            unpack(Path(file.name), staged)
        if content_of(staged) != bundle.sha256:
            raise SlowdustError(f"{bundle.folder} arrived with another content than it was sent")

    with staging.lock(folder):
        if not is_there(bundle):
            staging.fill(folder, make)


def content_of(root: Path) -> str:
    """Return the SHA-256 of a folder's content.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    for path in _paths(root):
        name = str(path.relative_to(root))
        if name in _DESCRIPTIONS:
            continue
        if path.is_symlink():
            what = f"link {path.readlink()}"
        elif path.is_dir():
            what = "directory"
        else:
            what = f"{path.stat().st_mode & 0o100:o} {sha256_of(path)}"
        digest.update(f"{name}\0{what}\0".encode())
    return digest.hexdigest()


def _paths(root: Path) -> Iterator[Path]:
    yield from sorted(root.rglob("*"))


def _folder(bundle: Bundle) -> Path:
    """Return the folder of a bundle in this host's cache; the head is not trusted with others.

    Raises:
        SlowdustError: it is none of the cache's.
    """
    if not _FOLDER.fullmatch(bundle.folder):
        raise SlowdustError(f"'{bundle.folder}' is no folder of a cache of builds")
    return cache_root() / bundle.folder
