"""The commands that manage the experiments of a results folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from slowdust import kinds
from slowdust.analysis.results.contenders import describe_work
from slowdust.analysis.stored import read_stored
from slowdust.errors import SlowdustError, UsageError
from slowdust.exchange import Mode, import_results
from slowdust.merge.merge import Design
from slowdust.merge.merge import merge as merge_sources
from slowdust.merge.sources import Source
from slowdust.report.imports import import_lines, summary_lines
from slowdust.report.sections import hosts as in_words
from slowdust.report.site.server import serve as serve_site
from slowdust.report.site.site import publish
from slowdust.store.bundle import pack, unpack
from slowdust.store.experiments import (
    BUNDLE_SUFFIX,
    Annotation,
    check_name,
    check_tags,
    find_experiment,
    list_folders,
    read_annotation,
    remove_experiment,
    rename_experiment,
    write_annotation,
)
from slowdust.store.folder import Folder, experiments
from slowdust.store.manifest import Manifest
from slowdust.temporary import temporary_folder
from slowdust.text import visible
from slowdust.wording import counted, guess, short_hashes, shortened


def list_experiments(results: Path) -> None:
    rows, annotations = [], []
    for folder in experiments(results):
        try:
            manifest, annotation = folder.read_manifest(), read_annotation(folder)
        except SlowdustError as error:
            rows.append((folder.name, "-", "unreadable", str(error)))
            annotations.append(Annotation())
            continue
        annotations.append(annotation)
        contenders = short_hashes(", ".join(c.name for c in manifest.contenders))
        rows.append((folder.name, (manifest.started or "-")[:16], _state(manifest), contenders))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, annotation in zip(rows, annotations, strict=True):
        cells = [f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join([*cells, *(f"#{tag}" for tag in annotation.tags)]).rstrip())
        for line in annotation.note.splitlines():
            click.echo(f"    {line}")


def _state(manifest: Manifest) -> str:
    if manifest.imported is not None:
        return f"imported ({manifest.imported.kind})"
    if manifest.hosts:
        hosts = counted(len(manifest.hosts), "host")
        return f"{hosts}, {'finished' if manifest.finished else 'not finished'}"
    return "finished" if manifest.finished else "not finished (resume with run --resume)"


def show(name: str, results: Path) -> None:
    folder = find_experiment(results, name)
    manifest = folder.read_manifest()
    if manifest.imported is None:
        click.echo(f"{manifest.experiment}: started {manifest.started or 'at an unknown time'}")
        click.echo(f"finished {manifest.finished}" if manifest.finished else "not finished")
    else:
        day = manifest.started
        when = f"measured {day}" if day else "date unknown"
        click.echo(f"{manifest.experiment}: imported, {when}")
    annotation = read_annotation(folder)
    if annotation.note:
        click.echo(f"note: {annotation.note}")
    if annotation.tags:
        click.echo(f"tags: {', '.join(annotation.tags)}")
    for contender in manifest.contenders:
        click.echo(f"\n{contender.name}: {contender.build.version}")
        sha256 = contender.build.sha256
        click.echo(f"  {contender.build.source}{f', sha256 {sha256[:16]}' if sha256 else ''}")
        for key, value in contender.settings.items():
            click.echo(f"  {key} = {value}")
        if contender.failed:
            click.echo(f"  failed: {contender.failed}")
    click.echo(f"\ntests: {', '.join(manifest.tests)}")
    click.echo(f"clients: {', '.join(map(str, manifest.clients))}")
    click.echo(f"slices: {len(folder.read_slices())}")
    if (work := describe_work(manifest.counting)) is not None:
        click.echo(f"counts: {len(folder.read_counts())}; work: {work}")
    for line in import_lines(manifest):
        click.echo(line)
    for host in manifest.hosts:
        parts = ", ".join(part.path for part in host.parts)
        starts = counted(len(host.incarnations), "start")
        click.echo(f"host {host.name}: {host.group}; {starts}; from {parts}")
    for label, value in manifest.host.items():
        click.echo(f"{label}: {value}")


def note(
    *, name: str, text: str | None, tags: tuple[str, ...], untag: tuple[str, ...], results: Path
) -> None:
    folder = find_experiment(results, name)
    check_tags((*tags, *untag))
    there = read_annotation(folder)
    kept = ({*there.tags, *tags}) - {*untag}
    annotation = Annotation(note=there.note if text is None else text.strip(), tags=sorted(kept))
    if annotation != there:
        write_annotation(folder, annotation)
    click.echo(annotation.note or "no note")
    click.echo(f"tags: {', '.join(annotation.tags) or 'none'}")


def rename(old: str, new: str, results: Path) -> None:
    folder = rename_experiment(find_experiment(results, old), new)
    click.echo(f"{old} is now {folder.name}, in {folder.path}")


def remove(*, names: tuple[str, ...], results: Path, yes: bool) -> None:
    folders = [find_experiment(results, name) for name in dict.fromkeys(names)]
    for folder in folders:
        for path in list_folders(folder):
            files = [each for each in path.rglob("*") if each.is_file()]
            size = sum(file.stat().st_size for file in files) / 1e6
            click.echo(f"{path}: {len(files)} files, {size:.1f} MB")
    if not yes:
        click.confirm("Remove these files permanently?", abort=True)
    for folder in folders:
        remove_experiment(folder)
        click.echo(f"removed {folder.name}")


def bundle(name: str, output: Path | None, results: Path) -> None:
    folder = find_experiment(results, name)
    destination = output or Path(f"{folder.name}{BUNDLE_SUFFIX}")
    pack(folder, destination)
    click.echo(f"bundle: {destination}, {destination.stat().st_size / 1e6:.1f} MB")


def import_bundle(file: Path, name: str | None, results: Path) -> None:
    folder = unpack(file, results, name)
    click.echo(f"{folder.name}: imported; `slowdust report {folder.typed}` reports on it")


def import_archive(
    *,
    kind: str,
    directories: tuple[Path, ...],
    name: str | None,
    mode: str | None,
    results: Path,
    **given: str | int | None,
) -> int:
    """Import directories as experiments; `given` has the options of their kind."""
    chosen = next(each for each in kinds.KINDS if each.name == kind)
    outcome = import_results(
        chosen,
        kinds.KINDS,
        directories,
        results,
        name=name,
        mode=Mode(mode or Mode.CLEAN),
        options=given,
    )
    for line in summary_lines(outcome):
        click.echo(visible(line))
    return 0 if outcome.experiments else 1


def merge(
    *,
    parts: Sequence[str],
    name: str,
    designs: Sequence[Design],
    hosts: Sequence[str],
    results: Path,
) -> None:
    check_name(name)
    if len(set(designs)) > 1:
        raise UsageError("--replicate and --spread exclude each other: choose one")
    names: dict[str, str] = {}
    for text in hosts:
        part, _, host = text.rpartition("=")
        if not part or not host.strip():
            raise UsageError(f"--host {text}: write RESULT=NAME, such as night-a=alpha")
        if part not in parts:
            raise UsageError(f"--host {text}: '{part}' is not among RESULTS{guess(part, parts)}")
        names[part] = host.strip()
    with ExitStack() as stack:
        place = stack.enter_context(temporary_folder())
        opened = [
            _part(given, names.get(given), results, place / str(number))
            for number, given in enumerate(parts)
        ]
        joined = merge_sources(opened, Folder.of(results, name), next(iter(designs), None))
    for sentence in joined.sentences:
        click.echo(sentence, err=True)
    for line in in_words.overview(read_stored(joined.folder).report()):
        click.echo(line)
    click.echo(f"merged: {joined.folder.path}")


def _part(given: str, host: str | None, results: Path, place: Path) -> Source:
    """Open a part: a stored experiment, or a bundle that is unpacked into `place`."""
    if given.endswith(BUNDLE_SUFFIX) and Path(given).is_file():
        return Source(unpack(Path(given), place), host, given, str(Path(given).absolute()))
    return Source(find_experiment(results, given), host, given)


def site(directory: Path, results: Path) -> None:
    outcome = publish(results, directory)
    if outcome.unreadable:
        click.echo(f"slowdust: cannot read {shortened(outcome.unreadable)}", err=True)
    removed = len(outcome.removed)
    click.echo(f"{counted(len(outcome.written), 'page')} written, {removed} removed")
    click.echo(f"site: {directory / 'index.html'}")


def serve(port: int, results: Path) -> None:
    serve_site(results, port, click.echo)
