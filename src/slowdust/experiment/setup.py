"""The setup of an experiment: its contenders with their builds and data directories."""

from __future__ import annotations

import dataclasses
import hashlib
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum

from slowdust import builds
from slowdust.accounts import server_account
from slowdust.benchmarks.model import Candidate
from slowdust.benchmarks.steps import StepTable
from slowdust.builds import Build, Choices, allocators
from slowdust.builds.catalog import find_catalog
from slowdust.dbms import engine_names, family
from slowdust.dbms.access import Listen
from slowdust.dbms.by_url import PREFIX
from slowdust.dbms.settings import Settings, UnknownSettingError
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.contender import NOT_ASKED, ResolvedContender, RunningContender
from slowdust.experiment.contenders import Contenders, supported_tests
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.remote_server import RemoteServer
from slowdust.experiment.spec.contenders import (
    ENGINE_OF_A_DIRECTORY,
    ContenderName,
    PlannedContender,
    distinct,
)
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.instances.instance import Instance
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.preloads import delay_library
from slowdust.instances.programs import InstanceError, why_no_certificate
from slowdust.instances.rundir import RunDirectory
from slowdust.located_errors import AtKeysError, at
from slowdust.store.folder import Folder


class RefusedError(UsageError):
    """A contender's server rejects settings or an engine."""

    def __init__(self, contender: str, error: UsageError) -> None:
        super().__init__(f"{contender}: {error}")
        self.contender = contender
        self.reason = str(error)
        self.setting = error.setting if isinstance(error, UnknownSettingError) else None


class Keep(Enum):
    """The parts of contenders that are kept after an experiment."""

    NOTHING = "nothing"
    SCHEMAS = "schemas"
    """The schemas in running servers, including their tables."""


def refuse_by_name(spec: Spec) -> None:
    """Refuse contenders that cannot run the benchmark, as far as their names show it.

    Raises:
        UsageError: names the first of them and the reason.
    """
    for planned in spec.planned_contenders():
        name = planned.name
        if name.dbms is not None:
            known = {entry.version for entry in find_catalog(name.dbms).entries}
            version = name.version if name.version in known else None
            with at("contenders", planned.place):
                candidate = Candidate(family(name.dbms), version, engine=name.engine)
                _refuse(name.text, candidate, spec)


def resolve_contenders(spec: Spec, view: View) -> list[ResolvedContender]:
    """Return the specification's contenders with their builds, fetched if necessary.

    Raises:
        UsageError: unknown build or config.
        SlowdustError: a build is not available.
    """
    pairs: list[tuple[PlannedContender, Build | None]] = []
    for planned in spec.planned_contenders():
        with at("contenders", planned.place):
            if planned.name.url is not None:
                pairs.append((planned, None))
                continue
            contender = _with_allocator(planned, view)
            pairs.append((contender, _build(contender.name, spec, view)))
    names = distinct(
        [contender.title(build.version if build else None) for contender, build in pairs]
    )
    resolved = []
    for name, (contender, build) in zip(names, pairs, strict=True):
        with at("contenders", contender.place):
            resolved.append(_resolved(name, contender, build, spec))
    _check_options(resolved, spec)
    return resolved


def _check_options(resolved: Sequence[ResolvedContender], spec: Spec) -> None:
    """Refuse tests, workloads and options of long steps that a DBMS does not support."""
    left, sentences = supported_tests(spec.tests_to_measure(), resolved)
    if not left:
        keys = ("tests",) if spec.tests else ("suite",)
        raise AtKeysError(f"no test is left: {'; '.join(sentences)}", keys)
    if spec.workload is not None:
        for contender in resolved:
            spec.workload.workload.check_dialect(contender.dbms, contender.name)
    table = getattr(spec, spec.benchmark, None)
    if not isinstance(table, StepTable):
        return
    defaults = type(table)()
    for contender in resolved:
        for key in type(table).model_fields:
            reason = family(contender.dbms).lacks(key)
            if reason is not None and getattr(table, key) != getattr(defaults, key):
                raise AtKeysError(f"{contender.name}: {reason}", (spec.benchmark, key))


def with_stored_names(resolved: list[ResolvedContender], folder: Folder) -> list[ResolvedContender]:
    """Return the contenders with the names that a resumed experiment stored for them.

    Earlier versions lower-cased values like 16MB in the names of a matrix.
    """
    if not folder.has_manifest():
        return resolved
    names = [contender.name for contender in folder.read_manifest().contenders]
    if [name.lower() for name in names] != [contender.name.lower() for contender in resolved]:
        return resolved
    return [
        dataclasses.replace(contender, name=name)
        for contender, name in zip(resolved, names, strict=True)
    ]


@contextmanager
def create_contenders(
    resolved: list[ResolvedContender],
    driver: Driver,
    folder: Folder,
    view: View,
    locks: Sequence[int] = (),
    *,
    keep: Keep = Keep.NOTHING,
) -> Iterator[Contenders]:
    """Create the contenders' data directories, and schemas in running servers.

    All of them are removed at the end, except schemas if `keep` says so.
    `locks` are open descriptors of locks that are released only after the servers have exited.

    Raises:
        RefusedError: a contender's server does not know or accept a setting.
        SlowdustError: no data directory could be created.
    """
    for leftover in clean_leftovers():
        view.warning(str(leftover))
    with RunDirectory.open(folder.name, locks) as run:
        contenders: list[RunningContender] = []
        try:
            for number, contender in enumerate(resolved, start=1):
                if contender.url is None:
                    contenders.append(_create(run, contender, view))
                else:
                    view.phase(f"connecting to {contender.name}")
                    server = RemoteServer.connect(contender.url, contender.engine, driver)
                    # The name stays the same when the experiment is resumed.
                    owner = f"{socket.gethostname()}:{folder.path.resolve()}:{number}"
                    server.create_schema(PREFIX + hashlib.sha256(owner.encode()).hexdigest()[:8])
                    found = dataclasses.replace(contender, engine=server.site.engine)
                    contenders.append(RunningContender(found, handle=server))
            if all(contender.failed for contender in contenders):
                raise SlowdustError("\n".join(str(contender.failed) for contender in contenders))
            yield Contenders(contenders, driver, folder.logs, view)
        finally:
            _leave(contenders, keep, view)


def _with_allocator(planned: PlannedContender, view: View) -> PlannedContender:
    """Return the contender with the library of its allocator, fetched if necessary."""
    environment = planned.name.environment
    if environment.allocator not in allocators.NAMES:
        return planned
    library = allocators.library(environment.allocator, view.phase)
    environment = dataclasses.replace(environment, library=library)
    name = dataclasses.replace(planned.name, environment=environment)
    return dataclasses.replace(planned, name=name)


def _build(name: ContenderName, spec: Spec, view: View) -> Build:
    if name.directory is not None:
        if name.directory.name in engine_names() and not name.directory.exists():
            raise UsageError(f"'{name.written}': {ENGINE_OF_A_DIRECTORY}")
        return builds.from_directory(name.directory)
    assert name.dbms is not None
    assert name.version is not None
    choices = Choices(repository=spec.repo, flags=name.flags)

    def progress(phase: str) -> None:
        view.phase(f"{name.text}: {phase}")

    return builds.resolve(name.dbms, name.version, progress, choices)


def _refuse(name: str, candidate: Candidate, spec: Spec) -> None:
    """Raise UsageError if a contender cannot run the benchmark."""
    if refusal := spec.configured_benchmark().refusal(candidate):
        raise UsageError(f"{name} cannot run the benchmark {spec.benchmark}: {refusal}")


def _resolved(
    name: str, planned: PlannedContender, build: Build | None, spec: Spec
) -> ResolvedContender:
    url = planned.name.url
    if build is None:
        assert url is not None
        _refuse(name, Candidate(family(url.dbms)), spec)
        engines = family(url.dbms).engines
        settings = Settings("as found", {}, {}, {})
        environment = planned.name.environment
        engine = engines[0] if engines else None
        without_tls = None if url.tls else f"connections to {url.text} are not encrypted"
        return ResolvedContender(
            name, None, engine, environment, settings, url=url, without_tls=without_tls
        )
    kind = family(build.dbms)
    engine = kind.choose_engine(build, planned.name.engine)
    _refuse(name, Candidate(kind, build.facts.version, build.root, engine), spec)
    settings = kind.settings(
        planned.name.config or spec.configured_benchmark().config,
        {**spec.set, **planned.set, **spec.settings_of_pool(planned, kind, engine)},
        1 if spec.memory else len(spec.planned_contenders()),
        engine=engine,
        clients=spec.most_connections,
        memory_bytes=spec.memory,
    )
    environment = planned.name.environment
    without_tls = NOT_ASKED
    if any(test.encrypted for test in spec.chosen_tests()):
        without_tls = why_no_certificate() or kind.without_tls(build, server_account())
    return ResolvedContender(
        name,
        build,
        engine,
        environment,
        settings,
        planned.slowed,
        spec.memory,
        without_tls=without_tls,
        with_running_servers=spec.has_running_servers,
    )


def check_settings(resolved: Sequence[ResolvedContender]) -> None:
    """Check that the programs of the servers accept their settings; nothing is created.

    Raises:
        RefusedError: one of them does not know or accept a setting.
    """
    account = server_account()
    for contender in resolved:
        if contender.build is None:
            continue
        try:
            family(contender.dbms).accept(contender.build, account, contender.settings)
        except UsageError as error:
            raise RefusedError(contender.name, error) from error


def _leave(contenders: Sequence[RunningContender], keep: Keep, view: View) -> None:
    """Drop the schemas in running servers, or report their names."""
    for contender in contenders:
        server = contender.handle
        if isinstance(server, RemoteServer) and server.schema is not None:
            if keep is Keep.SCHEMAS:
                view.warning(f"kept the schema {server.schema} in {contender.name}")
            else:
                server.remove()


def _create(run: RunDirectory, resolved: ResolvedContender, view: View) -> RunningContender:
    name = resolved.name
    view.phase(f"creating the data directory of {name}")
    contender = RunningContender(resolved)
    assert resolved.build is not None
    library = None if resolved.slowed is None else delay_library()
    listen = Listen.LOOPBACK if resolved.with_running_servers else Listen.SOCKET
    access = contender.family.access_by(listen, resolved.build)
    if resolved.without_tls is None:
        access = contender.family.with_encryption(access, resolved.build)
    try:
        contender.handle = Instance.create(
            run,
            name,
            resolved.build,
            resolved.settings,
            engine=resolved.engine,
            access=access,
            environment=resolved.environment,
            delay_library=library,
            memory_bytes=resolved.memory_bytes,
        )
    except (InstanceError, OSError) as error:
        contender.failed = f"{name}: {error}" if isinstance(error, OSError) else str(error)
    except UsageError as error:
        raise RefusedError(name, error) from error
    return contender
