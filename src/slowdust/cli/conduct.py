"""The run of an experiment from the command line, with a live view and the results at the end."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

import click

from slowdust.analysis.results.failures import failed_wholly
from slowdust.analysis.results.gate import Gate
from slowdust.analysis.stored import read_stored
from slowdust.cli.options import exit_code_of
from slowdust.errors import UsageError
from slowdust.experiment import host_calibrations
from slowdust.experiment.announced import MOST, Announced
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.journal import StartMode
from slowdust.experiment.live import watching
from slowdust.experiment.outlook import Outlook, outlook_of
from slowdust.experiment.run import run_experiment
from slowdust.experiment.setup import refuse_by_name, resolve_contenders
from slowdust.experiment.spec.spec import Spec
from slowdust.report import html, terminal
from slowdust.store.folder import Folder, replace_file


class WhenTooShort(Enum):
    """What to do about a time that decides too little, or is far longer than was announced."""

    ASK = "ask"
    """Ask in a terminal; elsewhere go on with little time, and end before it is too long."""
    GO_ON = "go on"


def fetch_builds(specs: Sequence[Spec]) -> None:
    """Fetch the builds of several experiments before the first of them is run.

    Raises:
        UsageError: an unknown build or config.
        SlowdustError: a build cannot be had.
    """
    with watching() as view:
        for spec in specs:
            resolve_contenders(spec, view)


def conduct(
    spec: Spec,
    results: Path,
    mode: StartMode,
    when_busy: WhenBusy,
    *,
    gates: Sequence[Gate] = (),
    too_short: WhenTooShort = WhenTooShort.ASK,
) -> int:
    """Run an experiment, write its `report.html`, print its report and return the exit code.

    The code is 1 when a contender dropped out, did not finish a step or failed in all executions of
    a test, when there was no time for a test, or when the user does not want a budget that decides
    nothing, 3 when a gate catches a result.
    """
    refuse_by_name(spec)
    click.echo(f"experiment {spec.name} in {results / spec.name}", err=True)
    if len(spec.planned_contenders()) == 1:
        click.echo("one contender: an absolute measurement, with nothing to compare", err=True)
    outlook = _expect(spec, results, too_short)
    try:
        with watching() as view:
            most = math.inf if too_short is WhenTooShort.GO_ON else MOST * outlook.wall
            announced = Announced(
                view, outlook.wall, most, following=outlook.following, builds=outlook.builds
            )
            folder = run_experiment(spec, results, mode, view, when_busy, announced=announced)
    except UsageError:
        raise
    except BaseException:
        _print_how_to_resume(spec, results)
        raise
    stored = read_stored(folder)
    manifest, report = stored.manifest, stored.report()
    page = folder.path / "report.html"
    replace_file(page, html.render(report, stored.slices, stored.profiles).encode())
    if report.calibration is not None:
        host_calibrations.keep(manifest, report.calibration)
    terminal.show(report)
    click.echo(f"report: {page}", err=True)
    dropped_out = any(contender.failed for contender in manifest.contenders)
    measured = {record.place.test for record in stored.slices}
    no_time = manifest.finished is None and not measured.issuperset(manifest.tests)
    failed = dropped_out or no_time or manifest.failed_steps or failed_wholly(report)
    return 1 if failed else exit_code_of(gates, report)


def _expect(spec: Spec, results: Path, too_short: WhenTooShort) -> Outlook:
    """Say what to expect; ask in a terminal whether a time is wanted that decides too little.

    Raises:
        Abort: it is not.
    """
    folder = Folder.of(results, spec.name)
    before = folder.read_manifest() if folder.has_manifest() else None
    outlook = outlook_of(spec, results, before)
    click.echo(str(outlook), err=True)
    if not outlook.short_of:
        return outlook
    click.echo(f"{outlook.short_of}: a longer --budget or fewer --tests decide more", err=True)
    if too_short is WhenTooShort.ASK and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("go on?", abort=True, err=True)
    return outlook


def _print_how_to_resume(spec: Spec, results: Path) -> None:
    slices = results / spec.name / "slices.ndjson"
    if slices.is_file() and slices.stat().st_size:
        folder = results / spec.name
        click.echo(f"the slices are kept; continue with: slowdust run {folder} --resume", err=True)
