"""From a specification to contenders whose instances can be started, and to a manifest."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from slowdust import benchmarks, builds
from slowdust.builds import Build, allocators
from slowdust.builds.fingerprint import sha256_of
from slowdust.dbms import engine_names, family
from slowdust.dbms.environment import Environment
from slowdust.dbms.settings import Settings
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.contenders import Contender, Field
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.journal import Journal, check_same, check_same_allocator, new_manifest
from slowdust.experiment.spec.contender_name import (
    ENGINE_OF_A_DIRECTORY,
    ContenderName,
    distinct,
    parse_contender,
)
from slowdust.experiment.spec.contenders import Entrant
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.instances.instance import Instance, InstanceError
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.rundir import RunDirectory
from slowdust.probes.host import advice
from slowdust.probes.host.machine import Machine, read_machine
from slowdust.store.folder import Folder, Writer
from slowdust.store.manifest import ContenderFacts, Manifest, Method


@dataclass(frozen=True)
class Entry:
    """A contender before it has a data directory."""

    title: str
    build: Build
    engine: str | None
    environment: Environment
    settings: Settings


def enter(spec: Spec, view: View) -> list[Entry]:
    """The specification's contenders with their builds, fetched where they have to be.

    Raises:
        UsageError: an unknown build or config.
        SlowdustError: a build cannot be had.
    """
    entrants = spec.entrants()
    names = [_with_allocator(parse_contender(entrant.contender), view) for entrant in entrants]
    found = [_resolve(name, view) for name in names]
    titles = distinct(
        [
            entrant.title(_found(name, build))
            for entrant, name, build in zip(entrants, names, found, strict=True)
        ]
    )
    return [
        _entry(title, build, name, spec, entrant)
        for title, build, name, entrant in zip(titles, found, names, entrants, strict=True)
    ]


@contextmanager
def field_of(entries: list[Entry], folder: Folder, view: View) -> Iterator[Field]:
    """The contenders with their data directories made; all is removed at the end.

    Raises:
        UsageError: a setting that a contender's server does not know or take.
        SlowdustError: no data directory could be made.
    """
    for leftover in clean_leftovers():
        view.warning(str(leftover))
    with RunDirectory.open(folder.name) as run:
        contenders = [_create(run, entry, view) for entry in entries]
        if all(contender.failed for contender in contenders):
            raise SlowdustError("\n".join(str(contender.failed) for contender in contenders))
        yield Field(contenders, folder.logs, view)


def open_journal(
    spec: Spec, writer: Writer, field: Field, driver: Driver, method: Method
) -> Journal:
    """The journal of a new experiment, or of one that goes on.

    Raises:
        UsageError: what goes on is not what began.
    """
    machine = read_machine(field.running()[0].server.data_dir)
    facts = [_facts(contender) for contender in field.contenders]
    manifest = new_manifest(spec, facts, method, driver.version, advice.facts(machine))
    if writer.folder.has_manifest():
        manifest = _continued(writer.folder.read_manifest(), manifest)
    else:
        writer.write_spec(spec.to_toml())
    journal = Journal(spec, writer, manifest)
    _warn(machine, journal)
    return journal


def _continued(before: Manifest, now: Manifest) -> Manifest:
    """The manifest of an experiment that goes on, as long as it now shall."""
    check_same(before, now)
    before.method.budget_s = now.method.budget_s
    before.method.incarnations = now.method.incarnations
    before.finished = None
    for contender in before.contenders:
        contender.failed = None
    return before


def record_failures(field: Field, journal: Journal, view: View) -> None:
    """Let the manifest and the view know of every contender that drops out."""

    def tell(contender: Contender) -> None:
        journal.facts(contender.name).failed = contender.failed
        journal.save()
        view.warning(f"a contender dropped out: {contender.failed}")

    field.on_failure(tell)


def record_findings(field: Field, journal: Journal) -> None:
    """Keep what was found out of the contenders by starting and loading them.

    Raises:
        UsageError: a contender's malloc is not the one that it had when the experiment began.
    """
    for contender in field.running():
        facts = journal.facts(contender.name)
        check_same_allocator(facts, contender.server.allocator)
        facts.allocator = contender.server.allocator or facts.allocator
        facts.buffer_pool_bytes = contender.buffer_pool_bytes
        if contender.sizes is not None:
            facts.data_bytes = contender.sizes.data_bytes
            facts.table_bytes = contender.sizes.table_bytes
            facts.index_bytes = contender.sizes.index_bytes


def _resolve(name: ContenderName, view: View) -> Build:
    if name.directory is not None:
        if name.directory.name in engine_names() and not name.directory.exists():
            raise UsageError(f"'{name.written}': {ENGINE_OF_A_DIRECTORY}")
        return builds.from_directory(name.directory)
    assert name.dbms is not None
    assert name.version is not None
    return builds.resolve(name.dbms, name.version, view.phase)


def _found(name: ContenderName, build: Build) -> str:
    """As written, with the version that was found: `postgres@17` becomes `postgres@17.10`."""
    if name.directory is not None:
        return name.written
    return name.written.replace(f"@{name.version}", f"@{build.version}", 1)


def _with_allocator(name: ContenderName, view: View) -> ContenderName:
    """With the library of its allocator, fetched where it has to be."""
    allocator = name.environment.allocator
    if allocator not in allocators.NAMES:
        return name
    library = allocators.library(allocator, view.phase)
    return dataclasses.replace(
        name, environment=dataclasses.replace(name.environment, library=library)
    )


def _entry(title: str, build: Build, name: ContenderName, spec: Spec, entrant: Entrant) -> Entry:
    kind = family(build.dbms)
    engine = kind.choose_engine(build, name.engine)
    settings = kind.settings(
        name.config or benchmarks.benchmark(spec.benchmark).config,
        {**spec.set, **entrant.set},
        len(spec.entrants()),
        engine=engine,
        clients=spec.most_connections,
    )
    return Entry(title, build, engine, name.environment, settings)


def _create(run: RunDirectory, entry: Entry, view: View) -> Contender:
    view.phase(f"making the data directory of {entry.title}")
    contender = Contender(
        entry.title, entry.build, entry.settings.config, entry.engine, entry.environment
    )
    try:
        contender.instance = Instance.create(
            run,
            entry.title,
            entry.build,
            entry.settings,
            engine=entry.engine,
            environment=entry.environment,
        )
    except (InstanceError, OSError) as error:
        contender.failed = f"{entry.title}: {error}" if isinstance(error, OSError) else str(error)
    except UsageError as error:
        raise UsageError(f"{entry.title}: {error}") from error
    return contender


def _facts(contender: Contender) -> ContenderFacts:
    accepted = contender.instance.settings if contender.instance else None
    library = contender.environment.library
    return ContenderFacts(
        name=contender.name,
        dbms=contender.build.dbms,
        build=contender.build.facts,
        config=contender.config,
        settings=dict(accepted.values) if accepted else {},
        skipped_settings=list(accepted.skipped) if accepted else [],
        engine=contender.engine,
        environment=contender.environment.written,
        allocator_sha256=None if library is None else sha256_of(library),
    )


def _warn(machine: Machine, journal: Journal) -> None:
    for warning in advice.warnings(machine):
        journal.warn(warning)
