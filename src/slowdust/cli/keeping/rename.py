"""`slowdust rename`: another name for an experiment."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.completion import experiments
from slowdust.cli.options import options
from slowdust.store.experiments import kept_experiment, rename_experiment


@click.command("rename", params=options("rename", "results"))
@click.argument("old", shell_complete=experiments)
@click.argument("new")
def command(old: str, new: str, results: Path) -> None:
    """Give the experiment OLD the name NEW, in its folder, its manifest and its file.

    The page report.html in its folder is as old as it was: `slowdust report NEW` writes it anew.
    """
    folder = rename_experiment(kept_experiment(results, old), new)
    click.echo(f"{old} is now {folder.name}, in {folder.path}")
