"""`slowdust run`: an experiment that is described by a file."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.analysis.results.gate import Gate
from slowdust.cli.conduct import conduct
from slowdust.cli.conduct_fleet import conduct_fleet
from slowdust.cli.options import WORDS, WhenTooShort, options, with_limits
from slowdust.errors import UsageError
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.host_locks import WhenBusy
from slowdust.experiment.journal import StartMode
from slowdust.experiment.spec.spec import read_spec
from slowdust.fleet.queue import Asked, Builds, Unfit
from slowdust.located_errors import File, placed
from slowdust.places import named_path
from slowdust.store.experiments import kept_experiment
from slowdust.store.folder import MANIFEST_FILE, Folder
from slowdust.units import Second
from slowdust.user_text import read_user_text


@click.command(
    "run",
    epilog=WORDS,
    params=options(
        "run",
        "resume fleet hosts replicate spread builds unfit patience count-budget fail-on yes "
        "no-wait results",
    ),
)
@click.argument("file")
def command(
    *,
    file: str,
    results: Path,
    when_busy: WhenBusy,
    gates: list[Gate],
    too_short: WhenTooShort,
    address: str | None,
    hosts: int | None,
    replicate: int | None,
    builds: str | None,
    patience: Second | None,
    count_budget: Second | None,
    **options: bool,
) -> int:
    """Run the experiment in FILE (TOML), or continue one that was stopped.

    Finished slices are kept: `slowdust run NAME --resume` continues where a killed experiment
    stopped, and never measures a finished slice again. NAME is the experiment's name, or the path
    of its folder.

    \b
    slowdust run examples/durability.toml
    slowdust run durability --resume
    slowdust run examples/durability.toml --fleet 127.0.0.1:6379 --replicate 3
    """
    mode = StartMode.RESUME if options["resume"] else StartMode.FRESH
    of_fleet = {
        "--hosts": hosts,
        "--replicate": replicate,
        "--builds": builds,
        "--spread": options["spread"] or None,
        "--unfit": options["unfit"] or None,
    }
    if address is not None:
        if patience is not None:
            raise UsageError("--patience: write patience = TIME into the file for a fleet")
        if options["spread"] and replicate is not None:
            raise UsageError("--spread and --replicate: a test has one host, or several")
        if hosts is not None and replicate is not None and hosts < replicate:
            raise UsageError(f"--hosts {hosts}: a test is measured on --replicate {replicate}")
        if count_budget is not None:
            raise UsageError("--count-budget: write count_budget into the file of a fleet")
        if when_busy is WhenBusy.FAIL:
            raise UsageError("--no-wait: what a fleet measures waits for its turn on each host")
        asked = Asked(
            hosts=hosts,
            replicate=replicate or (1 if options["spread"] else None),
            builds=Builds(builds) if builds else None,
            unfit=Unfit.USE if options["unfit"] else None,
        )
        return conduct_fleet(file, results, mode, address=address, asked=asked, gates=gates)
    if stray := [name for name, value in of_fleet.items() if value is not None]:
        raise UsageError(f"{stray[0]}: there is no fleet without --fleet ADDRESS")
    path = named_path(file)
    if options["resume"]:
        if not path.is_file():
            folder = kept_experiment(results, file)
            folder.refuse_if_joined()
            path = folder.spec_file
        if (path.parent / MANIFEST_FILE).is_file():
            results = path.absolute().parent.parent
    limits = {"count_budget": count_budget, "patience": patience}
    spec = with_limits(read_spec(path), limits)
    with placed(File(path, read_user_text(path))):
        experiment = Experiment(Folder.of(results, spec.name), spec, mode)
        return conduct(experiment, when_busy, gates=gates, too_short=too_short)
