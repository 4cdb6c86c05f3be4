"""The cache of fetched builds: `builds/DBMS/VERSION/` with the binaries and `build.json`."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowdust.builds import sources, staging
from slowdust.builds.catalog import Catalog, Entry
from slowdust.builds.detection import find_server
from slowdust.builds.fingerprint import fingerprint, sha256_of
from slowdust.builds.model import Build, Progress, Runtime, Unpacked
from slowdust.builds.unpacking import open_to_all
from slowdust.errors import SlowdustError
from slowdust.places import cache_root
from slowdust.store.manifest import BuildFacts

_RECORD = "build.json"
_BINARIES = "binaries"
_DOWNLOAD = "download"


class Record(msgspec.Struct, kw_only=True):
    """The content of `build.json`."""

    dbms: str
    version: str
    fetched: str
    """The time in UTC, in ISO 8601."""
    server: str
    """The server's binary, relative to the folder of the binaries."""
    disk_bytes: int
    facts: BuildFacts
    loader: str | None = None
    """`Runtime.loader`, relative to the folder of the binaries."""
    libraries: list[str] = []
    """`Runtime.libraries`, relative to the folder of the binaries."""


def cached(dbms: str, version: str) -> Record | None:
    """Read the record of a build; None when the build is not in the cache."""
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


def versions(dbms: str) -> list[str]:
    """Return the versions of a DBMS that are in the cache."""
    return [path.parent.name for path in (cache_root() / "builds" / dbms).glob(f"[!.]*/{_RECORD}")]


def load(dbms: str, version: str) -> Build | None:
    """Load a build and check its server; None when the build is not in the cache."""
    record = cached(dbms, version)
    return _checked(record) if record else None


def obtain(catalog: Catalog, entry: Entry, progress: Progress) -> Build:
    """Return the build of an entry, from the cache or else from the first source that has it."""
    build = load(entry.dbms, entry.version)
    if build is None:
        with staging.lock(_folder(entry.dbms, entry.version)):
            record = cached(entry.dbms, entry.version) or _fetch(catalog, entry, progress)
            build = _checked(record)
    return build


def remove(dbms: str, version: str) -> None:
    """Delete a build from the cache; raise SlowdustError when it is not there."""
    folder = _folder(dbms, version)
    with staging.lock(folder):
        if not folder.exists():
            raise SlowdustError(f"{dbms}@{version} is not in the cache {cache_root()}")
        staging.delete(folder)


def _fetch(catalog: Catalog, entry: Entry, progress: Progress) -> Record:
    def make(folder: Path) -> Record:
        download = folder / _DOWNLOAD
        unpacked = sources.provide_first(_name(entry), entry.origins, download, progress)
        open_to_all(unpacked.binaries)
        unpacked = _moved(unpacked, folder / _BINARIES)
        shutil.rmtree(download, ignore_errors=True)
        record = _recorded(catalog, entry, unpacked)
        (folder / _RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(record)))
        return record

    return staging.fill(_folder(entry.dbms, entry.version), make)


def _moved(unpacked: Unpacked, place: Path) -> Unpacked:
    def there(path: Path) -> Path:
        return place / path.relative_to(unpacked.binaries)

    unpacked.binaries.rename(place)
    old = unpacked.runtime
    runtime = Runtime(there(old.loader) if old.loader else None, tuple(map(there, old.libraries)))
    return Unpacked(place, unpacked.source, runtime)


def _recorded(catalog: Catalog, entry: Entry, unpacked: Unpacked) -> Record:
    binaries, runtime = unpacked.binaries, unpacked.runtime

    def relative(path: Path) -> str:
        return str(path.relative_to(binaries))

    server = find_server(binaries, catalog.server)
    if server is None:
        raise SlowdustError(f"{unpacked.source} contains no {entry.dbms} server")
    record = Record(
        dbms=entry.dbms,
        version=entry.version,
        fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        server=relative(server),
        disk_bytes=sum(p.lstat().st_size for p in binaries.rglob("*") if not p.is_dir()),
        facts=fingerprint(server, catalog.server, unpacked),
        loader=relative(runtime.loader) if runtime.loader else None,
        libraries=list(map(relative, runtime.libraries)),
    )
    if record.facts.version != entry.version:
        raise SlowdustError(
            f"{unpacked.source} is not {_name(entry)}: its server reports version "
            f"{record.facts.version}"
        )
    return record


def _checked(record: Record) -> Build:
    root = _folder(record.dbms, record.version) / _BINARIES
    server = root / record.server
    if not server.is_file() or sha256_of(server) != record.facts.sha256:
        name = f"{record.dbms}@{record.version}"
        raise SlowdustError(
            f"the cached build {name} has changed since it was fetched: run "
            f"'slowdust builds remove {name}', and it is fetched again at its next use"
        )
    return Build(
        dbms=record.dbms,
        version=record.version,
        root=root,
        source=record.facts.source,
        server=server,
        facts=record.facts,
        runtime=Runtime(
            loader=root / record.loader if record.loader else None,
            libraries=tuple(root / path for path in record.libraries),
        ),
    )


def _folder(dbms: str, version: str) -> Path:
    return cache_root() / "builds" / dbms / version


def _name(entry: Entry) -> str:
    return f"{entry.dbms}@{entry.version}"
