"""Costs per operation from the records of counted runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowdust.analysis.comparison.relative import Step
from slowdust.store.count import INSTRUCTIONS, Count, CountedRun, Events


def step_of(count: Count) -> Step:
    """Return the step that a count belongs to."""
    return Step(count.place.benchmark, count.place.test, count.place.clients)


def operations_of(count: Count) -> int:
    """Return the number of operations that the costs of a count rest on.

    Of a short and a long run these are what the long one has more; a single run has them all.
    """
    short, long = _ends(count)
    return long.operations - (short.operations if short is not None else 0)


def own_events(count: Count) -> Events:
    """Return the events of those operations in what serves the session.

    Of two runs it is their difference, without what happens once a run. An event that one of the
    runs lacks is absent.
    """
    short, long = _ends(count)
    return _difference(long.own, None if short is None else short.own)


def background_events(count: Count) -> Events:
    """Return the events of those operations in the server's other threads and processes."""
    short, long = _ends(count)
    return _difference(long.background, None if short is None else short.background)


def instructions_per_operation(count: Count) -> float | None:
    """Return the instructions per operation; None where a count has no positive number of them."""
    instructions, operations = own_events(count).get(INSTRUCTIONS, 0), operations_of(count)
    return instructions / operations if instructions > 0 and operations > 0 else None


def events_per_operation(counts: Iterable[Count]) -> dict[str, float]:
    """Return the own events of all counts over their operations, of the events that all have."""
    return _quotients([(own_events(count), operations_of(count)) for count in counts])


def background_per_operation(counts: Iterable[Count]) -> dict[str, float]:
    """Return the events of the background of all counts over their operations, as above."""
    return _quotients([(background_events(count), operations_of(count)) for count in counts])


def _quotients(parts: Sequence[tuple[Events, int]]) -> dict[str, float]:
    operations = sum(amount for _, amount in parts)
    shared = (
        [name for name in parts[0][0] if all(name in events for events, _ in parts)]
        if parts
        else []
    )
    return {name: sum(events[name] for events, _ in parts) / operations for name in shared}


def _ends(count: Count) -> tuple[CountedRun | None, CountedRun]:
    """Return the run with the fewest and that with the most operations; None for a single run."""
    ordered = sorted(count.runs, key=lambda run: run.operations)
    return (ordered[0] if len(ordered) > 1 else None), ordered[-1]


def _difference(long: Events, short: Events | None) -> Events:
    if short is None:
        return long
    return {name: amount - short[name] for name, amount in long.items() if name in short}
