"""Handing on builds: a folder of the head's cache becomes the same folder of a host's.

A folder is known by the SHA-256 of its content. A host knows the builds by the names that
contenders have for them, too, so that it finds out nothing about them by itself.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from slowdust.builds import resolve, staging
from slowdust.builds.handed_on import HandedOn, content_of, name_of
from slowdust.builds.model import Build, Progress
from slowdust.dbms import family
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import ResolvedContender
from slowdust.experiment.spec.spec import Spec
from slowdust.places import cache_root, within
from slowdust.temporary import temporary_folder
from slowdust.unpacking import unpack

_FOLDER = re.compile(r"(?:builds|compiled)/[A-Za-z0-9_]+/[A-Za-z0-9][^/\0]*|allocators/[a-z0-9]+")


class Bundle(msgspec.Struct, kw_only=True, frozen=True):
    """A folder of the cache that is handed on."""

    folder: str
    """The path in the cache."""
    sha256: str
    """Checksum of its content."""


def named_builds(
    spec: Spec, contenders: Sequence[ResolvedContender], progress: Progress
) -> list[HandedOn]:
    """Return the builds in the cache that contenders need, by the names that they have for them.

    Raises:
        SlowdustError: one cannot be read, or that of a server beneath another cannot be had.
    """
    named: dict[str, Build] = {}
    for planned, contender in zip(spec.planned_contenders(), contenders, strict=True):
        name, build = planned.name, contender.build
        if name.dbms is None or name.version is None or build is None:
            continue
        named[name_of(name.dbms, name.version, name.flags)] = build
        if beneath := family(name.dbms).beneath(contender.settings):
            named[name_of(*beneath, None)] = resolve(*beneath, progress)
    return [
        handed_on(name, build)
        for name, build in named.items()
        if build.root.is_relative_to(cache_root())
    ]


def folders_of(contenders: Sequence[ResolvedContender], builds: Sequence[HandedOn]) -> list[str]:
    """Return the folders of the cache with builds, and with the allocators of contenders."""
    libraries = [contender.environment.library for contender in contenders]
    allocators = [str(each.parent.relative_to(cache_root())) for each in libraries if each]
    return [*dict.fromkeys([*(build.folder for build in builds), *allocators])]


def handed_on(name: str, build: Build) -> HandedOn:
    """Return a build in the cache, as it is known to those that it is handed on to.

    Raises:
        SlowdustError: it cannot be read.
    """
    folder = build.root.parent
    return HandedOn(
        name=name,
        folder=str(folder.relative_to(cache_root())),
        sha256=_content(folder),
        version=build.version,
        facts=build.facts,
    )


def packed(folder: str) -> tuple[Bundle, bytes]:
    """Return a folder of the cache as a tar archive.

    Raises:
        SlowdustError: it cannot be read.
    """
    root = within(cache_root(), *PurePosixPath(folder).parts)
    return Bundle(folder=folder, sha256=_content(root)), archive_of(root)


def archive_of(folder: Path) -> bytes:
    """Return what is in a folder as a tar archive.

    Raises:
        SlowdustError: it cannot be read.
    """
    archive = io.BytesIO()
    try:
        # The weakest compression: it takes a second or two, and leaves a quarter of sources.
        with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as tar:
            for path in sorted(folder.rglob("*")):
                tar.add(path, str(path.relative_to(folder)), recursive=False)
    except OSError as error:
        raise _unreadable(folder, error) from error
    return archive.getvalue()


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
        with temporary_folder(folder.parent) as place:
            file = place / "archive.tar.gz"
            file.write_bytes(archive)
            unpack(file, staged)
        if content_of(staged) != bundle.sha256:
            raise SlowdustError(f"{bundle.folder} arrived with another content than it was sent")

    with staging.lock(folder):
        if not is_there(bundle):
            staging.fill(folder, make)


def _folder(bundle: Bundle) -> Path:
    """Return the folder of a bundle in this host's cache; the head is not trusted with others.

    Raises:
        SlowdustError: it is none of the cache's.
    """
    if not _FOLDER.fullmatch(bundle.folder):
        raise SlowdustError(f"'{bundle.folder}' is no folder of a cache of builds")
    return within(cache_root(), *PurePosixPath(bundle.folder).parts)


def _content(folder: Path) -> str:
    try:
        return content_of(folder)
    except OSError as error:
        raise _unreadable(folder, error) from error


def _unreadable(folder: Path, error: OSError) -> SlowdustError:
    return SlowdustError(f"cannot read {error.filename or folder}: {error.strerror}")
