"""Experiments of a results folder: find, rename, remove, annotate, replace.

`annotation.json` of an experiment has the user's note and tags.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

import msgspec
import tomli_w

from slowdust.errors import SlowdustError, UsageError
from slowdust.places import named_path
from slowdust.store.folder import (
    FLEET_SPEC_FILE,
    MANIFEST_FILE,
    NAME,
    SLICES_FILE,
    Folder,
    experiments,
    fleet_folder,
)
from slowdust.store.storage import fault, locked, naming_damage, read_whole, replace_file
from slowdust.temporary import temporary_folder
from slowdust.wording import nearest

ANNOTATION_FILE = "annotation.json"
_TAG = re.compile(r"\w[\w.@+-]*")


class Annotation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The user's note and tags of an experiment."""

    note: str = ""
    tags: list[str] = []
    """Sorted words."""


def read_annotation(folder: Folder) -> Annotation:
    """Return the note and tags of an experiment; empty if the user wrote none.

    Raises SlowdustError if the file is damaged.
    """
    path = folder.path / ANNOTATION_FILE
    try:
        with naming_damage(path):
            return msgspec.json.decode(read_whole(path), type=Annotation)
    except FileNotFoundError:
        return Annotation()


def write_annotation(folder: Folder, annotation: Annotation) -> None:
    """Replace the note and tags of an experiment, which may be running.

    Raises SlowdustError if the folder cannot be written.
    """
    content = msgspec.json.format(msgspec.json.encode(annotation), indent=1)
    replace_file(folder.path / ANNOTATION_FILE, content)


def check_tags(words: Iterable[str]) -> None:
    """Raise UsageError if a word is not a valid tag."""
    for word in words:
        if _TAG.fullmatch(word) is None:
            raise UsageError(
                f"'{word}' is not a valid tag: use one word of letters, digits and ._@+-, such as "
                "nightly"
            )


BUNDLE_SUFFIX = ".slowdust"
"""Suffix of a bundle's file (`bundle.py`)."""


def is_name(text: str) -> bool:
    return re.fullmatch(NAME, text) is not None


def check_name(text: str) -> None:
    """Raise UsageError if a string is not a valid name of an experiment."""
    if not is_name(text):
        raise UsageError(
            f"{text!r} is not a valid name of an experiment: use at most 200 letters, digits and "
            "._@+-, and begin with a letter or digit"
        )


def check_results(results: Path) -> None:
    if not results.is_dir():
        raise UsageError(
            f"the folder {results} does not exist: set the folder of the experiments with --results"
        )


def find_experiment(results: Path, name: str) -> Folder:
    """Return the folder of an experiment, which may be damaged.

    `name` is its name in `results`, or the path of its folder or of a file in it. Raises UsageError
    if it does not exist.
    """
    if name.endswith(BUNDLE_SUFFIX) and Path(name).is_file():
        raise UsageError(f"{name} is a bundle: import it with `slowdust import bundle {name}`")
    if name and not is_name(name) and (path := _existing_path(name)) is not None:
        folder = Folder(path.parent if path.is_file() else path)
        if _is_kept(folder):
            return folder
        raise UsageError(f"no experiment in {path}")
    check_name(name)
    folder = Folder.of(results, name)
    if not _is_kept(folder):
        if not results.is_dir():
            raise UsageError(f"no experiment '{name}': the folder {results} does not exist")
        names = [each.name for each in experiments(results)]
        close = nearest(name, names)
        hint = f"did you mean {close}?" if close else "`slowdust list` shows its experiments"
        raise UsageError(f"no experiment '{name}' in {results}: {hint}")
    return folder


def _existing_path(name: str) -> Path | None:
    """Return a user's path, with a proper last part; None if it does not exist."""
    path = named_path(name)
    if not path.exists():
        return None
    return path.resolve() if path.name in {"", ".."} else path


def _is_kept(folder: Folder) -> bool:
    return folder.has_manifest() or (folder.path / SLICES_FILE).is_file()


def rename_experiment(folder: Folder, name: str) -> Folder:
    """Rename an experiment, including its specification and its manifest; return its folder.

    The order of `slowdust list` does not change. A fleet's record is renamed too. Raises UsageError
    if the name is invalid or taken, or the experiment is running; SlowdustError if its manifest is
    damaged, or the folder cannot be written.
    """
    check_name(name)
    target = folder.path.with_name(name)
    results = folder.path.parent
    moves = [(fleet, fleet_folder(results, name)) for fleet in _fleet_folders(folder)]
    moves.append((folder.path, target))
    with _held(folder):
        for _, new in moves:
            if new.exists():
                raise UsageError(f"'{new.name}' already exists in {results}: choose another name")
        if folder.has_manifest():
            path = folder.path / MANIFEST_FILE
            times = path.stat()
            with naming_damage(path):
                manifest = msgspec.json.decode(path.read_bytes(), type=dict[str, object])
            manifest["experiment"] = name
            replace_file(path, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        for old, new in moves:
            _rename_spec(folder.spec_file if old == folder.path else old / FLEET_SPEC_FILE, name)
            try:
                old.rename(new)
            except OSError as error:
                raise SlowdustError(f"cannot rename {old}: {error.strerror}") from error
    return Folder(target)


def remove_experiment(folder: Folder) -> None:
    """Remove an experiment with all its files, and its fleet's record.

    Raises UsageError if it is running, SlowdustError if a file cannot be removed.
    """
    with _held(folder):
        for path in list_folders(folder):
            try:
                shutil.rmtree(path)
            except OSError as error:
                raise SlowdustError(f"cannot remove {path}: {error}") from error


def list_folders(folder: Folder) -> list[Path]:
    """Return the folders of an experiment: its fleet's record, if any, and its own."""
    return [*_fleet_folders(folder), folder.path]


def _fleet_folders(folder: Folder) -> list[Path]:
    fleet = fleet_folder(folder.path.parent, folder.name)
    return [fleet] if fleet.is_dir() else []


@contextmanager
def _held(folder: Folder) -> Iterator[None]:
    refusal = f"'{folder.name}' is running: wait until it finishes, or stop it with Ctrl-C"
    with ExitStack() as stack:
        for path in [folder.path, *_fleet_folders(folder)]:
            stack.enter_context(locked(path, refusal))
        yield


def _rename_spec(path: Path, name: str) -> None:
    if not path.is_file():
        return
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise SlowdustError(f"{path} is damaged: {fault(error)}") from error
    if "name" in table:
        replace_file(path, tomli_w.dumps(table | {"name": name}).encode())


@contextmanager
def free_name(results: Path, wanted: str) -> Iterator[str]:
    """Reserve a free name: `wanted`, or `wanted` with a number.

    Two commands that start in the same second get different names. A folder that stays empty is
    removed.
    """
    for number in count(1):
        name = wanted if number == 1 else f"{wanted}-{number}"
        folder = results / name
        made = [path for path in (results, folder) if not path.exists()]
        with suppress(FileExistsError):
            results.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            break
    try:
        yield name
    finally:
        for path in reversed(made):
            with suppress(OSError):  # it is not empty, or another process uses it
                path.rmdir()


_HERE = -100
"""AT_FDCWD: paths are relative to the working directory."""
_EXCHANGE = 2
"""RENAME_EXCHANGE."""


@contextmanager
def staging_folder(results: Path) -> Iterator[Path]:
    """Create a staging folder for experiments, on the disk of the results.

    It is removed at the end; folders that a killed process left are removed first. Raises
    SlowdustError if it cannot be created.
    """
    with ExitStack() as stack:
        try:
            results.mkdir(parents=True, exist_ok=True)
            place = stack.enter_context(temporary_folder(results))
        except OSError as error:
            raise SlowdustError(f"cannot write to {results}: {error.strerror}") from error
        yield place


def put_in_place(folder: Folder, results: Path) -> Folder:
    """Move a complete experiment into the results folder, replacing one of the same name.

    The user's note of the replaced experiment is kept. Raises UsageError if a process is writing to
    the replaced experiment, SlowdustError if the new one cannot be moved.
    """
    place = Folder.of(results, folder.name)
    try:
        if not place.path.exists():
            folder.path.rename(place.path)
            return place
        with place.locked():
            with suppress(FileNotFoundError):
                shutil.copy2(place.path / ANNOTATION_FILE, folder.path / ANNOTATION_FILE)
            new = folder.path
            old = place.path
            paths = (os.fsencode(new), os.fsencode(old))
            if ctypes.CDLL(None).renameat2(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) != 0:
                old.rename(new.with_name(f"{new.name}.before"))
                new.rename(old)
    except OSError as error:
        raise SlowdustError(f"cannot write {place.path}: {error.strerror}") from error
    return place
