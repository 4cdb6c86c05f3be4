"""Builds that another machine pushed, found by their names in contenders.

A machine with pushed builds needs no repository, sources, compiler or network: `builds.resolve`
looks here first. They are listed in a context, or in the file that a variable names.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path, PurePosixPath

import msgspec

from slowdust.builds import cache
from slowdust.builds.compile import LOG
from slowdust.builds.fingerprint import hash_file
from slowdust.builds.model import Build
from slowdust.errors import SlowdustError
from slowdust.places import cache_root, within
from slowdust.store.manifest import BuildFacts
from slowdust.store.storage import FAULTS

VARIABLE = "SLOWDUST_PUSHED_BUILDS"
"""The variable that names the file with the list, in the format of `encoded`."""
_NOT_CONTENT = ("build.json", "allocator.json", LOG)
"""Files of a folder about how and when it was made, which are not hashed."""


class PushedBuild(msgspec.Struct, kw_only=True, frozen=True):
    """A build in a folder of the cache, described by the machine that resolved it."""

    name: str
    """The build's name in contenders, see `build_name`."""
    folder: str
    sha256: str
    version: str
    """The version that the name was resolved to: '17.6' for postgres@17."""
    facts: BuildFacts


_known: ContextVar[tuple[PushedBuild, ...]] = ContextVar("pushed_builds", default=())


def build_name(dbms: str, version: str, flags: str | None) -> str:
    """Return the name of a build: 'postgres@17.6', 'postgres@git:main+o3'."""
    return f"{dbms}@{version}" + (f"+{flags}" if flags else "")


@contextmanager
def known(builds: Sequence[PushedBuild]) -> Iterator[None]:
    token = _known.set((*_known.get(), *builds))
    try:
        yield
    finally:
        _known.reset(token)


def encoded(builds: Sequence[PushedBuild]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(builds))


def find(dbms: str, version: str, flags: str | None) -> Build | None:
    """Return the pushed build of a name; None if no build of that name was pushed.

    Raises SlowdustError if its folder is not in the cache, or does not match the checksum.
    """
    name = build_name(dbms, version, flags)
    found = next((each for each in (*_known.get(), *_of_file()) if each.name == name), None)
    return None if found is None else _loaded(found)


def _of_file() -> list[PushedBuild]:
    path = os.environ.get(VARIABLE)
    if not path:
        return []
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=list[PushedBuild])
    except (OSError, *FAULTS) as error:
        raise SlowdustError(f"cannot read the list of pushed builds {path}: {error}") from error


def _loaded(found: PushedBuild) -> Build:
    folder = within(cache_root(), *PurePosixPath(found.folder).parts)
    build = cache.load_folder(folder)
    if build is None:
        raise SlowdustError(f"the pushed build {found.name} is missing in {folder}")
    if hash_folder(folder) != found.sha256:
        raise SlowdustError(
            f"{folder} does not match the checksum that the head sent for {found.name}"
        )
    return replace(build, version=found.version, source=found.facts.source, facts=found.facts)


def hash_folder(root: Path) -> str:
    """Return the SHA-256 of a folder of the cache: paths, permissions and contents.

    The record and the log of the compilation are excluded. Raises OSError.
    """
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name in _NOT_CONTENT:
            continue
        if path.is_symlink():
            what = f"link {path.readlink()}"
        elif path.is_dir():
            what = "directory"
        else:
            what = f"{path.stat().st_mode & 0o100:o} {hash_file(path)}"
        digest.update(f"{name}\0{what}\0".encode())
    return digest.hexdigest()
