"""`slowdust note`: a note and tags of an experiment."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.completion import experiments
from slowdust.cli.options import options
from slowdust.store.experiments import (
    Annotation,
    check_tags,
    kept_experiment,
    read_annotation,
    write_annotation,
)


@click.command(
    "note",
    params=options("note", "tag untag results"),
)
@click.argument("name", shell_complete=experiments)
@click.argument("text", required=False)
def command(
    *, name: str, text: str | None, tags: tuple[str, ...], untag: tuple[str, ...], results: Path
) -> None:
    """Write TEXT beside the experiment NAME, in place of an earlier note, or tag it.

    An empty TEXT removes the note. Without TEXT and tags it prints what there is. Notes and tags
    are in the lists of `slowdust list`, `show`, `site` and `serve`, and travel in a bundle.

    \b
    slowdust note nightly-1123 "first night with the new kernel"
    slowdust note nightly-1123 --tag nightly --tag kernel-6.12
    """
    folder = kept_experiment(results, name)
    check_tags((*tags, *untag))
    there = read_annotation(folder)
    kept = ({*there.tags, *tags}) - {*untag}
    annotation = Annotation(note=there.note if text is None else text.strip(), tags=sorted(kept))
    if annotation != there:
        write_annotation(folder, annotation)
    click.echo(annotation.note or "no note")
    click.echo(f"tags: {', '.join(annotation.tags) or 'none'}")
