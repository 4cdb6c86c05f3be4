"""`slowdust site`: all experiments as static pages."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.options import NamedPath, options


@click.command(
    "site",
    params=options("site", "results"),
)
@click.argument("directory", type=NamedPath(file_okay=False), metavar="DIR")
def command(directory: Path, results: Path) -> None:
    """Write the experiments of the results folder into DIR as static files.

    DIR/index.html lists them all with search, tags and notes. Each has its report at
    DIR/experiments/NAME.html, and a page of what changed since the one before it. dates.html and
    versions.html have trends. A page is written again only if something in it has changed.
    """
    from slowdust.report.site.publish import publish
    from slowdust.wording import counted, shortened

    outcome = publish(results, directory)
    if outcome.unreadable:
        click.echo(f"slowdust: cannot read {shortened(outcome.unreadable)}", err=True)
    click.echo(
        f"{counted(len(outcome.written), 'page')} written, {outcome.unchanged} unchanged, "
        f"{len(outcome.removed)} removed"
    )
    click.echo(f"site: {directory / 'index.html'}")
