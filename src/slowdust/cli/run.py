"""`slowdust run`: an experiment that is described by a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowdust.cli.options import (
    WORDS,
    fail_on_option,
    no_wait_option,
    results_option,
    yes_option,
)

if TYPE_CHECKING:
    from slowdust.analysis.results.gate import Gate
    from slowdust.cli.conduct import WhenTooShort
    from slowdust.experiment.claims.claim import WhenBusy


@click.command("run", short_help="Run the experiment of a file, or continue it.", epilog=WORDS)
@click.argument("file")
@click.option("--resume", is_flag=True, help="Continue a stopped experiment, FILE or its name.")
@fail_on_option
@yes_option
@no_wait_option
@results_option
def command(
    file: str,
    results: Path,
    when_busy: WhenBusy,
    gates: list[Gate],
    too_short: WhenTooShort,
    **options: bool,
) -> int:
    """Run the experiment in FILE (TOML), or continue one that was stopped.

    Finished slices are kept: `slowdust run NAME --resume` continues where a killed experiment
    stopped, and never measures a finished slice again. NAME is the experiment's name, or the path
    of its folder.

    \b
    slowdust run examples/durability.toml
    slowdust run durability --resume
    """
    from slowdust.cli.conduct import conduct
    from slowdust.experiment.journal import StartMode
    from slowdust.experiment.spec.errors import File, placed
    from slowdust.experiment.spec.spec import read_spec
    from slowdust.places import named_path
    from slowdust.store.folder import MANIFEST_FILE
    from slowdust.store.keeping.experiments import kept_experiment

    path = named_path(file)
    if options["resume"]:
        if not path.is_file():
            path = kept_experiment(results, file).spec_file
        if (path.parent / MANIFEST_FILE).is_file():
            results = path.absolute().parent.parent
    mode = StartMode.RESUME if options["resume"] else StartMode.FRESH
    spec = read_spec(path)
    with placed(File(path, path.read_text(encoding="utf-8"))):
        return conduct(spec, results, mode, when_busy, gates=gates, too_short=too_short)
