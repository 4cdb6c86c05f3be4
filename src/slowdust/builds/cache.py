"""The cache of builds: a folder for each, with the binaries and `build.json`.

Fetched builds are in `builds/DBMS/VERSION/`, compiled ones in `compiled/DBMS/KEY/`. A folder
appears complete, by one rename, or not at all. Each folder has a lock, so that one process fills
it; waiting processes report which process holds the lock and its progress.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from slowdust.accounts import server_account
from slowdust.builds import sources
from slowdust.builds.catalog import Catalog, Entry, find_catalog
from slowdust.builds.fingerprint import find_server, fingerprint, hash_file, hosted, programs_in
from slowdust.builds.model import Build, Progress, Runtime, Unpacked
from slowdust.builds.recipe import with_flags
from slowdust.errors import SlowdustError
from slowdust.locks import try_lock
from slowdust.places import CACHE_VARIABLE, cache_root, make_enterable, within
from slowdust.store.manifest import BuildFacts
from slowdust.store.storage import FAULTS
from slowdust.temporary import ENTERABLE, temporary_folder
from slowdust.units import Second, format_duration
from slowdust.unpacking import inside, open_to_all

POLL_EVERY: Second = 1.0
"""Time between two reads of the lock holder's progress."""
_RETRY_EVERY: Second = 0.05
REPEAT_EVERY: Second = 10.0
"""Time between repeated reports that the lock is held."""
Result = TypeVar("Result")


def fill(folder: Path, make: Callable[[Path], Result]) -> Result:
    """Call `make` with an empty folder, then rename that to `folder`; return the result of `make`.

    An existing folder, which has no readable record, is replaced. The caller holds the lock. Raises
    SlowdustError if the cache cannot be written or entered.
    """
    try:
        with temporary_folder(folder.parent, ENTERABLE) as staged:
            account = server_account()
            if not account.can_enter(staged):
                raise SlowdustError(
                    f"the user {account.name}, who runs the servers, has no access to the cache "
                    f"{cache_root()}: set {CACHE_VARIABLE} to another directory"
                ) from PermissionError(staged)
            result = make(staged)
            if folder.exists():
                shutil.rmtree(folder)
            staged.rename(folder)
    except OSError as error:
        raise SlowdustError(f"cannot fill the cache {cache_root()}: {error.strerror}") from error
    return result


def delete(folder: Path) -> None:
    # Move it first, so that an interrupted deletion leaves no partial folder.
    with temporary_folder(folder.parent) as removed:
        folder.rename(removed / folder.name)


class _Holder(msgspec.Struct):
    """The process that holds a lock, for reports by waiting processes."""

    pid: int
    doing: str


@contextlib.contextmanager
def lock(folder: Path, progress: Progress | None = None) -> Iterator[Progress]:
    """Hold the lock of a folder; yield a function that reports phases to `progress` and to waiters.

    While another process holds the lock, `progress` gets reports about that process.
    """
    make_enterable(folder.parent, CACHE_VARIABLE)
    note = folder.with_name(f".{folder.name}.holder")

    def report(phase: str) -> None:
        _write_note(note, _Holder(os.getpid(), phase))
        if progress is not None:
            progress(phase)

    with folder.with_name(f".{folder.name}.lock").open("a", encoding="utf-8") as file:
        _wait_for(file.fileno(), folder, note, progress)
        try:
            _write_note(note, _Holder(os.getpid(), ""))
            yield report
        finally:
            with contextlib.suppress(OSError):
                note.unlink()


def _wait_for(lock: int, folder: Path, note: Path, progress: Progress | None) -> None:
    begun = reported_at = time.monotonic()
    polled_at, reported = 0.0, ""
    while not try_lock(lock):
        time.sleep(_RETRY_EVERY)
        now = time.monotonic()
        if reported and now - polled_at < POLL_EVERY:
            continue
        polled_at = now
        waiting = f"waiting for {_holder(note)} to fill {folder.name}"
        if progress is not None and (waiting != reported or now - reported_at >= REPEAT_EVERY):
            so_far = f"; {format_duration(round(now - begun))} so far" if reported else ""
            reported, reported_at = waiting, now
            progress(f"{waiting}{so_far}")


def _holder(note: Path) -> str:
    """Describe the holder of a lock: 'process 4711 (compiling 45%)'."""
    try:
        holder = msgspec.json.decode(note.read_bytes(), type=_Holder)
    except (OSError, msgspec.MsgspecError):
        return "another process"
    return f"process {holder.pid}" + (f" ({holder.doing})" if holder.doing else "")


def _write_note(note: Path, holder: _Holder) -> None:
    """Replace the note for waiting processes; without it, their reports only lack details.

    The replacement is atomic: a reader sees a complete note.
    """
    with contextlib.suppress(OSError):
        new = note.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(holder))
        new.replace(note)


_RECORD = "build.json"
_BINARIES = "binaries"
_DOWNLOAD = "download"


class Record(msgspec.Struct, kw_only=True):
    """The content of `build.json`."""

    dbms: str
    version: str
    fetched: str
    server: str
    """The path of the server's binary in the folder of the binaries."""
    disk_bytes: int
    facts: BuildFacts
    loader: str | None = None
    """`Runtime.loader`, as a path in the folder of the binaries."""
    libraries: list[str] = []
    """`Runtime.libraries`, as paths in the folder of the binaries."""
    programs: dict[str, str] = {}
    """Path of a program or library in the folder of the binaries -> its SHA-256."""


def cached(dbms: str, version: str) -> Record | None:
    """Read the record of a build; None if the build is not in the cache.

    A build with a missing or damaged record counts as not cached.
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
    """Return the folder of a fetched build. Raises UsageError for an invalid version."""
    return within(cache_root(), "builds", dbms, version)


def load(dbms: str, version: str) -> Build | None:
    record = cached(dbms, version)
    return _checked(record, fetched_folder(dbms, version)) if record else None


def obtain(catalog: Catalog, entry: Entry, progress: Progress) -> Build:
    folder = _folder(entry)
    record = _read(folder)
    if record is None:
        with lock(folder, progress) as report:
            record = _read(folder) or _fetch(catalog, entry, report)
    return _checked(record, folder)


def remove(dbms: str, version: str) -> None:
    remove_folder(fetched_folder(dbms, version), f"{dbms}@{version}")


def remove_compiled(folder: Path) -> None:
    with lock(folder):
        delete(folder)


def remove_folder(folder: Path, name: str) -> None:
    """Delete a folder of the cache; raise SlowdustError if it does not exist."""
    with lock(folder):
        if not folder.exists():
            raise SlowdustError(f"{name} is not in the cache {cache_root()}")
        delete(folder)


def compiled_folder(dbms: str, key: str) -> Path:
    """Return the folder of a compiled build; `key` is derived from everything that affects it.

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
    """Fill the folder of a compiled build; `make` puts the binaries into its argument.

    The caller holds the lock. Raises SlowdustError if the server does not run here.
    """

    def compiled(staged: Path) -> None:
        _write(_kept(catalog, version, make(staged), staged), staged)

    fill(folder, compiled)


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

    return fill(_folder(entry), make)


def _folder(entry: Entry) -> Path:
    if entry.flags is None:
        return fetched_folder(entry.dbms, entry.version)
    return compiled_folder(entry.dbms, f"{entry.version}-{entry.flags}")


def _kept(catalog: Catalog, version: str, unpacked: Unpacked, folder: Path) -> Record:
    """Move unpacked binaries into the folder of their build; return its record."""
    source, runtime = unpacked.binaries, unpacked.runtime
    open_to_all(source)
    loader = None if runtime.loader is None else str(runtime.loader.relative_to(source))
    libraries = [str(path.relative_to(source)) for path in runtime.libraries]
    binaries = source.rename(folder / _BINARIES)
    server = find_server(binaries, catalog.server)
    if server is None:
        raise SlowdustError(f"{unpacked.source} contains no {catalog.dbms} server")
    runtime = _runtime(catalog, binaries, loader, libraries)
    placed = dataclasses.replace(unpacked, binaries=binaries, runtime=runtime)
    return Record(
        dbms=catalog.dbms,
        version=version,
        fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        server=str(server.relative_to(binaries)),
        disk_bytes=sum(p.lstat().st_size for p in binaries.rglob("*") if not p.is_dir()),
        facts=fingerprint(server, catalog.server, placed),
        loader=loader,
        libraries=libraries,
        programs={str(p.relative_to(binaries)): hash_file(p) for p in programs_in(binaries)},
    )


def _runtime(catalog: Catalog, root: Path, loader: str | None, libraries: Sequence[str]) -> Runtime:
    own = Runtime(
        inside(root, loader) if loader else None, tuple(inside(root, path) for path in libraries)
    )
    return hosted(catalog.server, own)


def _write(record: Record, folder: Path) -> None:
    (folder / _RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(record)))


def _checked(record: Record, folder: Path) -> Build:
    root = folder / _BINARIES
    server = inside(root, record.server)
    recorded = {**record.programs, record.server: record.facts.sha256}
    for path, sha256 in recorded.items():
        if not inside(root, path).is_file() or hash_file(root / path) != sha256:
            name = f"{record.dbms}@{with_flags(record.version, record.facts)}"
            raise SlowdustError(
                f"{path} of the cached build {name} has changed since it was fetched: run "
                f"'slowdust builds remove {name}'; its next use fetches it again"
            )
    return Build(
        dbms=record.dbms,
        version=record.version,
        root=root,
        source=record.facts.source,
        server=server,
        facts=record.facts,
        runtime=_runtime(find_catalog(record.dbms), root, record.loader, record.libraries),
    )
