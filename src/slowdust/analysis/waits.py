"""Waits of each contender in each step, per operation and compared with the base, with sentences.

A difference is reported only if its interval excludes 0. Shares are of kinds of waits, not of
single events; the event with most of a kind is named with it. If the server reports less than half
of the time, the system call with most sleep of its threads is named as well. The time in the queue
for a CPU is reported separately: a wait reported by the server lasts until the session runs again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowdust.analysis.model import ContenderWaits, Difference, SessionStates, SyncCost, WaitCost
from slowdust.stats.blocks import Step
from slowdust.stats.location import Location, trimmed_mean
from slowdust.store.waits import NOT_SEEN, SessionTime, WaitKind, WaitWindow
from slowdust.units import Microsecond, known
from slowdust.wording import listing, share

CONFIDENCE = 0.99
"""Higher than elsewhere, because there are many events to test."""
_FEWEST = 3
MOST_EVENTS = 10
"""Number of events that are listed by name."""
LEAST_SHARE = 0.001
"""Smallest share of an operation's time for an event to be listed by name."""
_US_PER_S = 1e6
_RUNNING = "running"


class Moment(NamedTuple):
    """The number of a window, shared by neighbouring windows of all contenders."""

    incarnation: int
    repeat: int


def difference(
    base: Mapping[Moment, float], contender: Mapping[Moment, float]
) -> Difference | None:
    """Return the typical difference over the windows that both have; None with fewer than three.

    It is the contender's trimmed mean less the base's, so that amounts and their change agree. The
    interval is for dependent samples, from the winsorized values of the same windows (Yuen 1974,
    Biometrika 61; Wilcox 2012, Introduction to Robust Estimation, section 5.9.5). It includes the
    scatter of the windows and sampling error, but not the effect of another start of the servers.
    """
    # Not scipy.stats, whose import takes half a second.
    from scipy.special import stdtrit

    both = sorted(base.keys() & contender.keys())
    if len(both) < _FEWEST:
        return None
    first, second = (_located(values[each] for each in both) for values in (base, contender))
    change = Location(second.mean - first.mean, second.size, second.influence - first.influence)
    free = change.size - 1
    error = math.sqrt(change.squares / (change.size * free))
    reach = float(stdtrit(free, (1 + CONFIDENCE) / 2)) * error
    return Difference(
        base=first.mean,
        change=change.mean,
        low=change.mean - reach,
        high=change.mean + reach,
    )


def typical(values: Iterable[float]) -> float:
    """Return the trimmed mean over windows, which a single stall does not move."""
    return _located(values).mean


def _located(values: Iterable[float]) -> Location:
    return trimmed_mean(np.array([[value] for value in values]))


_Windows = Mapping[Moment, WaitWindow]


def waits_of(
    windows: Sequence[WaitWindow], base: str, contenders: Sequence[str]
) -> list[ContenderWaits]:
    """Return the waits of every observed contender, by step, then as in `contenders`."""
    steps: dict[Step, dict[str, dict[Moment, WaitWindow]]] = {}
    for window in windows:
        place = window.place
        if window.operations:
            by_contender = steps.setdefault(Step.of(place), {})
            moment = Moment(place.incarnation, place.repeat)
            by_contender.setdefault(place.contender, {})[moment] = window
    return [
        _contender_waits(step, name, own, by_contender.get(base) if name != base else None)
        for step, by_contender in steps.items()
        for name in contenders
        if (own := by_contender.get(name)) is not None
    ]


def _contender_waits(
    step: Step, contender: str, own: _Windows, base: _Windows | None
) -> ContenderWaits:
    first = next(iter(own.values()))
    alike = base is not None and all(each.sources == first.sources for each in base.values())
    compared = base if alike else None
    costs = _event_costs(own, compared)
    time = _typical(own, time_us)
    listed = [cost for cost in costs[:MOST_EVENTS] if _most_us(cost) >= LEAST_SHARE * time]
    others = costs[len(listed) :]
    kinds, kind_differences = _kinds(own, compared)
    waits = ContenderWaits(
        benchmark=step.benchmark,
        test=step.test,
        clients=step.clients,
        contender=contender,
        windows=len(own),
        time_us=time,
        time_beside=_difference(own, base, time_us),
        sources=first.sources,
        samples=sum(known(each.samples for each in own.values())) or None,
        kinds=kinds,
        kinds_beside=kind_differences,
        waits=listed,
        others=len(others),
        others_us=sum(cost.us for cost in others),
        blockers=_blockers(own),
        syncs=_syncs(own, base),
        sessions=_sessions(own, base),
    )
    waits.words = describe(waits)
    waits.words_of_change = describe_change(waits)
    return waits


def time_us(window: WaitWindow) -> Microsecond:
    return _US_PER_S * window.place.clients * window.seconds / window.operations


def _typical(windows: _Windows, value: Callable[[WaitWindow], float]) -> float:
    return typical(value(window) for window in windows.values())


def _difference(
    own: _Windows, base: _Windows | None, value: Callable[[WaitWindow], float]
) -> Difference | None:
    if base is None:
        return None
    return difference(*({m: value(w) for m, w in windows.items()} for windows in (base, own)))


def _kinds_of_events(own: _Windows, base: _Windows | None) -> dict[str, WaitKind]:
    """Return event -> kind of the waits of both, excluding waits for the client."""
    return {
        wait.event: wait.kind
        for windows in (base or {}, own)
        for window in windows.values()
        for wait in window.waits
        if wait.kind != "client"
    }


def _event_costs(own: _Windows, base: _Windows | None) -> list[WaitCost]:
    """Return the costs of the events of both, without the client's, the largest time first."""
    costs = []
    for event, kind in _kinds_of_events(own, base).items():

        def us(window: WaitWindow, event: str = event) -> float:
            return sum(w.us for w in window.waits if w.event == event) / window.operations

        costs.append(
            WaitCost(
                event=event,
                kind=kind,
                us=_typical(own, us),
                times=_times(own, event),
                beside=_difference(own, base, us) if _both_know(own, base, event) else None,
            )
        )
    return sorted(costs, key=_most_us, reverse=True)


def _both_know(own: _Windows, base: _Windows | None, event: str) -> bool:
    """Return whether both servers report an event; if one does not, 0 means 'not measured'."""
    for windows in (own, base or {}):
        known_events = {name for window in windows.values() for name in window.known}
        if known_events and event not in known_events:
            return False
    return True


def _most_us(cost: WaitCost) -> Microsecond:
    return max(cost.us, cost.beside.base if cost.beside else 0.0)


def _times(own: _Windows, event: str) -> float | None:
    """Return the number of waits for an event per operation; None if waits were sampled."""
    counted = [
        [wait.times for wait in window.waits if wait.event == event and wait.times is not None]
        for window in own.values()
    ]
    if not any(counted):
        return None
    windows = zip(counted, own.values(), strict=True)
    return typical(sum(times) / window.operations for times, window in windows)


def _kinds(
    own: _Windows, base: _Windows | None
) -> tuple[dict[WaitKind, Microsecond], dict[WaitKind, Difference]]:
    events = _kinds_of_events(own, base)
    times: dict[WaitKind, Microsecond] = {}
    differences: dict[WaitKind, Difference] = {}
    for kind in sorted(set(events.values())):

        def us(window: WaitWindow, kind: WaitKind = kind) -> float:
            return sum(w.us for w in window.waits if w.kind == kind) / window.operations

        times[kind] = _typical(own, us)
        if not all(_both_know(own, base, event) for event, each in events.items() if each == kind):
            continue
        if (compared := _difference(own, base, us)) is not None:
            differences[kind] = compared
    return dict(sorted(times.items(), key=lambda item: -item[1])), differences


def _blockers(own: _Windows) -> dict[str, float]:
    samples: Counter[str] = Counter()
    for window in own.values():
        samples.update(window.blockers)
    return {event: number / samples.total() for event, number in samples.most_common()}


def _syncs(own: _Windows, base: _Windows | None) -> SyncCost | None:
    if any(window.syncs is None for window in own.values()):
        return None
    timed = None if base is None or any(w.syncs is None for w in base.values()) else base
    calls: Counter[str] = Counter()
    for window in own.values():
        calls.update({call: each.calls for call, each in (window.syncs or {}).items()})
    times = _us_of_a_sync(own)
    return SyncCost(
        per_operation=_typical(own, _syncs_per_operation),
        us=typical(times.values()) if times else None,
        calls=[call for call, _ in calls.most_common()],
        per_operation_beside=_difference(own, timed, _syncs_per_operation),
        us_beside=None if timed is None else difference(_us_of_a_sync(timed), times),
    )


def _syncs_per_operation(window: WaitWindow) -> float:
    return sum(each.calls for each in (window.syncs or {}).values()) / window.operations


def _us_of_a_sync(windows: _Windows) -> dict[Moment, float]:
    return {
        moment: sum(each.us for each in syncs.values()) / calls
        for moment, window in windows.items()
        if (syncs := window.syncs) and (calls := sum(each.calls for each in syncs.values()))
    }


def _sessions(own: _Windows, base: _Windows | None) -> SessionStates | None:
    seen = {moment: window for moment, window in own.items() if window.sessions is not None}
    if not seen:
        return None
    before = {m: w for m, w in (base or {}).items() if w.sessions is not None}
    calls = Counter[str]()
    for each in known(window.sessions for window in seen.values()):
        calls.update(each.states)
    run, queue = _kernel_times(seen, _run_us), _kernel_times(seen, _queue_us)
    asleep: dict[str, Microsecond] = {}
    differences: dict[str, Difference] = {}
    for call in (state for state, _ in calls.most_common() if state != _RUNNING):

        def us(window: WaitWindow, call: str = call) -> float:
            return _asleep_us(window, call)

        asleep[call] = _typical(seen, us)
        if (compared := _difference(seen, before or None, us)) is not None:
            differences[call] = compared
    return SessionStates(
        run_us=typical(run.values()) if run else None,
        queue_us=typical(queue.values()) if queue else None,
        queue_beside=difference(_kernel_times(before, _queue_us), queue),
        asleep_us=asleep,
        asleep_beside=differences,
    )


def _run_us(sessions: SessionTime) -> Microsecond | None:
    return sessions.run_us


def _queue_us(sessions: SessionTime) -> Microsecond | None:
    return sessions.queue_us


def _kernel_times(
    windows: _Windows, time: Callable[[SessionTime], Microsecond | None]
) -> dict[Moment, Microsecond]:
    return {
        moment: us / window.operations
        for moment, window in windows.items()
        if window.sessions is not None and (us := time(window.sessions)) is not None
    }


def _asleep_us(window: WaitWindow, call: str) -> Microsecond:
    """Return the time per operation asleep in a system call, from its share of the samples."""
    sessions = window.sessions
    if sessions is None or not sessions.samples:
        return 0.0
    return time_us(window) * sessions.states.get(call, 0) / sessions.samples


_NAMED_SHARE = 0.1
"""Smallest share of an operation's time, or of its change, for a kind of waits to be named."""
_MOST_OF_A_KIND = 0.5
_WHOLE = 1.05
"""Largest sum of shares that can be parts of one whole, allowing for sampling error."""
_MOST_OF_TIME = 0.5
"""Share of an operation's time; if the server reports less, the kernel's view is added."""
_FOR_CLIENT = frozenset(
    ("epoll_wait", "epoll_pwait", "poll", "ppoll", "read", "recvfrom", "recvmsg", "select")
)
"""System calls that a session may use to wait for its client."""
FEWEST_SYNCS = 0.01
"""Fewest fsync calls per operation for reporting their time: rarer ones are from the background."""
_LEAST_CHANGE_OF_SYNC = 1.1
"""Smallest ratio of the times of one fsync that is reported as a change."""
_CONTAINED = "Waits reported by the server include the time until the session gets a CPU again."
_KINDS: Mapping[WaitKind, str] = {
    "lock": "locks",
    "latch": "latches",
    "io": "files",
    "sync": "the disk",
    "commit": "commits",
    "client": "the client",
    "other": "other events",
}


def describe(waits: ContenderWaits) -> str:
    """Return 'Of the 850 µs per operation, 76% is waiting for locks (Lock/transactionid).'."""
    shares = {kind: us / waits.time_us for kind, us in waits.kinds.items()}
    parts = [
        f"{share(part)} is waiting for {_words(waits, kind)}{_main_event(waits, kind)}"
        for kind, part in _not_contained(shares)
    ]
    if waits.sessions is not None and sum(shares.values()) < _MOST_OF_TIME:
        parts += _asleep(waits, waits.sessions)
    time = f"the {_time(waits.time_us)} per operation"
    sentences = [f"Of {time}, {listing(parts)}."] if parts else []
    sentences += [
        *_sentence_about_blockers(waits),
        *_of_sessions(waits, "that time" if parts else time),
    ]
    return " ".join(sentences)


def describe_change(waits: ContenderWaits) -> str:
    """Return the changes, to follow a comma; empty without a significant difference."""
    clauses = []
    whole = waits.time_beside
    if whole is not None and whole.is_certain:
        shares = {
            kind: difference.change / whole.change
            for kind, difference in waits.kinds_beside.items()
            if difference.is_certain
        }
        named = _not_contained(shares)
        parts = [
            f"{_share_of_change(part)} is waiting for {_words(waits, kind)}"
            f"{_main_change(waits, kind)}"
            for kind, part in named
        ]
        if sum(part for _, part in named) < _MOST_OF_TIME and waits.sessions is not None:
            parts += _change_asleep(waits.sessions, whole)
        in_queue = _change_in_queue(waits.sessions, whole) if waits.sessions is not None else []
        parts += in_queue
        if parts:
            more = "more" if whole.change > 0 else "less"
            time = _time(abs(whole.change))
            clauses.append(f"of {time} {more} during observation, {listing(parts)}")
            if named and in_queue:
                clauses.append("which reported waits may include")
    if waits.syncs is not None and (changed := _sync_change(waits.syncs)):
        clauses.append(changed)
    return ", ".join(clauses)


def _not_contained(shares: Mapping[WaitKind, float]) -> list[tuple[WaitKind, float]]:
    """Return the kinds that are named, the largest share first.

    A kind that would raise the sum of shares above the whole is contained in another kind, as the
    writes of a binlog are in a commit.
    """
    named: list[tuple[WaitKind, float]] = []
    for kind, part in sorted(shares.items(), key=lambda item: -item[1]):
        if part >= _NAMED_SHARE and (not named or part + sum(p for _, p in named) <= _WHOLE):
            named.append((kind, part))
    return named


def _words(waits: ContenderWaits, kind: WaitKind) -> str:
    """Return the words for a kind; the Performance Schema includes fsync in a file's waits."""
    if kind == "io" and "performance_schema" in waits.sources:
        return "files, fsync included"
    return _KINDS[kind]


def _main_event(waits: ContenderWaits, kind: WaitKind) -> str:
    """Return ' (Lock/transactionid)' if one event is most of its kind."""
    times = {cost.event: cost.us for cost in waits.waits if cost.kind == kind}
    return _most(times, waits.kinds[kind])


def _main_change(waits: ContenderWaits, kind: WaitKind) -> str:
    changes = {
        cost.event: cost.beside.change
        for cost in waits.waits
        if cost.kind == kind and cost.beside is not None and cost.beside.is_certain
    }
    return _most(changes, waits.kinds_beside[kind].change)


def _most(parts: Mapping[str, float], whole: float) -> str:
    named = [event for event, part in parts.items() if whole and part / whole >= _MOST_OF_A_KIND]
    return f" ({named[0]})" if named else ""


def _asleep(waits: ContenderWaits, sessions: SessionStates) -> list[str]:
    """Return '80% is sleep in futex', for a call that does not wait for the client."""
    calls = ((call, us) for call, us in sessions.asleep_us.items() if call not in _FOR_CLIENT)
    call, us = next(calls, ("", 0.0))
    if us < _NAMED_SHARE * waits.time_us:
        return []
    return [f"{share(us / waits.time_us)} is sleep in {call}"]


def _change_asleep(sessions: SessionStates, whole: Difference) -> list[str]:
    """Return '90% is sleep in pread64', for the call with most of a change of the time."""
    parts = [
        (difference.change / whole.change, call)
        for call, difference in sessions.asleep_beside.items()
        if difference.is_certain and call not in _FOR_CLIENT
    ]
    part, call = max(parts, default=(0.0, ""))
    return [f"{_share_of_change(part)} is sleep in {call}"] if part >= _NAMED_SHARE else []


def _change_in_queue(sessions: SessionStates, whole: Difference) -> list[str]:
    """Return '40% is waiting for a CPU used by others'; empty if it is little or unsure."""
    queue = sessions.queue_beside
    if queue is None or not queue.is_certain or queue.change / whole.change < _NAMED_SHARE:
        return []
    part = _share_of_change(queue.change / whole.change)
    return [f"{part} is waiting for a CPU used by others"]


def _of_sessions(waits: ContenderWaits, time: str) -> list[str]:
    """Return a sentence on what sessions do when they do not sleep; empty if it is little.

    `time` has the words for the time of an operation.
    """
    if (sessions := waits.sessions) is None:
        return []
    queue = "queue for a CPU for"
    shares = {
        words: us / waits.time_us
        for words, us in (("run for", sessions.run_us), (queue, sessions.queue_us))
        if us is not None and us >= _NAMED_SHARE * waits.time_us
    }
    if not shares:
        return []
    parts = [f"{words} {share(part)}" for words, part in shares.items()]
    sentences = [f"According to the kernel, its sessions {listing(parts)} of {time}."]
    if queue in shares and max(waits.kinds.values(), default=0.0) >= _NAMED_SHARE * waits.time_us:
        sentences.append(_CONTAINED)
    return sentences


def _share_of_change(part: float) -> str:
    """Return '94%'; 'all of it' if waits grew by as much or more, through sampling errors."""
    return f"{part:.0%}" if part < 1 else "all of it"


def _sentence_about_blockers(waits: ContenderWaits) -> list[str]:
    """Return a sentence on the sessions that block others; empty without waits for locks."""
    if not waits.blockers or waits.kinds.get("lock", 0.0) < _NAMED_SHARE * waits.time_us:
        return []
    event, part = next(iter(waits.blockers.items()))
    doing = {
        "running": "was running",
        NOT_SEEN: "was not sampled",
    }.get(event, f"waited for {event}")
    return [
        f"For {part:.0%} of the sessions sampled while waiting for a lock, the session at the head "
        f"of the queue {doing}."
    ]


def _sync_change(syncs: SyncCost) -> str:
    """Return 'one fdatasync takes 2.1 ms, 0.11 ms on the base'; empty without a change."""
    difference = syncs.us_beside
    if syncs.us is None or difference is None or not _has_changed(difference):
        return ""
    if syncs.per_operation < FEWEST_SYNCS:
        return ""
    name = syncs.calls[0] if len(syncs.calls) == 1 else "fsync"
    return f"one {name} takes {_time(syncs.us)}, {_time(difference.base)} on the base"


def _has_changed(difference: Difference) -> bool:
    if not difference.is_certain or difference.base <= 0:
        return False
    ratio = (difference.base + difference.change) / difference.base
    return not 1 / _LEAST_CHANGE_OF_SYNC < ratio < _LEAST_CHANGE_OF_SYNC


def _time(us: Microsecond) -> str:
    """Return a time with two or three digits: '850 µs', '2.1 ms'."""
    if us >= 1000:
        return f"{us / 1000:,.1f} ms"
    return f"{us:,.0f} µs" if us >= 10 else f"{us:.1f} µs"
