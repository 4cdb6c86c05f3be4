"""Costs per operation from the records of counted runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowdust.analysis.comparison.relative import Step
from slowdust.store.count import INSTRUCTIONS, Count, Events


def step_of(count: Count) -> Step:
    """Return the step that a count belongs to."""
    return Step(count.place.benchmark, count.place.test, count.place.clients)


def instructions_per_operation(count: Count) -> float | None:
    """Return the instructions per operation; None where a count has no positive number of them."""
    instructions, operations = count.run.own.get(INSTRUCTIONS, 0), count.run.operations
    return instructions / operations if instructions > 0 and operations > 0 else None


def events_per_operation(counts: Iterable[Count]) -> dict[str, float]:
    """Return the own events of all counts over their operations, of the events that all have."""
    return _quotients([(count.run.own, count.run.operations) for count in counts])


def background_per_operation(counts: Iterable[Count]) -> dict[str, float]:
    """Return the events of the background of all counts over their operations, as above."""
    return _quotients([(count.run.background, count.run.operations) for count in counts])


def _quotients(parts: Sequence[tuple[Events, int]]) -> dict[str, float]:
    operations = sum(amount for _, amount in parts)
    shared = (
        [name for name in parts[0][0] if all(name in events for events, _ in parts)]
        if parts
        else []
    )
    return {name: sum(events[name] for events, _ in parts) / operations for name in shared}
