"""`slowdust show`: the contenders and conditions of an experiment."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.analysis.results.contenders import describe_work
from slowdust.cli.completion import experiments
from slowdust.cli.options import options
from slowdust.report.imports import import_lines
from slowdust.store.experiments import kept_experiment, read_annotation
from slowdust.wording import counted


@click.command(
    "show",
    params=options("show", "results"),
)
@click.argument("name", shell_complete=experiments)
def command(name: str, results: Path) -> None:
    """Show the contenders, settings, tests and host of the experiment NAME, or of its folder."""
    folder = kept_experiment(results, name)
    manifest = folder.read_manifest()
    if manifest.imported is None:
        click.echo(f"{manifest.experiment}: started {manifest.started or 'at an unknown time'}")
        click.echo(f"finished {manifest.finished}" if manifest.finished else "not finished")
    else:
        click.echo(f"{manifest.experiment}: imported, {_when(manifest.started)}")
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
        click.echo(f"host {host.name}: {host.group}; {starts}; of {parts}")
    for label, value in manifest.host.items():
        click.echo(f"{label}: {value}")


def _when(day: str | None) -> str:
    return f"measured {day}" if day else "nothing says when it was measured"
