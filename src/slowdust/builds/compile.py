"""Builds from source: compiled once for each content, flag set and compiler.

The commands run as an unprivileged user, with a log and progress, and stop when Slowdust stops.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec
import psutil

from slowdust.accounts import BASE_ENVIRONMENT, Account, ends_with_this_process, server_account
from slowdust.builds import cache, recipe
from slowdust.builds.catalog import find_catalog
from slowdust.builds.model import Build, Progress, Unpacked
from slowdust.builds.recipe import (
    DEFAULT_FLAGS,
    Compiler,
    FlagSet,
    Recipe,
    Step,
    Workspace,
    check_programs,
    find_compiler,
    flag_set,
)
from slowdust.builds.revisions import GIT, SOURCE, Revision, find_commit, sources_at, update_tree
from slowdust.errors import SlowdustError, UsageError
from slowdust.places import cache_root
from slowdust.store.manifest import Compiled
from slowdust.units import Second, format_duration
from slowdust.unpacking import Tree

COMPILER_CACHE = "ccache"
"""The folder of the cache for ccache's objects."""
_LAST_LINES = 15
SHOWN_EVERY: Second = 5.0
_LOOK_EVERY: Second = 1.0
STOP_WITHIN: Second = 10.0
_STOPPED_EVERY: Second = 0.1
_NINJA = re.compile(rb"^\[(\d+)/(\d+)\] ", re.MULTILINE)
_MAKE_OF_CMAKE = re.compile(rb"^\[ *(\d+)%\] ", re.MULTILINE)
_COMPILED = re.compile(rb"^\S*(?:cc|\+\+|gcc|clang)\S* .* -c .*$", re.MULTILINE)
"""A command line of a C or C++ compiler, as make prints it."""


@dataclass
class Extent:
    """The progress of a command: `done` of `total` files, or percent."""

    done: int = 0
    total: int = 0

    def read(self, output: bytes) -> None:
        if numbers := _NINJA.findall(output):
            self.done, self.total = map(int, numbers[-1])
        elif percent := _MAKE_OF_CMAKE.findall(output):
            self.done, self.total = int(percent[-1]), 100
        else:
            self.done += len(_COMPILED.findall(output))

    def __str__(self) -> str:
        return f" {self.done:,} of {self.total:,}" if 0 < self.done <= self.total else ""


class Runner:
    """Runs the commands of one build."""

    def __init__(self, account: Account, folder: Path, log: Path, progress: Progress) -> None:
        self._account = account
        self._folder = folder
        self._log = log
        self._progress = progress
        path = os.environ.get("PATH", os.defpath)
        self._environment = {
            **BASE_ENVIRONMENT,
            "PATH": path,
            "HOME": str(folder),  # identifies the processes for `stop_abandoned`
            "CCACHE_DIR": str(cache_root() / COMPILER_CACHE),
        }
        self._extent = Extent()
        self._began = time.monotonic()
        self._shown = 0.0
        self._phase = ""

    def count(self, steps: list[Step]) -> None:
        commands: set[bytes] = set()
        for step in steps:
            if step.preview is not None:
                # make fails for targets that depend on files to be generated: they are not counted.
                done = subprocess.run(
                    step.preview,
                    cwd=self._folder,
                    env={**self._environment, **step.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    check=False,
                    preexec_fn=ends_with_this_process(),
                    **self._account.identity(),
                )
                commands |= set(_COMPILED.findall(done.stdout))
        # Several steps list common files, which the first step compiles.
        self._extent = Extent(total=len(commands))

    def run(self, step: Step) -> None:
        """Run a step; its output goes to the log.

        Raises SlowdustError with the log's last lines if it fails. Any other exception, such as
        Ctrl-C, stops the compilers.
        """
        if step.phase != self._phase:
            self._show(step)
        with self._log.open("ab") as log:
            log.write(f"$ {shlex.join(step.command)}\n".encode())
            log.flush()
            with self._started(step.command, step.environment) as process:
                assert process.stdout is not None
                self._follow(process.stdout, log, step)
                code = process.wait()
        if code != 0:
            lines = self._log.read_text(errors="replace", encoding="utf-8").splitlines()
            remedy = recipe.remedy(lines)
            shown = "\n".join(f"    {line}" for line in lines[-_LAST_LINES:])
            program = Path(str(step.command[0])).name
            raise SlowdustError(
                f"{step.phase} failed: {program} exited with code {code}"
                f"{f': {remedy}' if remedy else ''}\nThe log is {self._log}; its last lines:\n"
                f"{shown}"
            )

    @contextmanager
    def _started(
        self, command: Sequence[str], environment: Mapping[str, str]
    ) -> Iterator[subprocess.Popen[bytes]]:
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env={**self._environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o022,
            # make and ninja stop their compilers on this signal.
            preexec_fn=ends_with_this_process(signal.SIGTERM),  # noqa: PLW1509 - only system calls
            **self._account.identity(),
        )
        try:
            yield process
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_WITHIN)
            # Other processes of the group may take longer than the first one.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()

    def _follow(self, output: IO[bytes], log: IO[bytes], step: Step) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            rest = b""
            while True:
                if selector.select(_LOOK_EVERY):
                    chunk = os.read(output.fileno(), 1 << 16)
                    if not chunk:
                        return
                    log.write(chunk)
                    lines, newline, rest = (rest + chunk).rpartition(b"\n")
                    self._extent.read(lines + newline)
                if time.monotonic() - self._shown >= SHOWN_EVERY:
                    self._show(step)

    def _show(self, step: Step) -> None:
        self._shown, self._phase = time.monotonic(), step.phase
        extent = str(self._extent) if step.phase == "compiling" else ""
        self._progress(f"{step.phase}{extent}, {format_duration(round(self._shown - self._began))}")


def stop_abandoned(folder: Path) -> None:
    """Stop the commands that a killed Slowdust left in a folder. The caller holds its lock."""
    end = time.monotonic() + STOP_WITHIN
    while (left := list(_running_in(folder))) and time.monotonic() < end:
        time.sleep(_STOPPED_EVERY)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left)


def _running_in(folder: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # it exited, or belongs to another user
            if process.environ().get("HOME") == str(folder):
                yield process


_CMAKE = ("CMakeLists.txt", "sql")
_RECIPES: Mapping[str, tuple[Callable[[Workspace], Recipe], tuple[str, ...]]] = {
    "mariadb": (recipe.mariadb, _CMAKE),
    "mysql": (recipe.mysql, _CMAKE),
    "postgres": (recipe.postgres, ("configure", "src/backend")),
}
"""DBMS -> its recipe, and the paths that identify its sources."""
LOG = "build.log"
"""The file with the build's output, in the folder of the binaries."""
_BUILD, _INSTALL, _CONFIGURED = "build", "install", "configured"
_CONFIGURE_LOG = "configure.log"
"""The output of configuring a tree, which begins the log of each build of the tree."""
_DIGITS = 12


@dataclass(frozen=True)
class Choices:
    """Options for a version that is compiled."""

    repository: str | None = None
    flags: str | None = None


def compiled(dbms: str, version: str, choices: Choices, progress: Progress) -> Build:
    """Return the build of `DBMS@git:REF` or `DBMS@source:PATH`, compiled if it is not cached.

    Raises UsageError for a DBMS without a recipe, unknown sources or flags; SlowdustError if a
    program is not installed or the build fails.
    """
    flags, compiler = flag_set(choices.flags or DEFAULT_FLAGS), find_compiler()
    revision = _revision(dbms, version, choices, progress)
    facts = _facts(revision, flags, compiler)
    build = _compiled_before(dbms, version, facts)
    if build is None:
        place = _folder(dbms, facts)
        with cache.lock(place, progress) as report:
            if cache.load_folder(place) is None:
                work = _Work(dbms, version, revision, flags, compiler, report)
                cache.fill_compiled(place, find_catalog(dbms), version, work.fill)
        build = _compiled_before(dbms, version, facts)
    assert build is not None
    return build


def is_compiled(dbms: str, version: str, choices: Choices) -> bool:
    """Return whether the cache has the build. Raises the errors of `compiled`."""
    flags, compiler = flag_set(choices.flags or DEFAULT_FLAGS), find_compiler()
    revision = _revision(dbms, version, choices, lambda _: None)
    return _compiled_before(dbms, version, _facts(revision, flags, compiler)) is not None


def _revision(dbms: str, version: str, choices: Choices, progress: Progress) -> Revision:
    """Return the sources of `git:REF` or `source:PATH`. Raises UsageError."""
    if dbms not in _RECIPES:
        raise UsageError(f"{dbms} cannot be built from source: only {', '.join(_RECIPES)} can")
    if version.startswith(GIT):
        return find_commit(choices.repository, version, progress)
    return sources_at(version)


def _compiled_before(dbms: str, version: str, facts: Compiled) -> Build | None:
    """Return the cached build with these facts, if any."""
    build = cache.load_folder(_folder(dbms, facts))
    if build is None:
        return None
    # Another commit may have the same content: report the requested one.
    shown = msgspec.structs.replace(build.facts, source=_describe(facts), compiled=facts)
    return dataclasses.replace(build, version=version, source=shown.source, facts=shown)


def _describe(facts: Compiled) -> str:
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
    """One build, in the tree of its repository, flags and compiler."""

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
        with cache.lock(place, self.progress):
            stop_abandoned(place / _BUILD)
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
        make_recipe, signs = _RECIPES[self.dbms]
        missing = [path for path in signs if not (source / path).exists()]
        if missing:
            raise UsageError(
                f"{self.version} of {self.revision.place} has no sources of {self.dbms}: there is "
                f"no {missing[0]}"
            )
        workspace = Workspace(source, build, install, self.flags, self.compiler)
        recipe = make_recipe(workspace)
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
        # A kill leaves incomplete files that are newer than their sources, and make would not
        # rebuild them. So a tree that is not marked as configured is rebuilt from scratch.
        configured.unlink(missing_ok=True)
        try:
            runner.count([*recipe.steps])
            for step in recipe.steps:
                runner.run(step)
        finally:
            configured.write_text(wanted, encoding="utf-8")
        return install / recipe.installed

    def _runner(self, place: Path, owned: tuple[Path, ...]) -> Runner:
        """Return a runner as the servers' user, after making that user the owner of `owned`."""
        account = server_account()
        caches = [cache_root() / COMPILER_CACHE] if self.compiler.launcher else []
        for folder in (*owned, *caches):
            folder.mkdir(exist_ok=True)
            account.make_owner_of(folder)
        return Runner(account, place / _BUILD, place / LOG, self.progress)
