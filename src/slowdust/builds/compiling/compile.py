"""A build from source: compiled once for its content, its flags and the compiler."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowdust.accounts import server_account
from slowdust.builds import cache, staging
from slowdust.builds.catalog import catalog_of
from slowdust.builds.compiling import recipe
from slowdust.builds.compiling.flags import DEFAULT_FLAGS, FlagSet, flag_set
from slowdust.builds.compiling.recipe import (
    Compiler,
    Recipe,
    Workshop,
    check_programs,
    find_compiler,
)
from slowdust.builds.compiling.running import COMPILER_CACHE, Runner, end_abandoned
from slowdust.builds.model import Build, Progress, Unpacked
from slowdust.builds.revisions import GIT, SOURCE, Revision, commit_of, sources_at, update_tree
from slowdust.errors import UsageError
from slowdust.places import cache_root
from slowdust.store.manifest import Compiled
from slowdust.unpacking import Tree


@dataclass(frozen=True)
class _Kind:
    """The sources of a DBMS."""

    recipe: Callable[[Workshop], Recipe]
    signs: tuple[str, ...]
    """Paths by which the sources are known."""


_CMAKE = ("CMakeLists.txt", "sql")
_KINDS = {
    "mariadb": _Kind(recipe.mariadb, _CMAKE),
    "mysql": _Kind(recipe.mysql, _CMAKE),
    "postgres": _Kind(recipe.postgres, ("configure", "src/backend")),
}
LOG = "build.log"
"""The file beside the binaries with what the build printed."""
_BUILD, _INSTALL, _CONFIGURED = "build", "install", "configured"
_CONFIGURE_LOG = "configure.log"
"""What configuring a tree printed: every build of the tree begins its log with it."""
_DIGITS = 12


@dataclass(frozen=True)
class Choices:
    """What a version that is compiled leaves open."""

    repository: str | None = None
    """A clone or a URL, for `git:REF`."""
    flags: str | None = None
    """The name of a set of flags; None for the default."""


def compiled(dbms: str, version: str, choices: Choices, progress: Progress) -> Build:
    """Return the build of `DBMS@git:REF` or `DBMS@source:PATH`, compiled if it is not cached.

    Raises UsageError for a DBMS that has no recipe, unknown sources or flags; SlowdustError when
    something is not installed, or when the build fails.
    """
    flags, compiler = flag_set(choices.flags or DEFAULT_FLAGS), find_compiler()
    revision = _revision(dbms, version, choices, progress)
    facts = _facts(revision, flags, compiler)
    build = _compiled_before(dbms, version, facts)
    if build is None:
        place = _folder(dbms, facts)
        with staging.lock(place, progress) as report:
            if cache.load_folder(place) is None:
                work = _Work(dbms, version, revision, flags, compiler, report)
                cache.fill_compiled(place, catalog_of(dbms), version, work.fill)
        build = _compiled_before(dbms, version, facts)
    assert build is not None
    return build


def is_compiled(dbms: str, version: str, choices: Choices) -> bool:
    """Return whether the cache has the build of sources, with the errors of `compiled`."""
    flags, compiler = flag_set(choices.flags or DEFAULT_FLAGS), find_compiler()
    revision = _revision(dbms, version, choices, lambda _: None)
    return _compiled_before(dbms, version, _facts(revision, flags, compiler)) is not None


def _revision(dbms: str, version: str, choices: Choices, progress: Progress) -> Revision:
    """Return the sources of `git:REF` or `source:PATH`; raise UsageError for unknown ones."""
    if dbms not in _KINDS:
        raise UsageError(f"{dbms} cannot be built from source: only {', '.join(_KINDS)} can")
    if version.startswith(GIT):
        return commit_of(choices.repository, version, progress)
    return sources_at(version)


def _compiled_before(dbms: str, version: str, facts: Compiled) -> Build | None:
    """Return a build that the cache has; None where it has none that was made in that way."""
    build = cache.load_folder(_folder(dbms, facts))
    if build is None:
        return None
    # Another commit may have the same content: the one that was asked for is reported.
    shown = msgspec.structs.replace(build.facts, source=_describe(facts), compiled=facts)
    return dataclasses.replace(build, version=version, source=shown.source, facts=shown)


def _describe(facts: Compiled) -> str:
    """Describe how a build was made: 'git v2 0123456789ab "Add it" of /src, o2, gcc 12.2.0'."""
    where = facts.place
    if facts.commit is not None:
        where = f'git {facts.ref} {facts.commit[:_DIGITS]} "{facts.subject}" of {where}'
    return f"{where}, {facts.flags}, {facts.compiler}"


def _facts(revision: Revision, flags: FlagSet, compiler: Compiler) -> Compiled:
    return Compiled(
        place=revision.place,
        content=revision.content,
        flags=flags.name,
        options=list(flags.options),
        compiler=compiler.version,
        ref=revision.ref,
        commit=revision.commit,
        subject=revision.subject,
    )


def _folder(dbms: str, facts: Compiled) -> Path:
    key = f"{facts.content[:_DIGITS]}-{facts.flags}-{_digest(*facts.options, facts.compiler)}"
    return cache.compiled_folder(dbms, key)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class _Work:
    """The making of one build in the tree of its repository, flags and compiler."""

    dbms: str
    version: str
    revision: Revision
    flags: FlagSet
    compiler: Compiler
    progress: Progress

    def fill(self, folder: Path) -> Unpacked:
        revision = self.revision
        name = f"{self.flags.name}-{_digest(revision.place, self.compiler.version)}"
        place = cache_root() / "trees" / self.dbms / name
        with staging.lock(place, self.progress):
            end_abandoned(place / _BUILD)
            place.mkdir(exist_ok=True)
            place.chmod(0o755)
            self.progress(f"exporting {revision.ref or 'the sources'} of {revision.place}")
            update_tree(place, revision)
            installed = self._made(place)
            binaries = folder / "installed"
            printed = ["tar", "--create", "--file=-", f"--directory={installed}", "."]
            copied = Tree(binaries)
            copied.add_output(printed, server_account(), f"the installation of {self.version}")
            copied.finish()
            shutil.rmtree(place / _INSTALL)
            shutil.copy(place / LOG, folder / LOG)
        facts = _facts(revision, self.flags, self.compiler)
        return Unpacked(binaries, _describe(facts), compiled=facts)

    def _made(self, place: Path) -> Path:
        source, build, install = place / SOURCE, place / _BUILD, place / _INSTALL
        self._check(source)
        workshop = Workshop(source, build, install, self.flags, self.compiler)
        recipe = _KINDS[self.dbms].recipe(workshop)
        check_programs(recipe.needs)
        shutil.rmtree(install, ignore_errors=True)
        configured, log, configure_log = place / _CONFIGURED, place / LOG, place / _CONFIGURE_LOG
        wanted = "\n".join(recipe.configure.command)
        if (
            configured.exists()
            and configured.read_text(encoding="utf-8") == wanted
            and configure_log.exists()
        ):
            shutil.copyfile(configure_log, log)
            runner = self._runner(place, (build, install))
        else:
            configured.unlink(missing_ok=True)
            shutil.rmtree(build, ignore_errors=True)
            log.write_bytes(b"")
            runner = self._runner(place, (build, install))
            runner.run(recipe.configure)
            shutil.copyfile(log, configure_log)
        # A kill leaves files that are newer than their sources and incomplete: make takes them for
        # whole. What is not marked as configured begins anew.
        configured.unlink(missing_ok=True)
        try:
            runner.count([*recipe.steps])
            for step in recipe.steps:
                runner.run(step)
        finally:
            configured.write_text(wanted, encoding="utf-8")
        return install / recipe.installed

    def _runner(self, place: Path, owned: tuple[Path, ...]) -> Runner:
        """Return what runs the commands as the servers' user, who owns the given directories."""
        account = server_account()
        caches = [cache_root() / COMPILER_CACHE] if self.compiler.launcher else []
        for folder in (*owned, *caches):
            folder.mkdir(exist_ok=True)
            account.make_owner_of(folder)
        return Runner(account, place / _BUILD, place / LOG, self.progress)

    def _check(self, source: Path) -> None:
        missing = [path for path in _KINDS[self.dbms].signs if not (source / path).exists()]
        if missing:
            raise UsageError(
                f"{self.version} of {self.revision.place} has no sources of {self.dbms}: there is "
                f"no {missing[0]}"
            )
