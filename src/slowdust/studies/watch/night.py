"""One step of a watch: what is new is measured, judged, and told once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from slowdust.builds.model import Progress
from slowdust.errors import SlowdustError
from slowdust.studies.candidates import Candidate
from slowdust.studies.watch.alarms import (
    Change,
    Channel,
    Delivery,
    Event,
    Fate,
    State,
    last_good,
    read_state,
    write_state,
)
from slowdust.studies.watch.bisecting import command_for
from slowdust.studies.watch.file import Watch, WatchTable
from slowdust.studies.watch.judging import Judgement, judge
from slowdust.studies.watch.laboratory import Laboratory
from slowdust.studies.watch.series import (
    Night,
    Tonight,
    append_night,
    read_nights,
    read_tonight,
    write_tonight,
)
from slowdust.studies.watch.subjects import base_of, check_same_watch, first_good, new_subject

MOST_TRIES = 2
"""How often a subject is tried that cannot be measured, while nothing is new."""
MOST_AGAIN = 2
"""How often a subject in doubt is measured again while nothing is new."""

Say = Callable[[str], None]


@dataclass
class Outcome:
    """What a call of `slowdust watch` has come to."""

    night: Night | None
    """The night that was measured; None where nothing was new."""
    judgement: Judgement
    state: State
    nights: Sequence[Night]
    untold: list[Change] = field(default_factory=list)
    """Alarms that raise and that no exit code has told."""


def step(
    folder: Path, watch: Watch, laboratory: Laboratory, progress: Progress, say: Say
) -> Outcome:
    """Measure what is new, or what is left of a night that was stopped, and judge it.

    Raises:
        UsageError: the file names what is not there.
        SlowdustError: measuring failed; a later call goes on.
    """
    nights, state = read_nights(folder), read_state(folder)
    # A kill may have come behind the record of a night.
    _judge_left(folder, watch, nights, state, progress)
    check_same_watch(watch, nights)
    tonight = read_tonight(folder)
    # One that has not begun is planned anew: the file may be another, and the commit gone.
    if tonight is not None and laboratory.has_begun(tonight):
        say(f"going on with night {tonight.number}: {tonight.subject.title}")
    else:
        tonight = _planned(watch.table, nights, state, progress)
    if tonight is None:
        return Outcome(None, Judgement(), state, nights, _untold(state))
    write_tonight(folder, tonight)
    say(_announcement(tonight))
    night = laboratory.measure(tonight)
    append_night(folder, night)
    nights = [*nights, night]
    judgement = _judge_left(folder, watch, nights, state, progress)
    return Outcome(night, judgement, state, nights, _untold(state))


def _announcement(tonight: Tonight) -> str:
    good = tonight.good
    beside = [tonight.base]
    if good is not None and good.contender != tonight.base:
        beside.append(good.name)
    again = " again, since it is in doubt" if tonight.again else ""
    return (
        f"night {tonight.number}: measuring {tonight.subject.title}{again} beside "
        f"{' and '.join(beside)}"
    )


def _judge_left(
    folder: Path, watch: Watch, nights: Sequence[Night], state: State, progress: Progress
) -> Judgement:
    """Judge the nights that no judgement was kept of; return that of the last one."""
    judgement = Judgement()
    for place, night in enumerate(nights):
        if night.number <= state.judged:
            continue
        judgement = judge(
            state,
            nights[: place + 1],
            lambda change: command_for(watch, change, progress),
        )
        state.deliveries += _deliveries(watch.table, night, judgement)
        write_state(folder, state)
    return judgement


def _deliveries(table: WatchTable, night: Night, judgement: Judgement) -> list[Delivery]:
    """Return the events of a night that hooks are to be told."""
    raised = [*judgement.raised, *judgement.joined] if judgement.raised else []
    events = [
        (Event.REGRESSION, raised, table.on_regression),
        (Event.RECOVERY, judgement.gone, table.on_recovery),
    ]
    deliveries = []
    for event, changes, command in events:
        channels = [
            *([Channel.COMMAND] if command else []),
            *([Channel.WEBHOOK] if table.webhook else []),
        ]
        if changes and channels:
            numbers = [change.number for change in changes]
            deliveries.append(
                Delivery(event=event, night=night.number, changes=numbers, pending=channels)
            )
    return deliveries


def _untold(state: State) -> list[Change]:
    """Return the alarms that raise and that no exit code has told yet."""
    return [
        change
        for change in state.changes
        if change.fate is Fate.OPEN and not change.joined and not change.told
    ]


def _planned(
    table: WatchTable, nights: Sequence[Night], state: State, progress: Progress
) -> Tonight | None:
    subjects = [night.plan.subject for night in nights]
    subject = new_subject(table, subjects, progress) or _failed(nights)
    again = subject is None
    if subject is None:
        subject = _in_doubt(nights, state)
    if subject is None:
        return None
    number = len(nights) + 1
    found = last_good(nights, state)
    good, good_night = found if found is not None else (first_good(table), 0)
    if good is not None and good.contender == subject.contender:
        raise SlowdustError(f"{subject.name} is the last good subject itself")
    return Tonight(
        number=number,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        experiment=f"night-{number:04}",
        subject=subject,
        base=base_of(table),
        good=good,
        good_night=good_night,
        again=again,
    )


def _failed(nights: Sequence[Night]) -> Candidate | None:
    """Return the last subject where it failed once and is to be tried again."""
    if not nights or nights[-1].failed is None:
        return None
    last = nights[-1].plan.subject
    times = sum(night.plan.subject.contender == last.contender for night in nights)
    return last if times < MOST_TRIES else None


def _in_doubt(nights: Sequence[Night], state: State) -> Candidate | None:
    """Return the last subject where it is to be measured again; None where nothing is in doubt."""
    if not nights or not state.doubts or nights[-1].failed is not None:
        return None
    last = nights[-1].plan.subject
    times = sum(night.plan.subject.contender == last.contender for night in nights)
    return last if times <= MOST_AGAIN else None
