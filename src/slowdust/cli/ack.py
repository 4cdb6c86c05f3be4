"""`slowdust ack`: the alarms of a watch that its user knows."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from slowdust.cli.options import options
from slowdust.studies.engine import write_document
from slowdust.studies.watch import words
from slowdust.studies.watch.alarms import Fate, acknowledge, read_state, write_state
from slowdust.studies.watch.document import document
from slowdust.studies.watch.series import begun_folder, read_nights, watch_in


@click.command(
    "ack",
    params=options("ack", "note as-new-level results"),
)
@click.argument("name")
@click.argument("tests", nargs=-1, metavar="[TEST]...")
def command(name: str, tests: tuple[str, ...], note: str, results: Path, *, accepted: bool) -> int:
    """Acknowledge the open alarms of the watch NAME: those of the TESTs, or all of them.

    An acknowledged alarm raises nothing more, and is listed until the test is back at its level.
    With --as-new-level it is over: the subject that brought it is a good one from now on.

    \b
    slowdust ack postgres --note "expected: checksums are on"
    slowdust ack postgres point-query scan --as-new-level
    """
    folder = begun_folder(results, name)
    with watch_in(folder).held():
        state = read_state(folder)
        fate = Fate.ACCEPTED if accepted else Fate.ACKNOWLEDGED
        day = datetime.now(UTC).date().isoformat()
        changed = acknowledge(state, tests, fate, note, day)
        write_state(folder, state)
        write_document(folder, document, name, state, read_nights(folder))
    for change in changed:
        click.echo(words.with_fate(change))
    return 0
