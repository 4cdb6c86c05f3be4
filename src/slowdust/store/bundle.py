"""Bundles: one experiment as one file, a compressed tar archive, for another Slowdust.

A bundle has everything that reports need, below the experiment's name: the specification, the
manifest, all records, profiles and the user's note. It does not have the servers' logs, which are
long and contain paths of the machine.

A bundle is untrusted input. Only regular files with the names of an experiment's files are read
from it, and their content is written into a new folder. Links, devices, owners and modes are
ignored.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from slowdust.errors import SlowdustError, UsageError
from slowdust.places import check_regular, is_plain, within
from slowdust.store.count import Count
from slowdust.store.earlier import with_todays_keys
from slowdust.store.experiments import (
    ANNOTATION_FILE,
    check_name,
    is_name,
    put_in_place,
    read_annotation,
    rename_experiment,
    staging_folder,
)
from slowdust.store.folder import (
    BEGINNING_OF_RECORD,
    COUNTS_FILE,
    MANIFEST_FILE,
    PROFILES,
    SLICES_FILE,
    SPEC_FILE,
    TRIALS_FILE,
    WAITS_FILE,
    WORKLOAD_FILE,
    Folder,
)
from slowdust.store.slice import Slice
from slowdust.store.storage import (
    LOCK_FILE,
    DamagedFileError,
    cannot_write,
    complete_lines,
    naming_damage,
    shown,
    unknown_keys,
)
from slowdust.store.storage import MOST_BYTES as MOST_BYTES_OF_FILE
from slowdust.store.trial import Trial
from slowdust.store.waits import WaitWindow
from slowdust.temporary import becoming
from slowdust.unpacking import FAULTS, BoundedMember, each_member, fault

MOST_BYTES = 1 << 30
"""Maximum number of unpacked bytes of a bundle: all slices of the largest report, at 2 kB each."""
_RECORDS: Mapping[str, type[msgspec.Struct]] = {
    SLICES_FILE: Slice,
    COUNTS_FILE: Count,
    WAITS_FILE: WaitWindow,
    TRIALS_FILE: Trial,
}
_FILES = (SPEC_FILE, WORKLOAD_FILE, MANIFEST_FILE, *_RECORDS, ANNOTATION_FILE)
_PROFILE = re.compile(rf"{PROFILES}/(?P<name>[^/]+\.json\.gz)")
_PIECE = 1 << 20
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters except tab and line feed."""


class BundleError(SlowdustError):
    """A file is not a bundle, or is damaged."""


def pack(folder: Folder, destination: Path) -> None:
    """Write the bundle of an experiment atomically; a running experiment as it is now.

    Raises UsageError if `destination` exists, or the experiment has no manifest yet; SlowdustError
    if it cannot be written, or is too large.
    """
    folder.read_manifest()
    _refuse_existing(destination)
    size = sum((folder.path / path).stat().st_size for path in _members(folder))
    if size > MOST_BYTES:
        raise SlowdustError(
            f"'{folder.name}' has {size / 1e6:,.0f} MB, but a bundle can have only "
            f"{MOST_BYTES / 1e6:,.0f} MB: copy its folder, {folder.path}"
        )
    try:
        with becoming(destination) as new:
            with new.open("xb") as file:
                _write(folder, file)
            _refuse_existing(destination)
    except OSError as error:
        raise cannot_write(destination, error) from error


def _refuse_existing(destination: Path) -> None:
    if os.path.lexists(destination):
        raise UsageError(f"{destination} already exists: choose another file with -o")


def _write(folder: Folder, file: IO[bytes]) -> None:
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as archive:
        for path in _members(folder):
            info = tarfile.TarInfo(str(PurePosixPath(folder.name, path)))
            content = (folder.path / path).read_bytes()
            info.size = len(content)
            info.mtime = int((folder.path / path).stat().st_mtime)
            archive.addfile(info, io.BytesIO(content))


def _members(folder: Folder) -> Iterator[str]:
    """Yield the paths of the files for a bundle, relative to the folder."""
    yield from (name for name in _FILES if (folder.path / name).is_file())
    profiles = sorted((folder.path / PROFILES).glob("*.json.gz"))
    yield from (f"{PROFILES}/{path.name}" for path in profiles)


def unpack(bundle: Path, results: Path, name: str | None = None) -> Folder:
    """Import the experiment of a bundle into a results folder atomically; return its folder.

    `name` replaces the experiment's name. Raises UsageError if the name is taken or invalid, or a
    newer Slowdust wrote the experiment; SlowdustError if the file is not a bundle, is damaged, or
    has unexpected content.
    """
    check_regular(bundle)
    if name is not None:
        check_name(name)
    with staging_folder(results) as incoming:
        folder = open_bundle(bundle, incoming)
        wanted = within(results, name or folder.name)
        if wanted.exists():
            raise UsageError(f"'{wanted.name}' already exists in {results}: choose another --name")
        if name not in (None, folder.name):
            folder = rename_experiment(folder, wanted.name)
        (folder.path / LOCK_FILE).unlink(missing_ok=True)
        return put_in_place(folder, results)


def open_bundle(bundle: Path, incoming: Path) -> Folder:
    """Unpack and check the experiment of a bundle below an empty folder.

    Raises UsageError if a newer Slowdust wrote the experiment; BundleError if the file is not a
    bundle, is damaged, or has unexpected content; SlowdustError if the folder cannot be written.
    """
    folder = _read(bundle, incoming)
    try:
        manifest = folder.read_manifest()
        if manifest.experiment != folder.name:
            raise _no_bundle(bundle, "the name in its manifest differs from its folder")
        _check_texts(folder, MANIFEST_FILE, manifest, bundle)
        annotation = read_annotation(folder)
        if (folder.path / ANNOTATION_FILE).is_file():
            _check_texts(folder, ANNOTATION_FILE, annotation, bundle)
        for _ in folder.each_slice():
            pass  # one at a time: together they may not fit into memory
        for name, kind in _RECORDS.items():
            _check_keys(folder.path / name, kind, bundle)
        _check_profiles(folder, bundle)
    except DamagedFileError as error:
        file = error.path.relative_to(folder.path)
        raise _no_bundle(bundle, f"its {file}: {error.reason}") from error
    return folder


def _check_texts(folder: Folder, name: str, record: msgspec.Struct, bundle: Path) -> None:
    """Check a file for unknown keys, and for texts with control characters.

    Raises SlowdustError if it has any, or is damaged.
    """
    path = folder.path / name
    content = path.read_bytes()
    with naming_damage(path):
        unknown = next(unknown_keys(record, with_todays_keys(content)), None)
    _refuse_key(unknown, f"its {name}", bundle)
    if any(_CONTROL.search(text) for text in _texts(msgspec.json.decode(content))):
        raise _no_bundle(bundle, f"its {name} has control characters")


def _check_keys(path: Path, kind: type[msgspec.Struct], bundle: Path) -> None:
    """Check records for damage, and records of today's schema for unknown keys.

    Raises SlowdustError if there are any.
    """
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(complete_lines(path), start=1):
        if not line.strip() or (kind is Slice and not line.startswith(BEGINNING_OF_RECORD)):
            continue  # a flat slice of an earlier schema
        with naming_damage(path):
            today = with_todays_keys(line)
            unknown = next(unknown_keys(decoder.decode(today), today), None)
        _refuse_key(unknown, f"line {number} of its {path.name}", bundle)


def _refuse_key(key: str | None, where: str, bundle: Path) -> None:
    if key is not None:
        raise _no_bundle(
            bundle, f"{where} has the unknown key {shown(key)}, perhaps of a newer Slowdust"
        )


def _check_profiles(folder: Folder, bundle: Path) -> None:
    left = MOST_BYTES
    for path in (folder.path / PROFILES).glob("*"):
        try:
            with gzip.open(path) as content:
                while left > 0 and (part := content.read(_PIECE)):
                    left -= len(part)
        except (OSError, EOFError, zlib.error) as error:
            raise DamagedFileError(path, str(error)) from error
        if left <= 0:
            raise _no_bundle(bundle, "it is too large")
    for _ in folder.each_profile():
        pass


def _texts(content: object) -> Iterator[str]:
    match content:
        case str():
            yield content
        case [*items]:
            for item in items:
                yield from _texts(item)
        case {**named}:
            for name, item in named.items():
                yield str(name)
                yield from _texts(item)


def _read(bundle: Path, incoming: Path) -> Folder:
    """Write the files of a bundle below `incoming`; return the folder of its experiment."""
    names: set[str] = set()
    left = MOST_BYTES
    try:
        with (
            gzip.open(bundle) as file,
            tarfile.open(fileobj=file, mode="r|", tarinfo=BoundedMember) as archive,
        ):
            for member in each_member(archive):
                name, path = _place_of(member, bundle)
                names.add(name)
                left -= member.size
                if len(names) > 1 or left < 0:
                    raise _no_bundle(bundle, "it is too large, or has several experiments")
                target = incoming / name / path
                target.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                assert content is not None
                with target.open("xb") as written:
                    shutil.copyfileobj(content, written, _PIECE)
    except FileExistsError:
        raise _no_bundle(bundle, "it has a file twice") from None
    except FAULTS as error:
        if isinstance(error, FileNotFoundError) and not bundle.exists():
            raise UsageError(f"the file {bundle} does not exist") from None
        if isinstance(error, OSError) and error.errno is not None:
            raise cannot_write(incoming, error) from error
        raise _no_bundle(bundle, fault(error)) from error
    if len(names) != 1:
        raise _no_bundle(bundle, "it is empty")
    folder = Folder.of(incoming, names.pop())
    if not (folder.path / MANIFEST_FILE).is_file():
        raise _no_bundle(bundle, f"it has no {MANIFEST_FILE}")
    return folder


def _place_of(member: tarfile.TarInfo, bundle: Path) -> tuple[str, str]:
    """Return experiment and file of a member. Raises BundleError for others than `pack` writes."""
    name, _, path = member.name.partition("/")
    profile = _PROFILE.fullmatch(path)
    known = path in _FILES if profile is None else is_plain(profile["name"])
    if not (member.isreg() and is_name(name) and known):
        raise _no_bundle(bundle, f"it has the unexpected member {shown(member.name)}")
    most = MOST_BYTES if path in _RECORDS else MOST_BYTES_OF_FILE
    if member.size > most:
        raise _no_bundle(
            bundle,
            f"its {path} has {member.size / 1e6:,.0f} MB; at most {most / 1e6:,.0f} MB are allowed",
        )
    return name, path


def _no_bundle(bundle: Path, why: str) -> BundleError:
    return BundleError(f"{bundle} is not a bundle, or is damaged: {why}")
