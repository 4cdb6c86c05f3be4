"""`slowdust builds`: available, fetched and registered server binaries and allocators."""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

import click

from slowdust import builds as server_builds
from slowdust.analysis.sizes import SizesReport, report_of
from slowdust.builds import allocators, cache, directories, sources
from slowdust.builds.catalog import find_catalog, known_dbms
from slowdust.builds.compile import LOG
from slowdust.builds.recipe import with_flags
from slowdust.builds.revisions import is_source
from slowdust.builds.sizes import chosen_builds, expected_bytes, measure_build, measure_tree
from slowdust.cli.reports import put
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.live import open_view
from slowdust.experiment.spec.contenders import parse_contender
from slowdust.report.formats import SIZES
from slowdust.report.markdown.document import plain
from slowdust.report.sizes import document
from slowdust.store.manifest import BuildFacts
from slowdust.store.sizes import BuildSizes
from slowdust.versions import version_order
from slowdust.wording import counted
from slowdust.workloads.outline import aligned

_WIDEST = 100
"""Maximum width of a text, in columns: longer lines are hard to read."""


@dataclasses.dataclass(frozen=True)
class _Row:
    """One line of the list; None is an unknown value."""

    dbms: str
    version: str
    state: str
    """The state: cached, available, compiled or directory."""
    disk_bytes: int | None = None
    prints: str | None = None
    source: str | None = None


def list_builds(as_json: bool) -> None:  # noqa: FBT001 - click's flag
    rows = [*_rows()]
    for folder in (folder for dbms in known_dbms() for folder in cache.damaged(dbms)):
        what = "its description cannot be read; the next use of the build replaces it"
        click.echo(f"slowdust: {folder}: {what}", err=True)
    if as_json:
        known = [
            {key: value for key, value in dataclasses.asdict(row).items() if value is not None}
            for row in rows
        ]
        click.echo(json.dumps({"schema": 1, "builds": known}))
        return
    lines: list[tuple[str, ...]] = [("BUILD", "STATE", "SIZE", "VERSION", "SOURCE")]
    for row in rows:
        size = "-" if row.disk_bytes is None else f"{row.disk_bytes / 1e6:.0f} MB"
        name = f"{row.dbms}@{row.version}"
        lines.append((name, row.state, size, row.prints or "-", row.source or "-"))
    click.echo("\n".join(aligned(lines)))


def _rows() -> Iterator[_Row]:
    for dbms in known_dbms():
        known = {entry.version: entry for entry in find_catalog(dbms).entries}
        for version in sorted(known.keys() | set(cache.versions(dbms)), key=version_order):
            record = cache.cached(dbms, version)
            if record is None:
                source = sources.describe(known[version].origins[0])
                yield _Row(dbms, version, "available", source=source)
            else:
                facts, size = record.facts, record.disk_bytes
                yield _Row(dbms, version, "cached", size, facts.version, facts.source)
    for dbms in known_dbms():
        for record in cache.compiled_records(dbms).values():
            facts, size = record.facts, record.disk_bytes
            version = with_flags(record.version, facts)
            yield _Row(dbms, version, "compiled", size, facts.version, facts.source)
    for dbms, name, directory in directories.all_registered():
        yield _Row(dbms, name, "directory", source=str(directory))
    for name in allocators.NAMES:
        kept = allocators.cached(name)
        if kept is None:
            yield _Row(allocators.KIND, name, "available")
        else:
            size = kept.disk_bytes
            yield _Row(allocators.KIND, name, "cached", size, kept.version, kept.source)


def get(
    names: Sequence[str], location: str | None, checksums: Sequence[str], repo: str | None
) -> None:
    has_archive = location is not None or bool(checksums)
    if location is not None and len(names) != 1:
        raise UsageError(f"--from takes one build, not {len(names)}")
    if checksums and len(checksums) != len(names):
        raise UsageError(
            f"{counted(len(names), 'build')} but {len(checksums)} --sha256: give one per build, in "
            "the same order"
        )
    for name, sha256 in zip_longest(names, checksums):
        kind, version = _parts(name)
        if kind == allocators.KIND and has_archive:
            raise UsageError(f"{name}: --from and --sha256 apply to builds, not to allocators")
        with _watched(name) as progress:
            if kind == allocators.KIND:
                path = allocators.library(version, progress)
                record = allocators.cached(version)
                assert record is not None
                line = _describe(name, record, path)
            else:
                if has_archive:
                    build = server_builds.resolve_archive(kind, version, location, sha256, progress)
                else:
                    build = _resolved(name, repo, progress)
                made = f"{build.dbms}@{with_flags(build.version, build.facts)}"
                line = _describe(made, build.facts, build.root)
        click.echo(line)


def _describe(name: str, facts: BuildFacts | allocators.Record, path: Path) -> str:
    sha256 = f"sha256 {facts.sha256[:12]}" if facts.sha256 else "no sha256"
    return f"{name}: {facts.version} from {facts.source}, {sha256}, in {path}"


def _resolved(name: str, repo: str | None, progress: server_builds.Progress) -> server_builds.Build:
    contender = parse_contender(name)
    if contender.dbms is None or contender.version is None:
        raise UsageError(f"{name!r} is not a build: write DBMS@VERSION, such as postgres@17.6")
    choices = server_builds.Choices(repo, contender.flags)
    return server_builds.resolve(contender.dbms, contender.version, progress, choices)


@contextmanager
def _watched(name: str) -> Iterator[server_builds.Progress]:
    """Show the phases of a build, on one line of a terminal or on lines of standard error."""
    with open_view() as view:
        yield lambda phase: view.phase(f"{name}: {phase}")


def show(name: str) -> None:
    dbms, version = _parts(name)
    found = list(_compiled(dbms, name).items())
    is_fetched = not found and not is_source(version)
    if is_fetched and (record := cache.cached(dbms, version)) is not None:
        found = [(cache.fetched_folder(dbms, version), record)]
    if not found:
        raise UsageError(
            f"{name} is not in the cache: `slowdust builds list` shows the cached builds"
        )
    for folder, record in found:
        click.echo("\n".join(aligned([*_facts_of(name, folder, record).items()])))


def _compiled(dbms: str, name: str) -> dict[Path, cache.Record]:
    """Return folder -> compiled build of that name, one for each content of the sources."""
    return {
        folder: record
        for folder, record in cache.compiled_records(dbms).items()
        if f"{dbms}@{with_flags(record.version, record.facts)}" == name
    }


def _facts_of(name: str, folder: Path, record: cache.Record) -> dict[str, str]:
    facts, compiled = record.facts, record.facts.compiled
    made: dict[str, str | None] = {"source": facts.source}
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
    sizes = {
        "size of the server": facts.binary_bytes,
        "size without symbols": facts.stripped_bytes,
        "size of all files": record.disk_bytes,
    }
    shown = {
        "build": name,
        "version": facts.version,
        **made,
        "made" if compiled else "fetched": record.fetched,
        "server": str(cache.binaries(folder) / record.server),
        "sha256": facts.sha256,
        **{label: None if size is None else f"{size:,} bytes" for label, size in sizes.items()},
    }
    return {label: value for label, value in shown.items() if value is not None}


def add(name: str, directory: Path) -> None:
    build = directories.register(name, directory)
    click.echo(f"{build.dbms}@{name}: {build.facts.version} in {build.root}")


def remove(names: Sequence[str]) -> None:
    for name in names:
        kind, version = _parts(name)
        if kind == allocators.KIND:
            allocators.remove(version)
            click.echo(f"{name}: removed from the cache")
        else:
            click.echo(_removed(kind, version))


def _removed(dbms: str, version: str) -> str:
    """Remove a build, or unregister a directory; return a line that reports it."""
    name = f"{dbms}@{version}"
    folders = list(_compiled(dbms, name))
    if is_source(version) and not folders:
        raise UsageError(
            f"{name} is not in the cache: `slowdust builds list` shows the cached builds"
        )
    if folders:
        for folder in folders:
            cache.remove_compiled(folder)
        kept = "; its object files are kept for the next commit" if is_source(version) else ""
        return f"{name}: removed from the cache{kept}"
    catalog = find_catalog(dbms)
    if version in directories.registered(dbms):
        directories.forget(dbms, version)
        return f"{name}: unregistered; its directory was not changed"
    if not cache.fetched_folder(dbms, version).exists():
        version = catalog.find(version).version
    cache.remove(dbms, version)
    return f"{dbms}@{version}: removed from the cache"


def _parts(name: str) -> tuple[str, str]:
    dbms, at, version = name.partition("@")
    if not (dbms and at and version):
        raise UsageError(f"{name!r} is not a build: write DBMS@VERSION, such as postgres@17.6")
    return dbms, version


def sizes(names: Sequence[str], *, fetched: bool, html: Path | None, form: str | None) -> None:
    trees, patterns = [], []
    for name in names:
        if Path(name).is_dir():
            trees.append(Path(name))
        elif "@" in name:
            patterns.append(name)
        else:
            raise UsageError(
                f"{name!r} is neither a directory nor a build: write DBMS@VERSION, such as "
                "'postgres@17.*'"
            )
    builds = list(_sizes(patterns, fetched)) if patterns else []
    report = report_of(builds, [measure_tree(tree) for tree in trees])
    put(report, SIZES, "sizes", html=html, form=form, show=_show_sizes)


def _show_sizes(report: SizesReport) -> None:
    """Print the sizes, wrapped to the terminal except for tables."""
    width = shutil.get_terminal_size().columns
    lines = (
        line
        if line.startswith("|")
        else textwrap.fill(line, min(width, _WIDEST), break_on_hyphens=False)
        for line in plain(document(report), width).rstrip().splitlines()
    )
    click.echo("\n".join(lines))


def _sizes(patterns: Sequence[str], only_fetched: bool) -> Iterator[BuildSizes]:  # noqa: FBT001
    """Yield the sizes of the builds that match patterns; report the unavailable ones.

    Raises:
        SlowdustError: none of them is available.
    """
    chosen = chosen_builds(patterns)
    missing = [build for build in chosen if not build.available]
    if only_fetched:
        chosen = [build for build in chosen if build.available]
    elif missing:
        expected = expected_bytes(missing)
        size = (
            "of unknown size"
            if expected is None
            else f"about {expected / 1e6:,.0f} MB on disk, judging by the cached builds"
        )
        what = f"fetching {counted(len(missing), 'build')}, {size}; --fetched skips them"
        click.echo(what, err=True)
    measured = 0
    for choice in chosen:
        try:
            yield measure_build(choice.build(functools.partial(_print_phase, choice.name)))
            measured += 1
        except SlowdustError as error:
            click.echo(f"skipped: {choice.name}: {error}", err=True)
    if not measured:
        raise SlowdustError(
            f"no build of {', '.join(patterns)} is available"
            + (": fetch them by running without --fetched" if only_fetched else "")
        )


def _print_phase(name: str, phase: str) -> None:
    click.echo(f"{name}: {phase}", err=True)
