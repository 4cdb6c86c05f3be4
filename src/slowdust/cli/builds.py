"""`slowdust builds`: which server binaries there are, fetched or registered."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from slowdust import builds as server_builds
from slowdust.builds import allocators, cache, named
from slowdust.builds.catalog import catalog_of, known_dbms, version_key
from slowdust.errors import UsageError


@click.group("builds")
def command() -> None:
    """List, fetch, register and remove server binaries."""


@dataclasses.dataclass(frozen=True)
class _Row:
    """One line of the list; None where nothing is known yet."""

    dbms: str
    version: str
    state: str
    """cached, available or directory."""
    disk_bytes: int | None = None
    prints: str | None = None
    source: str | None = None


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_builds(as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Show what can be had: cached, available to fetch, or registered directories."""
    rows = [*_catalog_rows(), *_directory_rows(), *_allocator_rows()]
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


@command.command("get")
@click.argument("names", nargs=-1, required=True, metavar="DBMS@VERSION...")
@click.option("--from", "location", metavar="FILE|URL", help="Take this archive of the binaries.")
@click.option("--sha256", metavar="HEX", help="The archive's SHA-256, where none is published.")
def get_builds(names: Sequence[str], location: str | None, sha256: str | None) -> None:
    """Fetch builds into the cache: postgres@17.6, or postgres@17 for the newest 17."""
    of_archive = location is not None or sha256 is not None
    if of_archive and len(names) != 1:
        raise UsageError("--from and --sha256 are about one archive: name one build with them")
    for name in names:
        dbms, version = _parts(name)
        progress = functools.partial(_print_phase, name)
        if of_archive:
            build = server_builds.resolve_archive(dbms, version, location, sha256, progress)
        else:
            build = server_builds.resolve(dbms, version, progress)
        facts = build.facts
        click.echo(
            f"{dbms}@{build.version}: {facts.version} from {facts.source}, "
            f"sha256 {facts.sha256[:12]}, in {build.root}"
        )


@command.command("add")
@click.argument("name")
@click.argument("directory", type=click.Path(path_type=Path))
def add_directory(name: str, directory: Path) -> None:
    """Register a DIRECTORY of binaries as contender DBMS@NAME; it is used in place."""
    build = named.register(name, directory)
    click.echo(f"{build.dbms}@{name}: {build.facts.version} in {build.root}")


@command.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="DBMS@VERSION...")
def remove_builds(names: Sequence[str]) -> None:
    """Delete fetched builds from the cache, or forget a registered directory's name."""
    for name in names:
        dbms, version = _parts(name)
        catalog = catalog_of(dbms)
        if version in named.names_of(dbms):
            named.forget(dbms, version)
            click.echo(f"{name}: forgotten; its directory is left as it is")
        else:
            if version not in cache.versions(dbms):
                version = catalog.find(version).version
            cache.remove(dbms, version)
            click.echo(f"{dbms}@{version}: removed from the cache")


def _print_phase(name: str, phase: str) -> None:
    click.echo(f"{name}: {phase}", err=True)


def _catalog_rows() -> Iterator[_Row]:
    for dbms in known_dbms():
        known = {entry.version for entry in catalog_of(dbms).entries}
        for version in sorted(known.union(cache.versions(dbms)), key=version_key):
            record = cache.cached(dbms, version)
            if record is None:
                yield _Row(dbms, version, "available")
            else:
                yield _Row(
                    dbms,
                    version,
                    "cached",
                    record.disk_bytes,
                    record.facts.version,
                    record.facts.source,
                )


def _allocator_rows() -> Iterator[_Row]:
    for name in allocators.NAMES:
        record = allocators.cached(name)
        if record is None:
            yield _Row("allocator", name, "available")
        else:
            yield _Row(
                "allocator", name, "cached", record.disk_bytes, record.version, record.source
            )


def _directory_rows() -> Iterator[_Row]:
    for dbms, name, directory in named.all_names():
        yield _Row(dbms, name, "directory", source=str(directory))


def _parts(name: str) -> tuple[str, str]:
    dbms, at, version = name.partition("@")
    if not (dbms and at and version):
        raise UsageError(f"{name!r} is no build: write DBMS@VERSION, for example postgres@17.6")
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
