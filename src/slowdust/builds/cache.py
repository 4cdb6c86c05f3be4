"""The cache of builds: a folder each with the binaries and `build.json`.

Fetched ones are in `builds/DBMS/VERSION/`, those compiled with named flags in `compiled/DBMS/KEY/`.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowdust.builds import sources, staging
from slowdust.builds.catalog import Catalog, Entry, catalog_of
from slowdust.builds.compiling.flags import with_flags
from slowdust.builds.fingerprint import find_server, fingerprint, hosted, programs_in, sha256_of
from slowdust.builds.model import Build, Progress, Runtime, Unpacked
from slowdust.errors import SlowdustError
from slowdust.places import cache_root, within
from slowdust.store.manifest import BuildFacts
from slowdust.store.reading import FAULTS
from slowdust.unpacking import inside, open_to_all

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
    programs: dict[str, str] = {}
    """Program or library, relative to the folder of the binaries -> its SHA-256."""


def cached(dbms: str, version: str) -> Record | None:
    """Read the record of a build; None when the build is not in the cache.

    It is not there, either, if its description is missing or damaged: it is fetched again then.
    """
    return _read(fetched_folder(dbms, version))


def _read(folder: Path) -> Record | None:
    with suppress(OSError, *FAULTS):
        return msgspec.json.decode((folder / _RECORD).read_bytes(), type=Record)
    return None


def damaged(dbms: str) -> list[Path]:
    places = (within(cache_root(), kind, dbms) for kind in ("builds", "compiled"))
    folders = sorted(path for place in places for path in place.glob("[!.]*"))
    return [path for path in folders if path.is_dir() and _read(path) is None]


def versions(dbms: str) -> list[str]:
    folders = within(cache_root(), "builds", dbms).glob("[!.]*")
    return [path.name for path in folders if _read(path) is not None]


def binaries(folder: Path) -> Path:
    return folder / _BINARIES


def fetched_folder(dbms: str, version: str) -> Path:
    """Return the folder of a fetched build; raise UsageError for what no version is called."""
    return within(cache_root(), "builds", dbms, version)


def load(dbms: str, version: str) -> Build | None:
    """Load a build and check its server; None when the build is not in the cache."""
    record = cached(dbms, version)
    return _checked(record, fetched_folder(dbms, version)) if record else None


def obtain(catalog: Catalog, entry: Entry, progress: Progress) -> Build:
    """Return the build of an entry, from the cache or else from the first source that has it."""
    folder = _folder(entry)
    record = _read(folder)
    if record is None:
        with staging.lock(folder, progress) as report:
            record = _read(folder) or _fetch(catalog, entry, report)
    return _checked(record, folder)


def remove(dbms: str, version: str) -> None:
    """Delete a build from the cache; raise SlowdustError when it is not there."""
    folder = fetched_folder(dbms, version)
    with staging.lock(folder):
        if not folder.exists():
            raise SlowdustError(f"{dbms}@{version} is not in the cache {cache_root()}")
        staging.delete(folder)


def compiled_folder(dbms: str, key: str) -> Path:
    """Return the folder of a build that is compiled; `key` names what decides about its binaries.

    The caller takes the lock of the folder.
    """
    return within(cache_root(), "compiled", dbms, key)


def compiled_records(dbms: str) -> dict[Path, Record]:
    folders = within(cache_root(), "compiled", dbms).glob("[!.]*")
    records = {path: _read(path) for path in sorted(folders)}
    return {folder: record for folder, record in records.items() if record is not None}


def load_folder(folder: Path) -> Build | None:
    record = _read(folder)
    return _checked(record, folder) if record else None


def fill_compiled(
    folder: Path,
    catalog: Catalog,
    version: str,
    make: Callable[[Path], Unpacked],
) -> None:
    """Fill the folder of a compiled build; `make` leaves its binaries in the folder it is given.

    The caller holds the lock. Raises SlowdustError when the server does not run here.
    """

    def fill(staged: Path) -> None:
        _write(_kept(catalog, version, make(staged), staged), staged)

    staging.fill(folder, fill)


def remove_compiled(folder: Path) -> None:
    with staging.lock(folder):
        staging.delete(folder)


def _fetch(catalog: Catalog, entry: Entry, progress: Progress) -> Record:
    def make(folder: Path) -> Record:
        download = folder / _DOWNLOAD
        unpacked = sources.provide_first(entry.name, entry.origins, download, progress)
        record = _kept(catalog, entry.version, unpacked, folder)
        shutil.rmtree(download, ignore_errors=True)
        if record.facts.version != entry.server_version:
            raise SlowdustError(
                f"{unpacked.source} is not {entry.name}: its server reports version "
                f"{record.facts.version}"
            )
        _write(record, folder)
        return record

    return staging.fill(_folder(entry), make)


def _folder(entry: Entry) -> Path:
    if entry.flags is None:
        return fetched_folder(entry.dbms, entry.version)
    return compiled_folder(entry.dbms, f"{entry.version}-{entry.flags}")


def _kept(catalog: Catalog, version: str, unpacked: Unpacked, folder: Path) -> Record:
    open_to_all(unpacked.binaries)
    return _recorded(catalog, version, _moved(unpacked, folder / _BINARIES))


def _write(record: Record, folder: Path) -> None:
    (folder / _RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(record)))


def _moved(unpacked: Unpacked, place: Path) -> Unpacked:
    def there(path: Path) -> Path:
        return place / path.relative_to(unpacked.binaries)

    unpacked.binaries.rename(place)
    old = unpacked.runtime
    runtime = Runtime(there(old.loader) if old.loader else None, tuple(map(there, old.libraries)))
    return dataclasses.replace(unpacked, binaries=place, runtime=runtime)


def _recorded(catalog: Catalog, version: str, unpacked: Unpacked) -> Record:
    binaries, runtime = unpacked.binaries, unpacked.runtime

    def relative(path: Path) -> str:
        return str(path.relative_to(binaries))

    server = find_server(binaries, catalog.server)
    if server is None:
        raise SlowdustError(f"{unpacked.source} contains no {catalog.dbms} server")
    return Record(
        dbms=catalog.dbms,
        version=version,
        fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        server=relative(server),
        disk_bytes=sum(p.lstat().st_size for p in binaries.rglob("*") if not p.is_dir()),
        facts=fingerprint(
            server,
            catalog.server,
            dataclasses.replace(unpacked, runtime=hosted(catalog.server, runtime)),
        ),
        loader=relative(runtime.loader) if runtime.loader else None,
        libraries=list(map(relative, runtime.libraries)),
        programs={relative(path): sha256_of(path) for path in programs_in(binaries)},
    )


def _checked(record: Record, folder: Path) -> Build:
    root = folder / _BINARIES
    server = inside(root, record.server)
    recorded = {**record.programs, record.server: record.facts.sha256}
    for path, sha256 in recorded.items():
        if not inside(root, path).is_file() or sha256_of(root / path) != sha256:
            name = f"{record.dbms}@{with_flags(record.version, record.facts)}"
            raise SlowdustError(
                f"{path} of the cached build {name} has changed since it was fetched: run "
                f"'slowdust builds remove {name}', and it is fetched again at its next use"
            )
    return Build(
        dbms=record.dbms,
        version=record.version,
        root=root,
        source=record.facts.source,
        server=server,
        facts=record.facts,
        runtime=hosted(
            catalog_of(record.dbms).server,
            Runtime(
                loader=inside(root, record.loader) if record.loader else None,
                libraries=tuple(inside(root, path) for path in record.libraries),
            ),
        ),
    )
