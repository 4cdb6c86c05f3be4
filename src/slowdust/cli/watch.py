"""`slowdust watch`: one step of a nightly."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.options import WORDS, options
from slowdust.cli.study import answer, lab_of
from slowdust.experiment.experiment import PAGE_FILE
from slowdust.experiment.host_locks import WhenBusy
from slowdust.formats.text import visible
from slowdust.places import named_path
from slowdust.studies.watch import note, words
from slowdust.studies.watch.alarms import read_state
from slowdust.studies.watch.file import Watch, read_watch
from slowdust.studies.watch.series import begun_folder, folder_of, read_nights
from slowdust.studies.watch.study import Outcome, WatchStudy, document_of
from slowdust.studies.watch.subjects import base_of

_REGRESSION = 3


@click.command(
    "watch",
    epilog=WORDS,
    params=options("watch", "status fleet unfit no-wait results"),
)
@click.argument("file")
def command(
    file: str,
    *,
    status: bool,
    results: Path,
    when_busy: WhenBusy,
    address: str | None,
    unfit: bool,
) -> int:
    """Measure the newest release or commit that FILE (TOML) watches, and say what got slower.

    FILE is that of an experiment, with a table [watch] in place of contenders. Each call is one
    night: what is new is measured beside the base and the last good subject, and a test that got
    slower is raised once: by exit code 3 and the hooks of FILE. `slowdust ack` acknowledges it.
    Nothing new is exit code 0. A night that was stopped goes on by the same command.

    \b
    slowdust watch postgres.toml
    slowdust watch postgres.toml --status
    """
    watch = read_watch(named_path(file))
    folder = folder_of(results, watch.table.name)
    # A file that no experiment can be made of is refused before anything is fetched.
    base = base_of(watch.table)
    watch.spec("check", [base, base])
    if status:
        return _show_status(watch, begun_folder(results, watch.table.name))
    lab = lab_of(when_busy, address, unfit=unfit)
    code = _tell(answer(WatchStudy(), watch, folder, lab))
    click.echo(f"report: {folder / PAGE_FILE}", err=True)
    return code


def _tell(outcome: Outcome) -> int:
    """Print what came of the night; return the exit code."""
    state, night = outcome.state, outcome.night
    if night is None:
        click.echo("nothing new")
    else:
        for line in words.of_night(night, outcome.judgement):
            click.echo(visible(line))
    for line in words.in_doubt(state):
        click.echo(line)
    new = [*outcome.judgement.raised, *outcome.judgement.joined]
    for line in words.still_there(state, new):
        click.echo(visible(f"still there: {line}"))
    if outcome.untold:
        return _REGRESSION
    return 1 if night is not None and (night.failed is not None or night.failed_wholly) else 0


def _show_status(watch: Watch, folder: Path) -> int:
    """Print the state of a watch, and write its page anew."""
    nights, state = read_nights(folder), read_state(folder)
    click.echo(note.render(watch.table.name, state, nights), nl=False)
    document_of(watch.table.name, state, nights).write(folder)
    click.echo(f"report: {folder / PAGE_FILE}", err=True)
    return 0
