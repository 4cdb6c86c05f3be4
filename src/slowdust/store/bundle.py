"""Bundles: one experiment as one file, a compressed tar archive, for another Slowdust.

A bundle has what reports are made of, below the experiment's name: the specification, the manifest,
all records, profiles and the user's note. The servers' logs stay where they were written, since
they are long and name the machine's paths.

A bundle may come from anybody. So nothing is unpacked as the archive says: of its members only
regular files with names that an experiment's folder has are read, and written by their content
into a new folder. Links, devices, owners and modes are never looked at.
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
    aside,
    check_name,
    is_name,
    put_in_place,
    read_annotation,
    rename_experiment,
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
from slowdust.unpacking import FAULTS, BoundedMember, fault, members_of

MOST_BYTES = 1 << 30
"""The most that a bundle may unpack to: as many slices as a report is made of, at 2 kB each."""
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
"""Control characters but tab and the end of a line."""


class BundleError(SlowdustError):
    """A file that is not a bundle, or is damaged."""


def pack(folder: Folder, destination: Path) -> None:
    """Write the bundle of an experiment, which appears whole; a running one as it is now.

    Raises UsageError if `destination` exists, or the experiment has no manifest yet and
    SlowdustError if it cannot be written, or is larger than a bundle may be.
    """
    folder.read_manifest()
    _refuse_existing(destination)
    size = sum((folder.path / path).stat().st_size for path in _members(folder))
    if size > MOST_BYTES:
        raise SlowdustError(
            f"'{folder.name}' has {size / 1e6:,.0f} MB, and a bundle at most "
            f"{MOST_BYTES / 1e6:,.0f}: copy its folder, {folder.path}"
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
        raise UsageError(f"{destination} exists already: choose another file with -o")


def _write(folder: Folder, file: IO[bytes]) -> None:
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as archive:
        for path in _members(folder):
            info = tarfile.TarInfo(str(PurePosixPath(folder.name, path)))
            content = (folder.path / path).read_bytes()
            info.size = len(content)
            info.mtime = int((folder.path / path).stat().st_mtime)
            archive.addfile(info, io.BytesIO(content))


def _members(folder: Folder) -> Iterator[str]:
    """Yield the paths of the folder's files that belong into a bundle."""
    yield from (name for name in _FILES if (folder.path / name).is_file())
    profiles = sorted((folder.path / PROFILES).glob("*.json.gz"))
    yield from (f"{PROFILES}/{path.name}" for path in profiles)


def unpack(bundle: Path, results: Path, name: str | None = None) -> Folder:
    """Bring the experiment of a bundle into a results folder; return it.

    It has the name that it had, or `name`. It appears whole or not at all. Raises UsageError if the
    name is taken or not valid, or a newer Slowdust wrote the experiment and SlowdustError if the
    file is no bundle, is damaged, or has what no bundle has.
    """
    check_regular(bundle)
    if name is not None:
        check_name(name)
    with aside(results) as incoming:
        folder = open_bundle(bundle, incoming)
        wanted = within(results, name or folder.name)
        if wanted.exists():
            raise UsageError(
                f"there is a '{wanted.name}' in {results} already: choose another with --name"
            )
        if name not in (None, folder.name):
            folder = rename_experiment(folder, wanted.name)
        (folder.path / LOCK_FILE).unlink(missing_ok=True)
        return put_in_place(folder, results)


def open_bundle(bundle: Path, incoming: Path) -> Folder:
    """Write the experiment of a bundle below an empty folder; all of it can be read.

    Raises UsageError if a newer Slowdust wrote the experiment, BundleError if the file is no
    bundle, is damaged, or has what no bundle has and SlowdustError if the folder cannot be written.
    """
    folder = _read(bundle, incoming)
    try:
        manifest = folder.read_manifest()
        if manifest.experiment != folder.name:
            raise _no_bundle(bundle, "its manifest has another name than its folder")
        _check_texts(folder, MANIFEST_FILE, manifest, bundle)
        annotation = read_annotation(folder)
        if (folder.path / ANNOTATION_FILE).is_file():
            _check_texts(folder, ANNOTATION_FILE, annotation, bundle)
        for _ in folder.each_slice():
            pass  # one at a time: all of them may be more than the memory has
        for name, kind in _RECORDS.items():
            _check_keys(folder.path / name, kind, bundle)
        _check_profiles(folder, bundle)
    except DamagedFileError as error:
        file = error.path.relative_to(folder.path)
        raise _no_bundle(bundle, f"its {file}: {error.reason}") from error
    return folder


def _check_texts(folder: Folder, name: str, record: msgspec.Struct, bundle: Path) -> None:
    """Refuse unknown keys, and texts that would command a terminal which they are printed on.

    Raises SlowdustError if there are such, or the file is damaged.
    """
    path = folder.path / name
    content = path.read_bytes()
    with naming_damage(path):
        unknown = next(unknown_keys(record, with_todays_keys(content)), None)
    _refuse_key(unknown, f"its {name}", bundle)
    if any(_CONTROL.search(text) for text in _texts(msgspec.json.decode(content))):
        raise _no_bundle(bundle, f"its {name} has control characters")


def _check_keys(path: Path, kind: type[msgspec.Struct], bundle: Path) -> None:
    """Refuse damaged records, and those of today's schema with unknown keys.

    Raises SlowdustError if there are such.
    """
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(complete_lines(path), start=1):
        if not line.strip() or (kind is Slice and not line.startswith(BEGINNING_OF_RECORD)):
            continue  # a slice of an earlier schema was flat
        with naming_damage(path):
            today = with_todays_keys(line)
            unknown = next(unknown_keys(decoder.decode(today), today), None)
        _refuse_key(unknown, f"line {number} of its {path.name}", bundle)


def _refuse_key(key: str | None, where: str, bundle: Path) -> None:
    if key is not None:
        raise _no_bundle(
            bundle, f"{where} has the unknown key {shown(key)}, as a newer Slowdust may write it"
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
            for member in members_of(archive):
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
        raise _no_bundle(bundle, "a file is in it twice") from None
    except FAULTS as error:
        if isinstance(error, FileNotFoundError) and not bundle.exists():
            raise UsageError(f"there is no file {bundle}") from None
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
    """Return experiment and file of a member; refuse whatever `pack` does not write."""
    name, _, path = member.name.partition("/")
    profile = _PROFILE.fullmatch(path)
    known = path in _FILES if profile is None else is_plain(profile["name"])
    if not (member.isreg() and is_name(name) and known):
        raise _no_bundle(bundle, f"it has {shown(member.name)}")
    most = MOST_BYTES if path in _RECORDS else MOST_BYTES_OF_FILE
    if member.size > most:
        raise _no_bundle(
            bundle,
            f"its {path} has {member.size / 1e6:,.0f} MB, and no experiment more than "
            f"{most / 1e6:,.0f}",
        )
    return name, path


def _no_bundle(bundle: Path, why: str) -> BundleError:
    return BundleError(f"{bundle} is not a bundle of `slowdust bundle`, or is damaged: {why}")
