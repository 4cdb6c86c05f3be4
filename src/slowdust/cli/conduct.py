"""Runs an experiment from the command line, with a live view and the results at the end."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import click

from slowdust.analysis.model import Report
from slowdust.analysis.results.failures import failed_wholly
from slowdust.analysis.results.gate import Gate, caught_by
from slowdust.cli.values import WhenTooShort
from slowdust.errors import UsageError
from slowdust.experiment import host_calibrations
from slowdust.experiment.announced import MOST, Announced
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.host_locks import WhenBusy
from slowdust.experiment.local_lab import LocalLab
from slowdust.experiment.run_estimate import RunEstimate, estimate_run
from slowdust.experiment.setup import refuse_by_name
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.report import terminal
from slowdust.store.folder import SLICES_FILE
from slowdust.studies.capacity.search import make_search


def conduct(
    experiment: Experiment,
    when_busy: WhenBusy,
    *,
    gates: Sequence[Gate] = (),
    too_short: WhenTooShort = WhenTooShort.ASK,
) -> int:
    """Run an experiment, write its `report.html`, print its report and return the exit code.

    The code is 1 if a contender dropped out, did not finish a step or failed in all executions of a
    test, if there was no time for a test, or if the user declines a short budget; 3 if a gate
    catches a result.
    """
    spec, path = experiment.spec, experiment.folder.path
    refuse_by_name(spec)
    click.echo(f"experiment {spec.name} in {path}", err=True)
    if len(spec.planned_contenders()) == 1:
        click.echo("one contender: measuring absolute values, without a comparison", err=True)
    estimate = _expect(experiment, spec, too_short)
    most = math.inf if too_short is WhenTooShort.CONTINUE else MOST * estimate.wall

    def announce(view: View) -> Announced:
        return Announced(
            view, estimate.wall, most, following=estimate.following, builds=estimate.builds
        )

    try:
        experiment.run(LocalLab(when_busy, announce=announce, decide=make_search))
    except UsageError:
        raise
    except BaseException:
        slices = path / SLICES_FILE
        if slices.is_file() and slices.stat().st_size:
            again = f"slowdust run {path} --resume"
            click.echo(f"the slices are kept; resume with: {again}", err=True)
        raise
    return conclude(experiment, gates)


def conclude(experiment: Experiment, gates: Sequence[Gate] = ()) -> int:
    """Write the page of a measured experiment, print its report and return the exit code."""
    if experiment.spec.trials is not None:
        return 0  # the search reports on the trials
    stored, report = experiment.stored, experiment.report()
    manifest = stored.manifest
    page = experiment.write_page()
    if report.calibration is not None:  # a fleet's hosts may have measured one
        host_calibrations.keep(manifest, report.calibration)
    terminal.show(report)
    click.echo(f"report: {page}", err=True)
    dropped_out = any(contender.failed for contender in manifest.contenders)
    measured = {record.place.test for record in stored.slices}
    no_time = manifest.finished is None and not measured.issuperset(manifest.tests)
    failed = dropped_out or no_time or manifest.failed_steps or failed_wholly(report)
    return 1 if failed else gate_exit_code(gates, report)


def _expect(experiment: Experiment, spec: Spec, too_short: WhenTooShort) -> RunEstimate:
    """Print the time estimate; on a terminal, confirm a budget that is too short to decide.

    Raises:
        Abort: the user declines it.
    """
    before = experiment.folder.read_manifest() if experiment.has_begun else None
    estimate = estimate_run(spec, experiment.results, before)
    click.echo(str(estimate), err=True)
    if not estimate.short_of:
        return estimate
    click.echo(f"{estimate.short_of}: use a longer --budget or fewer --tests", err=True)
    if too_short is WhenTooShort.ASK and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("Continue?", abort=True, err=True)
    return estimate


def gate_exit_code(gates: Sequence[Gate], report: Report) -> int:
    """Report what the gates catch on standard error; return 3 if one catches anything, else 0.

    The code is 1 if a test failed in all executions: no gate can judge it.
    """
    if not gates:
        return 0
    caught = [text for gate in gates if (text := caught_by(gate, report))]
    for text in caught:
        click.echo(f"failed by --fail-on {text}", err=True)
    if failed_wholly(report):
        return 1
    return 3 if caught else 0
