"""The waits of each contender in each step, per operation and beside the base's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowdust.analysis.comparison.location import Location, trimmed_mean
from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.model.waits import (
    ContenderWaits,
    Difference,
    SessionStates,
    SyncCost,
    WaitCost,
)
from slowdust.analysis.waits.words import describe, describe_change
from slowdust.store.waits import SessionTime, WaitKind, WaitWindow
from slowdust.units import Microsecond, known

CONFIDENCE = 0.99
"""Higher than elsewhere, since every event is a chance to see a difference that is none."""
_FEWEST = 3
MOST_EVENTS = 10
"""Number of events that are listed by name."""
LEAST_SHARE = 0.001
"""Share of the time of an operation from which an event is listed by name."""
_US_PER_S = 1e6
_RUNNING = "running"


class Moment(NamedTuple):
    """The number of a window, the same for windows of all contenders that are neighbours."""

    incarnation: int
    repeat: int


def difference(
    base: Mapping[Moment, float], contender: Mapping[Moment, float]
) -> Difference | None:
    """Return the typical difference of the windows that both have; None with fewer than three.

    It is the contender's trimmed mean less the base's, so that amounts and their change agree;
    its interval is that of dependent samples, from the winsorized values of the same windows (Yuen
    1974, Biometrika 61; Wilcox 2012, Introduction to Robust Estimation, section 5.9.5). It has the
    scatter of the windows and what sampling adds to it. How far another start of the servers would
    move the difference is not in the interval.
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
    """Return the trimmed mean of windows, which one stall of the machine does not move."""
    return _located(values).mean


def _located(values: Iterable[float]) -> Location:
    return trimmed_mean(np.array([[value] for value in values]))


_Windows = Mapping[Moment, WaitWindow]


def waits_of(
    windows: Sequence[WaitWindow], base: str, contenders: Sequence[str]
) -> list[ContenderWaits]:
    """Return the waits of every contender that was observed, by step, then as in `contenders`."""
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
    kinds, kinds_beside = _kinds(own, compared)
    waits = ContenderWaits(
        benchmark=step.benchmark,
        test=step.test,
        clients=step.clients,
        contender=contender,
        windows=len(own),
        time_us=time,
        time_beside=_beside(own, base, time_us),
        sources=first.sources,
        samples=sum(known(each.samples for each in own.values())) or None,
        kinds=kinds,
        kinds_beside=kinds_beside,
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


def _beside(
    own: _Windows, base: _Windows | None, value: Callable[[WaitWindow], float]
) -> Difference | None:
    if base is None:
        return None
    return difference(*({m: value(w) for m, w in windows.items()} for windows in (base, own)))


def _event_costs(own: _Windows, base: _Windows | None) -> list[WaitCost]:
    """Return the costs of all events of both but the client's, by the larger of the two times."""
    kinds: dict[str, WaitKind] = {
        wait.event: wait.kind
        for windows in (base or {}, own)
        for window in windows.values()
        for wait in window.waits
        if wait.kind != "client"
    }
    costs = []
    for event, kind in kinds.items():

        def us(window: WaitWindow, event: str = event) -> float:
            return sum(w.us for w in window.waits if w.event == event) / window.operations

        costs.append(
            WaitCost(
                event=event,
                kind=kind,
                us=_typical(own, us),
                times=_times(own, event),
                beside=_beside(own, base, us) if _both_know(own, base, event) else None,
            )
        )
    return sorted(costs, key=_most_us, reverse=True)


def _both_know(own: _Windows, base: _Windows | None, event: str) -> bool:
    """Return whether both servers would tell an event; of one that does not, 0 is not measured."""
    for windows in (own, base or {}):
        known_events = {name for window in windows.values() for name in window.known}
        if known_events and event not in known_events:
            return False
    return True


def _most_us(cost: WaitCost) -> Microsecond:
    return max(cost.us, cost.beside.base if cost.beside else 0.0)


def _times(own: _Windows, event: str) -> float | None:
    """Return how often an event was waited for per operation; None where it was sampled."""
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
    kinds = {
        wait.kind
        for windows in (base or {}, own)
        for window in windows.values()
        for wait in window.waits
        if wait.kind != "client"
    }
    times: dict[WaitKind, Microsecond] = {}
    beside: dict[WaitKind, Difference] = {}
    for kind in sorted(kinds):

        def us(window: WaitWindow, kind: WaitKind = kind) -> float:
            return sum(w.us for w in window.waits if w.kind == kind) / window.operations

        times[kind] = _typical(own, us)
        events = {
            wait.event
            for windows in (base or {}, own)
            for window in windows.values()
            for wait in window.waits
            if wait.kind == kind
        }
        if not all(_both_know(own, base, event) for event in events):
            continue
        if (compared := _beside(own, base, us)) is not None:
            beside[kind] = compared
    return dict(sorted(times.items(), key=lambda item: -item[1])), beside


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
        per_operation_beside=_beside(own, timed, _syncs_per_operation),
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
    beside: dict[str, Difference] = {}
    for call in (state for state, _ in calls.most_common() if state != _RUNNING):

        def us(window: WaitWindow, call: str = call) -> float:
            return _asleep_us(window, call)

        asleep[call] = _typical(seen, us)
        if (compared := _beside(seen, before or None, us)) is not None:
            beside[call] = compared
    return SessionStates(
        run_us=typical(run.values()) if run else None,
        queue_us=typical(queue.values()) if queue else None,
        queue_beside=difference(_kernel_times(before, _queue_us), queue),
        asleep_us=asleep,
        asleep_beside=beside,
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
    """Return the time asleep in a system call, of an operation's: its share of the samples."""
    sessions = window.sessions
    if sessions is None or not sessions.samples:
        return 0.0
    return time_us(window) * sessions.states.get(call, 0) / sessions.samples
