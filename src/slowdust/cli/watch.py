"""`slowdust watch`: one step of a nightly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowdust.cli.options import WORDS, no_wait_option, results_option
from slowdust.formats.text import visible

if TYPE_CHECKING:
    from slowdust.experiment.claims.claim import WhenBusy
    from slowdust.studies.watch.file import Watch
    from slowdust.studies.watch.night import Outcome

_REGRESSION = 3


@click.command("watch", short_help="Measure what is new, once a night.", epilog=WORDS)
@click.argument("file")
@click.option("--status", is_flag=True, help="Show the alarms and the nights; measure nothing.")
@no_wait_option
@results_option
def command(file: str, *, status: bool, results: Path, when_busy: WhenBusy) -> int:
    """Measure the newest release or commit that FILE (TOML) watches, and say what got slower.

    FILE is that of an experiment, with a table [watch] in place of contenders. Each call is one
    night: what is new is measured beside the base and the last good subject, and a test that got
    slower is raised once: by exit code 3 and the hooks of FILE. `slowdust ack` acknowledges it.
    Nothing new is exit code 0. A night that was stopped goes on by the same command.

    \b
    slowdust watch postgres.toml
    slowdust watch postgres.toml --status
    """
    from slowdust.places import named_path
    from slowdust.studies.watch.file import read_watch
    from slowdust.studies.watch.folder import begun_folder, folder_of, watch_in

    watch = read_watch(named_path(file))
    folder = folder_of(results, watch.table.name)
    _check(watch)
    if status:
        return _show_status(watch, begun_folder(results, watch.table.name))
    with watch_in(folder).held():
        return _night(watch, folder, when_busy)


def _check(watch: Watch) -> None:
    """Refuse a file that no experiment can be made of, before anything is fetched."""
    from slowdust.studies.watch.subjects import base_of

    base = base_of(watch.table)
    watch.spec("check", [base, base])


def _night(watch: Watch, folder: Path, when_busy: WhenBusy) -> int:
    """Go through one night; return the exit code."""
    from slowdust.errors import UsageError
    from slowdust.experiment.local_lab import LocalLab
    from slowdust.studies.watch.laboratory import Experiments
    from slowdust.studies.watch.night import step

    lab = LocalLab(when_busy)
    laboratory = Experiments(watch, folder, lab)

    def say(text: str) -> None:
        click.echo(visible(text), err=True)

    click.echo(f"watch {watch.table.name} in {folder}", err=True)
    try:
        outcome = step(folder, watch, laboratory, lab.phase, say)
    except UsageError:
        raise
    except BaseException:
        say("what was measured is kept: the same command goes on")
        raise
    return _tell(watch, folder, outcome)


def _tell(watch: Watch, folder: Path, outcome: Outcome) -> int:
    """Print what came of the night, call the hooks, and return the exit code."""
    from slowdust.studies.watch import words
    from slowdust.studies.watch.alarms import write_state
    from slowdust.studies.watch.files import write_files
    from slowdust.studies.watch.hooks import deliver

    state, name = outcome.state, watch.table.name
    if outcome.night is None:
        click.echo("nothing new")
    else:
        for line in words.of_night(outcome.night, outcome.judgement):
            click.echo(visible(line))
    for line in words.in_doubt(state):
        click.echo(line)
    new = [*outcome.judgement.raised, *outcome.judgement.joined]
    for line in words.still_there(state, new):
        click.echo(visible(f"still there: {line}"))
    page = write_files(name, folder, state, outcome.nights)
    state.deliveries = deliver(
        state.deliveries,
        watch,
        lambda delivery: words.payload(name, delivery, state, outcome.nights),
        lambda text: click.echo(f"warning: {text}", err=True),
    )
    for change in outcome.untold:
        change.told = True
    write_state(folder, state)
    click.echo(f"report: {page}", err=True)
    if outcome.untold:
        return _REGRESSION
    night = outcome.night
    return 1 if night is not None and (night.failed is not None or night.failed_wholly) else 0


def _show_status(watch: Watch, folder: Path) -> int:
    """Print the state of a watch, and write its page anew."""
    from slowdust.studies.watch import note as markdown
    from slowdust.studies.watch.alarms import read_state
    from slowdust.studies.watch.files import write_files
    from slowdust.studies.watch.series import read_nights

    nights, state = read_nights(folder), read_state(folder)
    click.echo(markdown.render(watch.table.name, state, nights), nl=False)
    click.echo(f"report: {write_files(watch.table.name, folder, state, nights)}", err=True)
    return 0
