"""`slowdust run`: an experiment that is described by a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowdust.cli.options import no_wait_option, results_option

if TYPE_CHECKING:
    from slowdust.experiment.claims.claim import WhenBusy


@click.command("run", short_help="Run the experiment of a file, or continue it.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--resume", is_flag=True, help="Continue a stopped experiment.")
@no_wait_option
@results_option
def command(file: Path, results: Path, when_busy: WhenBusy, **options: bool) -> int:
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
    return conduct(read_spec(file), results, mode, when_busy)
