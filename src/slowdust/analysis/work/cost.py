"""Costs per operation from the records of counted runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from slowdust.analysis.comparison.relative import Step
from slowdust.store.count import INSTRUCTIONS, Count, Events


def step_of(count: Count) -> Step:
    """Return the step that a count belongs to."""
    return Step(count.place.benchmark, count.place.test, count.place.clients)


def place_of(step: Step, timed: Iterable[Step]) -> Step | None:
    """Return the timed step that the counts of `step` belong to; None if its test was not timed.

    Counts of a number of clients that was not timed belong to the fewest clients that were.
    """
    levels = {
        each.clients for each in timed if (each.benchmark, each.test) == (step.benchmark, step.test)
    }
    if not levels:
        return None
    return step if step.clients in levels else step._replace(clients=min(levels))


def instructions_per_operation(count: Count) -> float | None:
    """Return the instructions per operation; None where a count has no positive number of them."""
    instructions, operations = count.run.own.get(INSTRUCTIONS, 0), count.run.operations
    return instructions / operations if instructions > 0 and operations > 0 else None


def events_per_operation(counts: Iterable[Count]) -> dict[str, float]:
    """Return each own event per operation, of the counts that have it.

    A PMU counts most events in one repeat of an incarnation only.
    """
    return _per_operation((count.run.own, count.run.operations) for count in counts)


def differing_events(base: Sequence[Count], counts: Sequence[Count]) -> list[str]:
    """Return the own events but instructions that differ beyond doubt per operation.

    The gap between both ranges is wider than either range: what an operation does by chance, such
    as reading rows that are not cached, varies from count to count.
    """
    of_base = [events_per_operation([count]) for count in base]
    own = [events_per_operation([count]) for count in counts]
    names = dict.fromkeys(name for events in own for name in events if name != INSTRUCTIONS)
    return [name for name in names if _stand_clear(_range(name, of_base), _range(name, own))]


def _range(name: str, counts: Iterable[Mapping[str, float]]) -> tuple[float, float] | None:
    values = [events[name] for events in counts if name in events]
    return (min(values), max(values)) if values else None


def _stand_clear(one: tuple[float, float] | None, other: tuple[float, float] | None) -> bool:
    if one is None or other is None:
        return False
    gap = max(one[0], other[0]) - min(one[1], other[1])
    return gap > max(one[1] - one[0], other[1] - other[0])


def background_per_operation(counts: Iterable[Count]) -> dict[str, float]:
    """Return each event of the background per operation, as above."""
    return _per_operation((count.run.background, count.run.operations) for count in counts)


def _per_operation(runs: Iterable[tuple[Events, int]]) -> dict[str, float]:
    amounts: Counter[str] = Counter()
    operations: Counter[str] = Counter()
    for events, done in runs:
        for name, amount in events.items():
            amounts[name] += amount
            operations[name] += done
    return {name: amount / operations[name] for name, amount in amounts.items()}
