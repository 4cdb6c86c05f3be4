"""Builds whose sources are here, and which another machine may compile.

That machine gets an `Assignment` and an archive of sources, and needs no repository and no network.
"""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowdust.accounts import server_account
from slowdust.builds import cache
from slowdust.builds.catalog import Entry, catalog_of
from slowdust.builds.compiling import compile as sources
from slowdust.builds.compiling.compiler import find_compiler
from slowdust.builds.compiling.flags import DEFAULT_FLAGS, flag_set
from slowdust.builds.handed_on import name_of
from slowdust.builds.model import Build, Progress
from slowdust.builds.revisions.revision import Revision
from slowdust.builds.sources import amalgamation
from slowdust.errors import SlowdustError
from slowdust.temporary import ENTERABLE, temporary_folder
from slowdust.unpacking import unpack


class OfRevision(msgspec.Struct, kw_only=True, frozen=True, tag=True):
    """The compilation of `git:REF` or `source:PATH`."""

    dbms: str
    version: str
    flags: str | None
    """The name of a set of flags; None for the default."""
    place: str
    """The sources, as in `Revision`, like the next four."""
    content: str
    ref: str | None
    commit: str | None
    subject: str | None
    marks: list[str] = []
    """Files of the sources that decide which programs are needed, once they are exported."""

    @property
    def name(self) -> str:
        """The build as a contender names it."""
        return name_of(self.dbms, self.version, self.flags)

    @property
    def compilers(self) -> str:
        """The compilers that are used, in words."""
        return "C and C++"

    def compiler(self) -> str:
        """Return the version of the compiler here; raise SlowdustError where there is none."""
        return find_compiler().version

    def check(self) -> str:
        """Return the version of the compiler here; raise SlowdustError for what is missing."""
        return sources.check_programs_for(self.dbms, self.marks).version

    def cached(self, compiler: str) -> Build | None:
        """Return the build that the cache has of a compiler, by its version."""
        flags = flag_set(self.flags or DEFAULT_FLAGS)
        facts = sources.facts_of(self._revision(_nothing), flags, compiler)
        return sources.compiled_before(self.dbms, self.version, facts)

    def compile(self, archive: Path, progress: Progress) -> Build:
        """Return the build, compiled here if it is not cached; raise SlowdustError."""
        flags = flag_set(self.flags or DEFAULT_FLAGS)
        compiler = sources.check_programs_for(self.dbms, self.marks)
        revision = self._revision(functools.partial(unpack, archive))
        return sources.compiled_from(
            self.dbms, self.version, revision, flags=flags, compiler=compiler, progress=progress
        )

    def _revision(self, export: Callable[[Path], None]) -> Revision:
        return Revision(self.place, self.content, export, self.ref, self.commit, self.subject)


class OfAmalgamation(msgspec.Struct, kw_only=True, frozen=True, tag=True):
    """The compilation of an entry of the catalog that comes as an amalgamation."""

    name: str
    """The build as a contender names it."""
    entry: Entry

    @property
    def compilers(self) -> str:
        """The compilers that are used, in words."""
        return "C"

    def compiler(self) -> str:
        """Return the version of the compiler here; raise SlowdustError where there is none."""
        return amalgamation.compiler_version()

    def check(self) -> str:
        """Return the version of the compiler here; raise SlowdustError for what is missing."""
        return amalgamation.compiler_version()

    def cached(self, compiler: str) -> Build | None:
        """Return the build that the cache has, which has one at most, of whatever compiler."""
        del compiler
        return cache.held(self.entry)

    def compile(self, archive: Path, progress: Progress) -> Build:
        """Return the build, compiled here if it is not cached; raise SlowdustError."""
        with temporary_folder(server_account().temporary_root(), ENTERABLE) as directory:
            unpack(archive, directory)
            (source,) = directory.iterdir()
            origin = amalgamation.at(self.entry.origins[0], source)
            entry = dataclasses.replace(self.entry, origins=(origin,))
            return cache.obtain(catalog_of(entry.dbms), entry, progress)


Assignment = OfRevision | OfAmalgamation


@dataclass(frozen=True)
class Compilation:
    """A build that is compiled, and the way to its sources."""

    assignment: Assignment
    export: Callable[[Path], None]
    """Writes the sources into a new folder."""

    def exported(self, folder: Path) -> Assignment:
        """Write the sources into a new folder; return the assignment with what they tell."""
        self.export(folder)
        if isinstance(self.assignment, OfAmalgamation):
            return self.assignment
        marks = sources.marks_of(self.assignment.dbms, folder)
        return msgspec.structs.replace(self.assignment, marks=marks)


def of_revision(
    dbms: str, version: str, choices: sources.Choices, progress: Progress
) -> Compilation:
    """Return the compilation of `git:REF` or `source:PATH`; raise UsageError for unknown ones."""
    sources.check_recipe(dbms)
    revision = sources.revision_of(version, choices.repository, progress)
    assignment = OfRevision(
        dbms=dbms,
        version=version,
        flags=choices.flags,
        place=revision.place,
        content=revision.content,
        ref=revision.ref,
        commit=revision.commit,
        subject=revision.subject,
    )
    return Compilation(assignment, revision.export)


def of_entry(name: str, entry: Entry, progress: Progress) -> Compilation | None:
    """Return the compilation of an entry of the catalog; None where it is not compiled here."""
    if not entry.origins or entry.origins[0].kind != amalgamation.KIND:
        return None

    def export(folder: Path) -> None:
        with temporary_folder(server_account().temporary_root(), ENTERABLE) as directory:
            source = amalgamation.fetched(entry.origins[0], directory, progress)
            folder.mkdir()
            shutil.copyfile(source, folder / source.name)

    return Compilation(OfAmalgamation(name=name, entry=entry), export)


def _nothing(folder: Path) -> None:
    raise SlowdustError(f"the sources for {folder} are on another machine")
