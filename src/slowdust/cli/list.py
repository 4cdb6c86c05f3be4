"""`slowdust list`: the experiments there are."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.options import results_option


@click.command("list")
@results_option
def command(results: Path) -> None:
    """List the experiments in the results folder, newest first."""
    from slowdust.errors import SlowdustError
    from slowdust.store.folder import experiments

    for folder in experiments(results):
        try:
            manifest = folder.read_manifest()
        except SlowdustError as error:
            click.echo(f"{folder.name}  unreadable: {error}")
            continue
        state = "finished" if manifest.finished else "not finished (run --resume goes on)"
        contenders = ", ".join(contender.name for contender in manifest.contenders)
        click.echo(f"{folder.name}  {manifest.started[:16]}  {state}  {contenders}")
