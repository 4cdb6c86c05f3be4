"""Sentences about a watch, for all formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowdust.analysis.results.log_ratio import TIME
from slowdust.ratios import PLAIN, speed, with_interval, work_in_words
from slowdust.studies.watch.alarms import Change, Delivery, Event, Fate, State
from slowdust.studies.watch.judging import Judgement, name_series
from slowdust.studies.watch.series import Night
from slowdust.wording import counted, listing

FATES = {
    Fate.OPEN: "open",
    Fate.ACKNOWLEDGED: "acknowledged",
    Fate.ACCEPTED: "accepted as the new level",
    Fate.GONE: "gone",
    Fate.FASTER: "an improvement",
}
PAYLOAD_SCHEMA = 1


def amount(change: Change) -> str:
    """Return the size of a change: '3% slower', '1.2% more work'."""
    return (
        speed(1 / change.ratio.value)
        if change.metric == TIME
        else work_in_words(change.ratio.value)
    )


def in_words(change: Change) -> str:
    """Return a change as a sentence, with its subject and the subject before it."""
    return (
        f"{name_series(change.key)}: {amount(change)}, "
        f"{with_interval(change.ratio, decimals=3)}, "
        f"with {change.subject.title} after {change.before.name}"
    )


def with_fate(change: Change) -> str:
    """Return a change as a sentence, with its state."""
    words = f"{in_words(change)}; {FATES[change.fate]}"
    if change.acknowledged is not None:
        words += f" on {change.acknowledged}"
    if change.gone is not None:
        words += f" since night {change.gone}"
    return f"{words}: {change.note}" if change.note else words


def report_night(night: Night, judgement: Judgement) -> list[str]:
    """Return the outcome of a night as lines."""
    subject = night.plan.subject.title
    if night.failed is not None:
        return [f"{subject} could not be measured: {night.failed}"]
    lines = [*night.failures]
    for heading, changes in (
        ("new alarm", judgement.raised),
        ("same subject", judgement.joined),
        ("improved", judgement.faster),
        ("gone", judgement.gone),
    ):
        lines += [f"{heading}: {in_words(change)}" for change in changes]
        lines += [f"  find it with: {command}" for command in _commands(changes, heading)]
    tests = len({(each.test, each.clients) for each in night.measured})
    if len(lines) == len(night.failures):
        lines.append(f"{subject}: no change in {counted(tests, 'test')}")
    return lines


def _commands(changes: Sequence[Change], heading: str) -> list[str]:
    """Return the commands that find the causes of new alarms."""
    if heading not in ("new alarm", "same subject"):
        return []
    return list(dict.fromkeys(change.bisect for change in changes if change.bisect))


def in_doubt(state: State) -> list[str]:
    """Return a line about series that may have changed, if any."""
    if not state.doubts:
        return []
    names = listing([*state.doubts][:4])
    more = len(state.doubts) - 4
    return [f"in doubt: {names}{f' and {more} more' if more > 0 else ''}; no alarm yet"]


def still_there(state: State, but: Sequence[Change] = ()) -> list[str]:
    """Return the open alarms as sentences, except for those in `but`."""
    excluded = {change.number for change in but}
    return [with_fate(change) for change in state.alarms if change.number not in excluded]


def payload(
    name: str, delivery: Delivery, state: State, nights: Sequence[Night]
) -> Mapping[str, Any]:
    """Return the JSON of an event for hooks."""
    changes = [change for change in state.changes if change.number in delivery.changes]
    night = next(night for night in nights if night.number == delivery.night)
    verb = "got slower" if delivery.event is Event.REGRESSION else "came back"
    tests = listing(list(dict.fromkeys(change.test for change in changes)))
    return {
        "schema": PAYLOAD_SCHEMA,
        "event": delivery.event,
        "id": f"{name}-{delivery.night}-{delivery.event}",
        "watch": name,
        "night": delivery.night,
        "date": night.plan.date,
        "text": "\n".join([f"{name}: {tests} {verb}", *map(in_words, changes)]),
        "changes": [_as_data(change) for change in changes],
    }


def _as_data(change: Change) -> Mapping[str, Any]:
    return {
        "number": change.number,
        "test": change.test,
        "clients": change.clients,
        "metric": change.metric,
        **PLAIN.named(change.ratio),
        "before": change.before.contender,
        "subject": change.subject.contender,
        "title": change.subject.title,
        "first_night": change.night,
        "found_night": change.found,
        "gone_night": change.gone,
        "bisect": change.bisect or None,
    }
