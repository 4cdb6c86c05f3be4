"""`slowdust run`: an experiment from a file."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.options import results_option


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--resume", is_flag=True, help="Go on with a stopped experiment.")
@results_option
def command(file: Path, results: Path, **options: bool) -> int:
    """Run the experiment in FILE (TOML), or go on with one that was stopped.

    What is measured is kept: `slowdust run results/NAME/experiment.toml --resume` goes on where
    a killed experiment stopped, and never measures a finished slice again.
    """
    from slowdust.cli.conduct import conduct
    from slowdust.experiment.journal import StartMode
    from slowdust.experiment.spec.spec import read_spec
    from slowdust.store.folder import MANIFEST_FILE

    if options["resume"] and (file.parent / MANIFEST_FILE).is_file():
        results = file.absolute().parent.parent
    mode = StartMode.RESUME if options["resume"] else StartMode.FRESH
    return conduct(read_spec(file), results, mode)
