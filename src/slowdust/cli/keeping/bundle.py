"""`slowdust bundle`: one experiment as one file, for another Slowdust."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.completion import experiments
from slowdust.cli.options import NamedPath, options
from slowdust.store.bundle import pack
from slowdust.store.experiments import BUNDLE_SUFFIX, kept_experiment


@click.command(
    "bundle",
    params=[
        click.Option(
            ["-o", "--output"],
            metavar="FILE",
            type=NamedPath(dir_okay=False),
            help="Write this file, which must not exist.  [NAME.slowdust]",
        ),
        *options("bundle", "results"),
    ],
)
@click.argument("name", shell_complete=experiments)
def command(name: str, output: Path | None, results: Path) -> None:
    """Write the experiment NAME into one file, which another Slowdust opens.

    The file has all records, profiles, the note and tags, and facts of the host; it has no logs of
    the servers. `slowdust import bundle FILE` brings it into another results folder.
    """
    folder = kept_experiment(results, name)
    destination = output or Path(f"{folder.name}{BUNDLE_SUFFIX}")
    pack(folder, destination)
    click.echo(f"bundle: {destination}, {destination.stat().st_size / 1e6:.1f} MB")
