"""Judges a night: new alarms, and alarms that are gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from slowdust.studies.candidates import Candidate
from slowdust.studies.watch.alarms import Change, Fate, Key, State
from slowdust.studies.watch.decision import (
    MEMORY,
    RULES,
    Finding,
    Point,
    Shift,
    doubt_among,
    find,
    scales,
)
from slowdust.studies.watch.series import Measured, Night

Bisecting = Callable[[Change], str]
"""Returns the command that finds a change among several subjects; empty if there is only one."""


@dataclass
class Judgement:
    """The changes that one night has shown."""

    raised: list[Change] = field(default_factory=list)
    """New alarms."""
    joined: list[Change] = field(default_factory=list)
    """New alarms of subjects that already had an open alarm."""
    faster: list[Change] = field(default_factory=list)
    gone: list[Change] = field(default_factory=list)
    """Alarms that are gone."""


def judge(state: State, nights: Sequence[Night], bisecting: Bisecting) -> Judgement:
    """Judge the last night of `nights`, and update the state."""
    night = nights[-1]
    judgement = Judgement()
    raised_before = {each.subject.contender for each in state.changes if each.fate is Fate.OPEN}
    state.judged = night.number
    if night.failed is not None:
        return judgement
    state.doubts = {}
    series = collect_points(nights[-MEMORY:])
    for metric, rule in RULES.items():
        keys = [key for key in series if key[2] == metric]
        for key, scale in zip(keys, scales([series[key] for key in keys], rule), strict=True):
            points = series[key]
            if points[-1].night != night.number:  # it was not measured this time
                continue
            shifts = [
                Shift(change.night, change.log, change.error) for change in state.of_series(key)
            ]
            found = find(points, shifts, scale, rule)
            if found is None or found.sureness < doubt_among(len(keys)):
                continue
            if found.sureness < rule.threshold:
                state.doubts[name_series(key)] = found.night
                continue
            change = _change(state, key, found, nights)
            _keep(state, judgement, change, raised_before)
    for change in (*judgement.raised, *judgement.joined):
        change.bisect = bisecting(change)
    return judgement


def name_series(key: Key) -> str:
    """Return the name of a series: 'scan at 4 clients, time'."""
    test, clients, metric = key
    return f"{test}{f' at {clients} clients' if clients > 1 else ''}, {metric}"


def collect_points(nights: Sequence[Night]) -> dict[Key, list[Point]]:
    """Return the points of each series, the oldest first."""
    series: dict[Key, list[Point]] = {}
    for night in nights:
        for measured in night.measured:
            key = (measured.test, measured.clients, measured.metric)
            series.setdefault(key, []).append(_point(night, measured))
    return series


def _point(night: Night, measured: Measured) -> Point:
    good = measured.good
    return Point(
        night=night.number,
        segment=night.segment,
        level=measured.base.log,
        error=measured.base.error,
        direct=None if good is None else good.log,
        direct_error=0.0 if good is None else good.error,
        good=night.plan.good_night,
        again=night.plan.again,
    )


def _change(state: State, key: Key, found: Finding, nights: Sequence[Night]) -> Change:
    test, clients, metric = key
    before, subject = _range(nights, found.night, key)
    return Change(
        number=len(state.changes) + 1,
        test=test,
        clients=clients,
        metric=metric,
        night=found.night,
        before=before,
        subject=subject,
        log=found.log,
        error=found.error,
        found=nights[-1].number,
    )


def _keep(state: State, judgement: Judgement, change: Change, raised_before: set[str]) -> None:
    """Store a significant change; a change for the better may close alarms."""
    earlier = state.of_series(change.key)
    state.changes.append(change)
    if change.is_worse:
        change.joined = change.subject.contender in raised_before
        (judgement.joined if change.joined else judgement.raised).append(change)
        return
    change.fate = Fate.FASTER
    gone = _close_alarms(change, earlier)
    judgement.gone += gone
    if not gone:
        judgement.faster.append(change)


def _close_alarms(change: Change, earlier: Sequence[Change]) -> list[Change]:
    """Close the alarms whose change was at least halved by an improvement, and return them."""
    total, ended = change.log, []
    for alarm in reversed(earlier):
        total += alarm.log
        if alarm.is_open and total < alarm.log / 2:
            alarm.fate = Fate.GONE
            alarm.gone = change.night
            ended.append(alarm)
    return ended


def _range(nights: Sequence[Night], first: int, key: Key) -> tuple[Candidate, Candidate]:
    """Return the last subject of a series before a night, and the night's own subject."""
    measured = [
        night
        for night in nights
        if any((each.test, each.clients, each.metric) == key for each in night.measured)
    ]
    place = next(place for place, night in enumerate(measured) if night.number == first)
    tonight = measured[place].plan
    if place:
        return measured[place - 1].plan.subject, tonight.subject
    assert tonight.good is not None, "a change in a first night is relative to the base"
    return tonight.good, tonight.subject
