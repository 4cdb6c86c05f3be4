"""The changes that a watch has found, and their state; `alarms.json` in its folder.

A change is kept until the end of the watch, because the levels after it are relative to it. A
change for the worse is an alarm:

    open           new
    acknowledged   `slowdust ack`: known, and listed until it is gone
    accepted       `slowdust ack --as-new-level`: closed; later nights are compared with its level
    gone           the test came back to its level without an acknowledgement
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from slowdust.analysis.results.log_ratio import LogRatio
from slowdust.errors import UsageError
from slowdust.ratios import Ratio
from slowdust.store.storage import read_versioned, write_versioned
from slowdust.studies.candidates import Candidate
from slowdust.studies.watch.series import Night

ALARMS_FILE = "alarms.json"
SCHEMA = 1

Key = tuple[str, int, str]
"""Test, clients and metric of a series."""


class Fate(StrEnum):
    """State of a change."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    ACCEPTED = "accepted"
    GONE = "gone"
    FASTER = "faster"
    """A change for the better, which is not an alarm."""


class Change(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A change of the level of one series."""

    number: int
    test: str
    clients: int
    metric: str
    night: int
    """The first night of the new level."""
    before: Candidate
    """The last subject of the old level."""
    subject: Candidate
    """The first subject of the new level; the change came with it, or after `before`."""
    log: float
    """ln(cost after / cost before)."""
    error: float
    found: int
    """The night that made it significant."""
    fate: Fate = Fate.OPEN
    joined: bool = False
    """Whether its subject already had an open alarm, so that it is not reported by itself."""
    reported: bool = msgspec.field(default=False, name="told")
    """Whether the exit code of a night has reported it."""
    note: str = ""
    """The user's note of an acknowledgement."""
    acknowledged: str | None = None
    """The day of the acknowledgement."""
    gone: int | None = None
    """The first night at which it was gone."""
    bisect: str = ""
    """The command that finds it among several subjects; empty if there is only one."""

    @property
    def key(self) -> Key:
        """The series of the change."""
        return self.test, self.clients, self.metric

    @property
    def is_worse(self) -> bool:
        """Whether it is a change for the worse."""
        return self.log > 0

    @property
    def is_open(self) -> bool:
        """Whether it is an alarm that is not closed, acknowledged or not."""
        return self.fate in (Fate.OPEN, Fate.ACKNOWLEDGED)

    @property
    def ratio(self) -> Ratio:
        """Cost after / cost before."""
        return LogRatio(self.log, self.error).ratio


class Event(StrEnum):
    """An event for hooks."""

    REGRESSION = "regression"
    RECOVERY = "recovery"


class Channel(StrEnum):
    """A way to notify the user."""

    COMMAND = "command"
    WEBHOOK = "webhook"


class Delivery(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An event whose hooks are not all notified yet."""

    event: Event
    night: int
    changes: list[int]
    """Numbers of the changes."""
    pending: list[Channel]


class State(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Everything that is known besides the nights themselves."""

    schema: int = SCHEMA
    judged: int = 0
    """The last night that was judged."""
    changes: list[Change] = []
    doubts: dict[str, int] = {}
    """Series in words -> first night of a possible new level."""
    deliveries: list[Delivery] = []

    def of_series(self, key: Key) -> list[Change]:
        """Return the changes of a series, the oldest first."""
        return [change for change in self.changes if change.key == key]

    @property
    def alarms(self) -> list[Change]:
        """The alarms that are not closed."""
        return [change for change in self.changes if change.is_open]


def read_state(folder: Path) -> State:
    """Return the state of a watch; an empty one for a new watch.

    Raises:
        UsageError: a newer Slowdust wrote it.
        SlowdustError: it is damaged.
    """
    return read_versioned(folder / ALARMS_FILE, State, SCHEMA) or State()


def write_state(folder: Path, state: State) -> None:
    """Replace the state of a watch."""
    write_versioned(folder / ALARMS_FILE, state)


def last_good(nights: Sequence[Night], state: State) -> tuple[Candidate, int] | None:
    """Return the newest subject without alarm or doubt, with its night; None without one."""
    bad = [*_bad_nights(state)]
    for night in reversed(nights):
        in_bad = any(begin <= night.number < end for begin, end in bad)
        if not in_bad and night.failed is None and not night.plan.again:
            return night.plan.subject, night.number
    return None


def _bad_nights(state: State) -> Iterator[tuple[int, float]]:
    """Yield ranges of nights, begin and end, whose subjects are not good or in doubt."""
    for change in state.changes:
        if change.is_open:
            yield change.night, math.inf
        elif change.fate is Fate.GONE:
            yield change.night, change.gone or math.inf
    for night in state.doubts.values():
        yield night, math.inf


def acknowledge(
    state: State, tests: Sequence[str], fate: Fate, note: str, day: str
) -> list[Change]:
    """Set the fate of the open alarms of these tests, or of all; return the alarms.

    Raises:
        UsageError: there is no open alarm, or a test has none.
    """
    there = state.alarms
    if not there:
        raise UsageError("there is no open alarm")
    names = dict.fromkeys(change.test for change in there)
    if unknown := [test for test in tests if test not in names]:
        raise UsageError(f"'{unknown[0]}' has no open alarm; open alarms: {', '.join(names)}")
    chosen = [change for change in there if not tests or change.test in tests]
    for change in chosen:
        if change.fate is fate and not note:
            continue  # it has this fate already, and its note
        change.fate = fate
        change.note = note or change.note
        change.acknowledged = day
    _forget_accepted(state)
    return chosen


def _forget_accepted(state: State) -> None:
    """Drop pending notifications of alarms that are accepted now."""
    accepted = {change.number for change in state.changes if change.fate is Fate.ACCEPTED}
    state.deliveries = [
        delivery
        for delivery in state.deliveries
        if delivery.event is not Event.REGRESSION or not {*delivery.changes} <= accepted
    ]
