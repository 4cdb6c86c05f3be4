"""The sizes of builds and build trees, and the builds that match patterns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import NamedTuple

from slowdust.builds import cache, directories, resolve
from slowdust.builds.catalog import find_catalog, known_dbms
from slowdust.builds.model import Build, Progress
from slowdust.builds.recipe import with_flags
from slowdust.errors import SlowdustError, UsageError
from slowdust.formats import elf
from slowdust.store.sizes import BuildSizes, ObjectFile, ObjectFolder, TreeSizes
from slowdust.versions import version_order

_PLUGIN_FOLDERS = ("plugin", "postgresql")
"""Folders of a build with shared libraries that are all loaded on demand."""


def measure_build(build: Build) -> BuildSizes:
    """Return the sizes of a build, from the headers of its files.

    Raises SlowdustError if the server's binary is not a 64-bit ELF file.
    """
    try:
        server, needed = elf.read_sizes(build.server)
    except (OSError, ValueError) as error:
        raise SlowdustError(f"cannot read the sizes of {build.server}: {error}") from error
    shared = {path for path in build.root.rglob("*.so*") if path.is_file()}
    plugins = {path for path in shared if path.parent.name in _PLUGIN_FOLDERS}
    libraries = _linked(needed, {path.name: path for path in shared if path not in plugins})
    files = {path.resolve() for path in plugins}
    return BuildSizes(
        dbms=build.dbms,
        version=build.version,
        source=build.source,
        server=server,
        libraries={name: path.stat().st_size for name, path in sorted(libraries.items())},
        plugins=len(files),
        plugin_bytes=sum(path.stat().st_size for path in files),
    )


def _linked(needed: tuple[str, ...], by_name: dict[str, Path]) -> dict[str, Path]:
    linked: dict[str, Path] = {}
    names = list(needed)
    while names:
        name = names.pop()
        if name in linked or name not in by_name:
            continue
        linked[name] = by_name[name]
        try:
            names += elf.read_sizes(by_name[name])[1]
        except (OSError, ValueError):
            continue  # a linker script, which has no dependencies
    return linked


_LARGEST = 20


def measure_tree(directory: Path) -> TreeSizes:
    """Return the sizes of all object files (`*.o`) and static libraries (`*.a`) in a directory.

    Other files with these names are excluded. Links are not followed. Raises UsageError if there
    are no such files.
    """
    objects = _files(directory, "*.o", elf.is_elf)
    libraries = _files(directory, "*.a", _is_library)
    if not (objects or libraries):
        raise UsageError(
            f"{directory} is not a build tree: it has no object files (*.o) or static libraries "
            "(*.a)"
        )
    folders: dict[str, tuple[list[ObjectFile], list[ObjectFile]]] = {}
    for place, files in enumerate((objects, libraries)):
        for file in files:
            head, slash, _ = file.path.partition("/")
            folders.setdefault(head if slash else ".", ([], []))[place].append(file)
    sums = [_folder(path, *files) for path, files in folders.items()]
    return TreeSizes(
        directory=str(directory),
        total=_folder(".", objects, libraries),
        folders=sorted(sums, key=lambda sum_: -(sum_.object_bytes + sum_.library_bytes)),
        largest=sorted((*objects, *libraries), key=lambda file: -file.bytes)[:_LARGEST],
    )


def _files(directory: Path, pattern: str, accepts: Callable[[Path], bool]) -> list[ObjectFile]:
    return [
        ObjectFile(path=str(path.relative_to(directory)), bytes=path.stat().st_size)
        for path in sorted(directory.rglob(pattern))
        if path.is_file() and not path.is_symlink() and accepts(path)
    ]


def _is_library(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8) in (b"!<arch>\n", b"!<thin>\n")


def _folder(
    path: str, objects: Sequence[ObjectFile], libraries: Sequence[ObjectFile]
) -> ObjectFolder:
    return ObjectFolder(
        path=path,
        objects=len(objects),
        object_bytes=sum(file.bytes for file in objects),
        libraries=len(libraries),
        library_bytes=sum(file.bytes for file in libraries),
    )


class Choice(NamedTuple):
    """A build that matches a pattern."""

    dbms: str
    version: str
    available: bool
    """Whether it is fetched, compiled or a directory."""
    folder: Path | None = None
    """The folder of a compiled build in the cache."""

    @property
    def name(self) -> str:
        return f"{self.dbms}@{self.version}"

    def build(self, progress: Progress) -> Build:
        """Return the build, fetched if necessary.

        Raises SlowdustError if it cannot be fetched or does not run here.
        """
        if self.folder is None:
            return resolve(self.dbms, self.version, progress)
        build = cache.load_folder(self.folder)
        if build is None:
            raise SlowdustError(f"{self.name} is no longer in the cache ({self.folder})")
        return dataclasses.replace(build, version=self.version)


def chosen_builds(patterns: Sequence[str]) -> list[Choice]:
    """Return the builds that match any of the patterns, by DBMS, then by version.

    Compiled builds follow the builds of the catalog, in the order of their compilation. A pattern
    is a name with the wildcards `*`, `?` and `[...]`, such as 'mysql@8.*'. Raises UsageError for a
    pattern without a match.
    """
    known = list(_all_builds())
    unmatched = [
        pattern
        for pattern in patterns
        if not any(fnmatchcase(build.name, pattern) for build in known)
    ]
    if unmatched:
        raise UsageError(
            f"no build matches {unmatched[0]}: `slowdust builds list` shows all; write a pattern "
            "in quotes, for example 'mysql@8.*'"
        )
    return [b for b in known if any(fnmatchcase(b.name, pattern) for pattern in patterns)]


def expected_bytes(missing: Sequence[Choice]) -> int | None:
    """Return the expected disk space of builds to fetch, by the median build of their DBMS.

    None if one DBMS has no fetched build.
    """
    total = 0.0
    for build in missing:
        sizes = [
            record.disk_bytes
            for version in cache.versions(build.dbms)
            if (record := cache.cached(build.dbms, version))
        ]
        if not sizes:
            return None
        total += median(sizes)
    return round(total)


def _all_builds() -> Iterator[Choice]:
    for dbms in known_dbms():
        fetched = set(cache.versions(dbms))
        known = {entry.version for entry in find_catalog(dbms).entries}
        for version in sorted(known | fetched, key=version_order):
            yield Choice(dbms, version, version in fetched)
        for name in sorted(directories.registered(dbms)):
            yield Choice(dbms, name, available=True)
        compiled = sorted(cache.compiled_records(dbms).items(), key=lambda item: item[1].fetched)
        for folder, record in compiled:
            label = with_flags(record.version, record.facts)
            yield Choice(dbms, label, available=True, folder=folder)
