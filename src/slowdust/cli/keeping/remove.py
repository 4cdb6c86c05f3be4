"""`slowdust remove`: experiments that are no longer wanted."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.completion import experiments
from slowdust.cli.options import options
from slowdust.store.experiments import kept_experiment, paths_of, remove_experiment


@click.command(
    "remove",
    params=options("remove", "yes results"),
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=experiments)
def command(names: tuple[str, ...], results: Path, **options: bool) -> None:
    """Remove experiments with all their files, after a question.

    Nothing is removed if one of the names is of no experiment.
    """
    folders = [kept_experiment(results, name) for name in dict.fromkeys(names)]
    for folder in folders:
        for path in paths_of(folder):
            files = [each for each in path.rglob("*") if each.is_file()]
            size = sum(file.stat().st_size for file in files) / 1e6
            click.echo(f"{path}: {len(files)} files, {size:.1f} MB")
    if not options["yes"]:
        click.confirm("Remove this for good?", abort=True)
    for folder in folders:
        remove_experiment(folder)
        click.echo(f"removed {folder.name}")
