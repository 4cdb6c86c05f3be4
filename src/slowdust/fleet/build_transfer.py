"""Pushing builds: a folder of the head's cache is copied to the same place on each host.

Folders are identified by the SHA-256 of their content. Builds are compiled once: by the head, or,
if it lacks a compiler, by one host that has one.
"""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path, PurePosixPath

import msgspec

from slowdust import __version__
from slowdust.builds import Choices, cache, resolve
from slowdust.builds.model import Build, Progress
from slowdust.builds.pushed import PushedBuild, build_name, hash_folder, known
from slowdust.builds.revisions import is_source
from slowdust.dbms import family
from slowdust.errors import HostError, SlowdustError
from slowdust.experiment.contender import ResolvedContender
from slowdust.experiment.live import open_view
from slowdust.experiment.setup import resolve_contenders
from slowdust.experiment.spec.contenders import ContenderName, parse_contender
from slowdust.experiment.spec.spec import Spec
from slowdust.fleet.cluster import Ask, Cluster
from slowdust.fleet.view import FleetView, OpenFleetView
from slowdust.located_errors import at
from slowdust.places import cache_root, within
from slowdust.temporary import temporary_folder
from slowdust.unpacking import unpack
from slowdust.wording import listing

_FOLDER = re.compile(r"(?:builds|compiled)/[A-Za-z0-9_]+/[A-Za-z0-9][^/\0]*|allocators/[a-z0-9]+")


class PushedFolder(msgspec.Struct, kw_only=True, frozen=True):
    """A folder of the cache."""

    folder: str
    """The path in the cache."""
    sha256: str
    """The checksum of the content."""

    @property
    def place(self) -> Path:
        """The path in this machine's cache; names cannot lead elsewhere.

        Raises:
            SlowdustError: the name is not a folder of a cache.
        """
        if not _FOLDER.fullmatch(self.folder):
            raise SlowdustError(f"'{self.folder}' is not a folder of a build cache")
        return within(cache_root(), *PurePosixPath(self.folder).parts)


class NotCompiled(msgspec.Struct, kw_only=True, frozen=True):
    """A host compiled nothing."""

    reason: str
    another_may: bool
    """Whether another host may compile it."""


def push_builds(
    spec: Spec, cluster: Cluster, open_fleet_view: OpenFleetView
) -> list[ResolvedContender]:
    """Get all builds of an experiment, and push them to the hosts; return its contenders.

    Raises:
        UsageError: unknown build, config or revision.
        SlowdustError: a build is not available.
    """
    with open_view() as phases:
        uncompiled = _uncompiled(spec, phases.phase)
    compiled: list[PushedBuild] = []
    if uncompiled:
        with open_fleet_view() as view:
            compiled = _compile_on_a_host(spec, uncompiled, cluster, view)
    named: dict[str, Build] = {}
    """The builds that contenders need, by the contenders' names for them."""
    with known(compiled), open_view() as phases:
        contenders = resolve_contenders(spec, phases)
        for planned, contender in zip(spec.planned_contenders(), contenders, strict=True):
            name, build = planned.name, contender.build
            if name.dbms is None or name.version is None or build is None:
                continue
            named[build_name(name.dbms, name.version, name.flags)] = build
            if backing := family(name.dbms).backing_server(contender.settings):
                named[build_name(*backing, None)] = resolve(*backing, phases.phase)
        builds = [
            pushed_build(name, build)
            for name, build in named.items()
            if build.root.is_relative_to(cache_root())
        ]
    libraries = [contender.environment.library for contender in contenders]
    allocators = [str(each.parent.relative_to(cache_root())) for each in libraries if each]
    cluster.push([*dict.fromkeys([*(build.folder for build in builds), *allocators])], builds)
    return contenders


def _uncompiled(spec: Spec, progress: Progress) -> dict[str, HostError]:
    """Return the builds that this machine lacks programs to compile, and the errors.

    Compared builds should come from one compiler: if one build from source is among them, all
    builds from source are.
    """
    uncompiled: dict[str, HostError] = {}
    from_source: list[str] = []
    for planned in spec.planned_contenders():
        name = planned.name
        if name.dbms is None or name.version is None:
            continue
        text = build_name(name.dbms, name.version, name.flags)
        from_source += [text] if is_source(name.version) else []
        with at("contenders", planned.place):
            try:
                _resolved(name, spec.repo, progress)
            except HostError as error:
                uncompiled[text] = error
    first = next((uncompiled[text] for text in from_source if text in uncompiled), None)
    return uncompiled if first is None else dict.fromkeys(from_source, first) | uncompiled


def _resolved(name: ContenderName, repository: str | None, progress: Progress) -> Build:
    assert name.dbms is not None
    assert name.version is not None
    choices = Choices(repository=repository, flags=name.flags)
    return resolve(name.dbms, name.version, progress, choices)


def _compile_on_a_host(
    spec: Spec, uncompiled: dict[str, HostError], cluster: Cluster, view: FleetView
) -> list[PushedBuild]:
    """Compile builds on the first suitable host, and store them in the cache of this machine.

    Raises:
        SlowdustError: no host can compile them, or a compilation failed.
    """
    names = listing([*uncompiled])
    reasons = [f"the head: {error}" for error in dict.fromkeys(map(str, uncompiled.values()))]
    for host in sorted(cluster.hosts()):
        view.event(f"{host}: compiling {names}; the head lacks programs for it")
        order = (__version__, [*uncompiled], spec.repo)
        answer = cluster.ask(compile_builds, *order, when=Ask.WHEN_IDLE, hosts=[host])[host]
        if isinstance(answer, list):
            for build, archive in answer:
                put(PushedFolder(folder=build.folder, sha256=build.sha256), archive)
            view.event(f"{host}: compiled {names}")
            return [build for build, _ in answer]
        if isinstance(answer, NotCompiled) and not answer.another_may:
            raise SlowdustError(f"{host} cannot compile {names}: {answer.reason}")
        reasons.append(f"{host}: {answer.reason}")
    raise SlowdustError(f"no host can compile {names}: {'; '.join(reasons)}")


def compile_builds(
    version: str, names: list[str], repository: str | None
) -> list[tuple[PushedBuild, bytes]] | NotCompiled:
    """Compile builds on this host, or take them from its cache; return them with their folders.

    `version` is the head's Slowdust; `repository` of `git:REF` is a URL, or a path on this host.
    """
    if version != __version__:
        reason = f"it has Slowdust {__version__}, but the head has {version}"
        return NotCompiled(reason=reason, another_may=True)
    compiled = []
    try:
        for name in names:
            compiled_build = _resolved(parse_contender(name), repository, lambda _: None)
            build = pushed_build(name, compiled_build)
            compiled.append((build, packed(build.folder)[1]))
    except SlowdustError as error:
        return NotCompiled(reason=str(error), another_may=isinstance(error, HostError))
    return compiled


def pushed_build(name: str, build: Build) -> PushedBuild:
    """Describe a build of the cache for the machines that receive it.

    Raises:
        SlowdustError: it cannot be read.
    """
    folder = build.root.parent
    try:
        sha256 = hash_folder(folder)
    except OSError as error:
        raise _unreadable(folder, error) from error
    return PushedBuild(
        name=name,
        folder=str(folder.relative_to(cache_root())),
        sha256=sha256,
        version=build.version,
        facts=build.facts,
    )


def packed(folder: str) -> tuple[PushedFolder, bytes]:
    """Return a folder of the cache, and its content as a tar archive.

    Raises:
        SlowdustError: it cannot be read.
    """
    root = within(cache_root(), *PurePosixPath(folder).parts)
    archive = io.BytesIO()
    try:
        # Level 1 is the fastest: it takes a second or two.
        with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as tar:
            for path in sorted(root.rglob("*")):
                tar.add(path, str(path.relative_to(root)), recursive=False)
        return PushedFolder(folder=folder, sha256=hash_folder(root)), archive.getvalue()
    except OSError as error:
        raise _unreadable(root, error) from error


def has_folder(pushed: PushedFolder) -> bool:
    """Return whether this machine's cache has a folder.

    Raises:
        SlowdustError: its folder of that name has different content.
    """
    folder = pushed.place
    if not folder.exists():
        return False
    if hash_folder(folder) != pushed.sha256:
        raise SlowdustError(
            f"{folder} differs from the head's: remove it with `slowdust builds remove`, or use "
            "--builds pull"
        )
    return True


def put(pushed: PushedFolder, archive: bytes) -> None:
    """Unpack a folder into the cache of this machine, atomically.

    Raises:
        SlowdustError: the archive has different content, or the cache cannot be written.
    """
    folder = pushed.place

    def make(staged: Path) -> None:
        with temporary_folder(folder.parent) as place:
            file = place / "archive.tar.gz"
            file.write_bytes(archive)
            unpack(file, staged)
        if hash_folder(staged) != pushed.sha256:
            raise SlowdustError(f"{pushed.folder} does not match its checksum")

    with cache.lock(folder):
        if not has_folder(pushed):
            cache.fill(folder, make)


def _unreadable(folder: Path, error: OSError) -> SlowdustError:
    return SlowdustError(f"cannot read {error.filename or folder}: {error.strerror}")
