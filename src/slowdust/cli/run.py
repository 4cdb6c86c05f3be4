"""`slowdust run`: an experiment that is described by a file."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.options import results_option


@click.command("run", short_help="Run the experiment of a file, or continue it.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--resume", is_flag=True, help="Continue a stopped experiment.")
@results_option
def command(file: Path, results: Path, **options: bool) -> int:
    """Run the experiment in FILE (TOML), or continue one that was stopped.

    Finished slices are kept: `slowdust run results/NAME/experiment.toml --resume` continues where
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
