"""`slowdust calibrate`: what this host can tell."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowdust.cli.completion import builds
from slowdust.cli.options import no_wait_option, patience_of_new_option, results_option

if TYPE_CHECKING:
    from slowdust.analysis.calibration.model import Calibration
    from slowdust.experiment.claims.claim import WhenBusy
    from slowdust.experiment.spec.spec import Spec
    from slowdust.store.folder import Folder


@click.command("calibrate", short_help="Find out what this host can tell.")
@click.argument("contenders", nargs=-1, metavar="[CONTENDER]...", shell_complete=builds)
@click.option("--suite", metavar="NAME", help="quick, default or full.  [quick]")
@click.option("--tests", metavar="LIST", help="Names or patterns of tests, instead of a suite.")
@click.option(
    "--clients",
    metavar="LIST",
    help="Concurrent clients, each a test of its own: 1 or 1,4,16,64.  [1]",
)
@click.option("--rows", metavar="INTEGER", help="Rows of each table.  [100000]")
@click.option("--tables", metavar="INTEGER", help="Number of tables.  [1]")
@click.option(
    "--budget", metavar="TIME", help="Wall clock for all measuring of all contenders.  [5m]"
)
@click.option(
    "--slowed",
    metavar="LIST",
    help="Percentages of the throughput that the delays take, or none.  [3,5,10]",
)
@click.option(
    "--trial",
    metavar="TIME",
    help="Budget for each contender in a test, from which one verdict is made.  [60s]",
)
@patience_of_new_option
@click.option("--cpus", metavar="LIST", help="CPUs to measure on: 2,3 or 2-3.  [all]")
@click.option("--seed", metavar="INTEGER", help="Seed of the random rows and operations.  [1]")
@click.option("--name", metavar="NAME", help="Name of the experiment.  [from the time]")
@click.option("--resume", is_flag=True, help="Go on with the calibration --name.")
@click.option(
    "--stored",
    metavar="PATTERN",
    help="Measure nothing: show the stored calibrations that are named so, together.",
)
@no_wait_option
@results_option
def command(
    *,
    contenders: tuple[str, ...],
    resume: bool,
    stored: str | None,
    results: Path,
    when_busy: WhenBusy,
    **options: str | None,
) -> int:
    """Compare a build with itself, and with itself slowed by a known time before each reply.

    The first tells how often Slowdust sees a difference on this host where there is none. The
    second tells whether differences of 3%, 5% and 10% are found, and whether the intervals cover
    the truth. The truth is known: a small library, compiled when it is first needed, waits before
    each reply of the server, and adds up how long it really waited. Each trial is a few
    starts of the servers with fresh data, judged as `slowdust compare` would; a longer budget has
    more trials. The result says how long a difference takes to be found on this host, test by test.
    Reports of later experiments on this host have one sentence of it, among the facts of the host:
    how long a difference of 2% takes.

    CONTENDER is as in `slowdust compare`. Several are calibrated one after the other and share
    the budget; without one it is the newest Postgres at hand.

    \b
    slowdust calibrate
    slowdust calibrate postgres@17.6 mysql@9.7.4 --suite default --budget 8h --name night
    slowdust calibrate postgres@17.6 mysql@9.7.4 --suite default --budget 8h --name night --resume
    slowdust calibrate --tests point-query,read-only.100 --clients 1,4,16,64 --slowed none
    slowdust calibrate --stored 'night*'
    """
    from slowdust.cli import conduct
    from slowdust.errors import UsageError
    from slowdust.experiment.spec.calibration import calibration_specs
    from slowdust.store.folder import Folder, experiments
    from slowdust.store.keeping.experiments import check_results

    if stored is not None:
        check_results(results)
        folders = [one for one in experiments(results) if fnmatchcase(one.name, stored)]
        _show(folders[::-1], f"no calibration in {results} is named '{stored}'")
        return 0
    if resume and options["name"] is None:
        raise UsageError("--resume needs the --name of the calibration that goes on")
    specs = calibration_specs(contenders or [_at_hand()], options)
    if len(specs) > 1:
        conduct.fetch_builds(specs)
    codes = [_calibrate(spec, results, when_busy, resume=resume) for spec in specs]
    if len(specs) > 1:
        folders = [Folder.of(results, spec.name) for spec in specs]
        _show([one for one in folders if one.has_manifest()], "nothing was measured")
    return max(codes)


def _at_hand() -> str:
    """Return the newest version in the cache, or else in the catalog."""
    from slowdust.builds import cache
    from slowdust.builds.catalog import catalog_of
    from slowdust.dbms import DEFAULT
    from slowdust.versions import version_order

    versions = cache.versions(DEFAULT) or [entry.version for entry in catalog_of(DEFAULT).entries]
    return f"{DEFAULT}@{max(versions, key=version_order)}"


def _calibrate(spec: Spec, results: Path, when_busy: WhenBusy, *, resume: bool) -> int:
    """Run a calibration, or what is left of it; return the exit code, 1 where it failed."""
    from slowdust.cli.conduct import conduct
    from slowdust.errors import SlowdustError
    from slowdust.experiment.journal import StartMode
    from slowdust.store.folder import Folder

    folder = Folder.of(results, spec.name)
    mode = StartMode.FRESH
    if resume and folder.has_manifest():
        if folder.read_manifest().finished is not None:
            click.echo(f"experiment {spec.name} is finished", err=True)
            return 0
        mode = StartMode.RESUME
    try:
        return conduct(spec, results, mode, when_busy)
    except SlowdustError as error:
        click.echo(f"slowdust: {spec.name}: {error}", err=True)
        return error.exit_code


def _show(folders: list[Folder], otherwise: str) -> None:
    """Print the calibrations among experiments as tables."""
    from slowdust.errors import UsageError
    from slowdust.report.calibration import lines

    calibrations = [one for folder in folders if (one := _calibration(folder)) is not None]
    if not calibrations:
        raise UsageError(otherwise)
    click.echo("\n".join(lines(calibrations)))


def _calibration(folder: Folder) -> Calibration | None:
    from slowdust.analysis.calibration.calibration import calibration_of

    return calibration_of(folder.read_manifest(), folder.read_slices())
