"""The cache of fetched builds: `builds/DBMS/VERSION/` with the binaries and `build.json`.

A build appears there whole, by one rename, or not at all. One fetch of a version runs at a time.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import filelock
import msgspec

from slowdust.accounts import server_account
from slowdust.builds import sources
from slowdust.builds.catalog import Catalog, Entry
from slowdust.builds.fingerprint import fingerprint, sha256_of
from slowdust.builds.model import Build, Progress, Unpacked
from slowdust.builds.recognise import find_server
from slowdust.builds.sources.client import SourceUnavailable
from slowdust.builds.unpacking import open_to_all
from slowdust.errors import SlowdustError
from slowdust.places import cache_root, make_enterable
from slowdust.store.manifest import BuildFacts

_RECORD = "build.json"
_BINARIES = "binaries"
_DOWNLOAD = "download"


class Record(msgspec.Struct, kw_only=True):
    """`build.json`."""

    dbms: str
    version: str
    fetched: str
    """ISO 8601, UTC."""
    server: str
    """The server's binary, relative to the folder of the binaries."""
    disk_bytes: int
    facts: BuildFacts
    loader: str | None = None
    """`Build.loader`, relative to the folder of the binaries."""
    libraries: list[str] = []
    """`Build.libraries`, likewise."""


def cached(dbms: str, version: str) -> Record | None:
    """The record of a build that is in the cache; None when it is not."""
    try:
        content = (_folder(dbms, version) / _RECORD).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SlowdustError(f"cannot read the cache: {error}") from error
    try:
        return msgspec.json.decode(content, type=Record)
    except msgspec.DecodeError as error:
        name = f"{dbms}@{version}"
        raise SlowdustError(
            f"the cache's record of {name} is damaged: {error}: run 'slowdust builds remove {name}'"
        ) from error


def obtain(catalog: Catalog, entry: Entry, progress: Progress) -> Build:
    """The build of a catalog entry, from the cache or else from the first source that gives it."""
    record = cached(entry.dbms, entry.version)
    if record is None:
        with _lock(entry.dbms, entry.version):
            record = cached(entry.dbms, entry.version) or _fetch(catalog, entry, progress)
    return _checked(record)


def remove(dbms: str, version: str) -> None:
    """Delete a build from the cache; SlowdustError when it is not there."""
    folder = _folder(dbms, version)
    with _lock(dbms, version):
        if not folder.exists():
            raise SlowdustError(f"{dbms}@{version} is not in the cache {cache_root()}")
        # Renamed first: an interrupted deletion must not leave half a build.
        doomed = _staging(folder)
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        shutil.rmtree(doomed)


def _fetch(catalog: Catalog, entry: Entry, progress: Progress) -> Record:
    staging = _staging(_folder(entry.dbms, entry.version))
    # What a killed fetch left: we hold the lock, so nobody works in it.
    shutil.rmtree(staging, ignore_errors=True)
    try:
        staging.mkdir(mode=0o755)
        staging.chmod(0o755)
        _check_servers_can_enter(staging)
        unpacked = _from_first_source(entry, staging, progress)
        open_to_all(unpacked.binaries)
        unpacked = _moved(unpacked, staging / _BINARIES)
        shutil.rmtree(staging / _DOWNLOAD, ignore_errors=True)
        return _finish(catalog, entry, staging, unpacked)
    except OSError as error:
        raise SlowdustError(f"cannot fill the cache {cache_root()}: {error.strerror}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _check_servers_can_enter(folder: Path) -> None:
    account = server_account()
    if not account.can_enter(folder):
        raise SlowdustError(
            f"the user {account.name}, who runs the servers, cannot enter the cache "
            f"{cache_root()}: name another directory in SLOWDUST_CACHE"
        )


def _from_first_source(entry: Entry, staging: Path, progress: Progress) -> Unpacked:
    refusals = []
    for origin in entry.origins:
        download = staging / _DOWNLOAD
        download.mkdir()
        source = sources.describe(origin)
        try:
            return sources.provide(origin, download, progress)
        except SourceUnavailable as refusal:
            refusals.append(f"{source} ({refusal})")
            progress(f"{source} is not to be had: {refusal}")
            shutil.rmtree(download)
    raise SlowdustError(f"cannot get {entry.dbms}@{entry.version}: tried {'; '.join(refusals)}")


def _moved(unpacked: Unpacked, place: Path) -> Unpacked:
    def there(path: Path) -> Path:
        return place / path.relative_to(unpacked.binaries)

    unpacked.binaries.rename(place)
    return Unpacked(
        binaries=place,
        source=unpacked.source,
        loader=there(unpacked.loader) if unpacked.loader else None,
        libraries=tuple(map(there, unpacked.libraries)),
    )


def _finish(catalog: Catalog, entry: Entry, staging: Path, unpacked: Unpacked) -> Record:
    binaries = unpacked.binaries

    def relative(path: Path) -> str:
        return str(path.relative_to(binaries))

    server = find_server(binaries, catalog.server)
    if server is None:
        raise SlowdustError(f"{unpacked.source} has no server of {entry.dbms} in it")
    record = Record(
        dbms=entry.dbms,
        version=entry.version,
        fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        server=relative(server),
        disk_bytes=sum(p.lstat().st_size for p in binaries.rglob("*") if not p.is_dir()),
        facts=fingerprint(server, catalog.server, unpacked),
        loader=relative(unpacked.loader) if unpacked.loader else None,
        libraries=list(map(relative, unpacked.libraries)),
    )
    if record.facts.version != entry.version:
        raise SlowdustError(
            f"{unpacked.source} is not {entry.dbms} {entry.version}: its server says that it is "
            f"{record.facts.version}"
        )
    (staging / _RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(record)))
    staging.rename(_folder(entry.dbms, entry.version))
    return record


def _checked(record: Record) -> Build:
    root = _folder(record.dbms, record.version) / _BINARIES
    server = root / record.server
    if not server.is_file() or sha256_of(server) != record.facts.sha256:
        name = f"{record.dbms}@{record.version}"
        raise SlowdustError(
            f"the cached build {name} has changed since it was fetched: run "
            f"'slowdust builds remove {name}' to have it fetched again"
        )
    return Build(
        dbms=record.dbms,
        version=record.version,
        root=root,
        source=record.facts.source,
        server=server,
        facts=record.facts,
        loader=root / record.loader if record.loader else None,
        libraries=tuple(root / path for path in record.libraries),
    )


def _folder(dbms: str, version: str) -> Path:
    return cache_root() / "builds" / dbms / version


def _staging(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.staging")


def _lock(dbms: str, version: str) -> filelock.FileLock:
    folder = _folder(dbms, version)
    try:
        make_enterable(folder.parent)
    except OSError as error:
        raise SlowdustError(
            f"cannot write to the cache {cache_root()}: {error.strerror}: "
            "name another directory in SLOWDUST_CACHE"
        ) from error
    return filelock.FileLock(folder.with_name(f".{folder.name}.lock"))
