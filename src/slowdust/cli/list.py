"""`slowdust list`: the stored experiments."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.options import options
from slowdust.errors import SlowdustError
from slowdust.store.experiments import Annotation, read_annotation
from slowdust.store.folder import experiments
from slowdust.store.manifest import Manifest
from slowdust.wording import counted, short_hashes


@click.command(
    "list",
    params=options("list", "results"),
)
def command(results: Path) -> None:
    """List the experiments in the results folder, newest first, with their tags and notes."""
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
        tags = [f"#{tag}" for tag in annotation.tags]
        click.echo("  ".join([*cells, *tags]).rstrip())
        for line in annotation.note.splitlines():
            click.echo(f"    {line}")


def _state(manifest: Manifest) -> str:
    if manifest.imported is not None:
        return f"imported ({manifest.imported.kind})"
    if manifest.hosts:
        hosts = counted(len(manifest.hosts), "host")
        return f"{hosts}, {'finished' if manifest.finished else 'not finished'}"
    return "finished" if manifest.finished else "not finished (run --resume goes on)"
