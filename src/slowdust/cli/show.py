"""`slowdust show`: the contenders and conditions of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowdust.cli.options import results_option

if TYPE_CHECKING:
    from slowdust.store.manifest import Imported


@click.command("show")
@click.argument("name")
@results_option
def command(name: str, results: Path) -> None:
    """Show an experiment's contenders, settings, tests and host."""
    from slowdust.store.folder import Folder

    folder = Folder(results / name)
    manifest = folder.read_manifest()
    if manifest.imported is None:
        click.echo(f"{manifest.experiment}: started {manifest.started or 'at an unknown time'}")
        click.echo(f"finished {manifest.finished}" if manifest.finished else "not finished")
    else:
        click.echo(f"{manifest.experiment}: imported, {_when(manifest.started)}")
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
    if manifest.imported is not None:
        _show_import(manifest.imported)
    for label, value in manifest.host.items():
        click.echo(f"{label}: {value}")


def _when(day: str | None) -> str:
    return f"measured {day}" if day else "nothing says when it was measured"


def _show_import(imported: Imported) -> None:
    from slowdust.archive.summary import counts_of

    click.echo(f"imported: {imported.kind} from {imported.source}, {imported.mode}")
    for line in counts_of(imported):
        click.echo(line)
    for difference in imported.differences:
        click.echo(difference)
    for skipped in imported.skipped:
        click.echo(f"{skipped.fate}: {skipped.file}: {skipped.reason}")
