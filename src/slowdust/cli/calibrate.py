"""`slowdust calibrate`: what this host can tell."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import click

from slowdust.analysis.calibration import calibration_of
from slowdust.analysis.model import Calibration
from slowdust.builds import cache
from slowdust.builds.catalog import catalog_of
from slowdust.cli import conduct
from slowdust.cli.completion import builds
from slowdust.cli.options import options
from slowdust.dbms import DEFAULT
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.host_locks import WhenBusy
from slowdust.experiment.spec.options import calibration_specs
from slowdust.experiment.spec.spec import Spec
from slowdust.report.calibration import lines
from slowdust.store.experiments import check_results
from slowdust.store.folder import Folder, experiments
from slowdust.versions import version_order


@click.command(
    "calibrate",
    params=options(
        "calibrate",
        "suite tests clients rows tables budget slowed trial patience cpus seed name resume "
        "stored no-wait results",
    ),
)
@click.argument("contenders", nargs=-1, metavar="[CONTENDER]...", shell_complete=builds)
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
    versions = cache.versions(DEFAULT) or [entry.version for entry in catalog_of(DEFAULT).entries]
    return f"{DEFAULT}@{max(versions, key=version_order)}"


def _calibrate(spec: Spec, results: Path, when_busy: WhenBusy, *, resume: bool) -> int:
    """Run a calibration, or what is left of it; return the exit code, 1 where it failed."""
    experiment = Experiment.create(spec, results)
    if resume and experiment.has_begun:
        experiment = Experiment.open(experiment.folder)
        if experiment.stored.manifest.finished is not None:
            click.echo(f"experiment {spec.name} is finished", err=True)
            return 0
        experiment = experiment.with_spec(spec)
    try:
        return conduct.conduct(experiment, when_busy)
    except SlowdustError as error:
        click.echo(f"slowdust: {spec.name}: {error}", err=True)
        return error.exit_code


def _show(folders: list[Folder], otherwise: str) -> None:
    """Print the calibrations among experiments as tables."""
    calibrations = [one for folder in folders if (one := _calibration(folder)) is not None]
    if not calibrations:
        raise UsageError(otherwise)
    click.echo("\n".join(lines(calibrations)))


def _calibration(folder: Folder) -> Calibration | None:
    return calibration_of(folder.read_manifest(), folder.read_slices())
