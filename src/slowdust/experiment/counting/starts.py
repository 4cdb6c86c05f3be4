"""The starts of servers that are counted, and the steps of each."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.results.failures import fails, failures_of
from slowdust.analysis.work import counts_by_step, undecided_steps
from slowdust.benchmarks.model import Test
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.store.slice import Slice
from slowdust.units import Second

STARTS = 2
"""Starts of each server: what memory it gets, and where, moves instructions a little, too."""
MOST_STARTS = 5
"""Starts for steps that fewer do not decide."""
PATIENCE: Second = 120.0
"""Time in which starts beyond the first ones begin; as much as those took, if that is longer."""


def counted_steps(spec: Spec) -> list[PlannedStep]:
    """Return the steps that are counted, with one client.

    Those that use up rows come last, so that all others see the same number of rows.
    """
    sequence = spec.configured_benchmark().sequence(spec.chosen_tests(), [1])
    steps = [PlannedStep(test, clients) for test, clients in sequence if is_counted(test, clients)]
    return sorted(steps, key=lambda step: step.test.consumes)


def is_counted(test: Test, clients: int) -> bool:
    """Return whether a test can be counted: one client has one session, and works alone."""
    return test.countable and not test.reconnects and clients == 1 and test.beside is None


def failing_tests(journal: Journal) -> set[tuple[str, str]]:
    """Return contender and test of which so many timed operations failed that work says nothing.

    One client, which counting has, may succeed where some of many fail.
    """
    failing = set()
    for step in journal.steps:
        by_contender: dict[str, list[Slice]] = defaultdict(list)
        for record in step.slices:
            by_contender[record.place.contender].append(record)
        for contender, slices in by_contender.items():
            failures = failures_of(slices)
            if failures and (failures.wholly or (step.clients == 1 and fails(failures))):
                failing.add((contender, step.test.name))
    return failing


def planned_starts(
    steps: Sequence[PlannedStep],
    journal: Journal,
    contenders: Contenders,
    left: Callable[[], Second],
) -> Iterator[tuple[int, list[PlannedStep]]]:
    """Yield the number of each start and its steps: all at first, then those still undecided.

    Those begin only where `left`, the rest of the time for counting, is as long as one start took.
    """
    begun = time.monotonic()
    for number in range(1, STARTS + 1):
        yield number, list(steps)
    now = time.monotonic()
    deadline = now + max(PATIENCE, now - begun)
    for number in range(STARTS + 1, MOST_STARTS + 1):
        names = [contender.name for contender in contenders.running()]
        undecided = undecided_steps(
            counts_by_step(journal.counts), names, journal.manifest.workload
        )
        again = [step for step in steps if _step(step) in undecided]
        if not again or time.monotonic() > deadline or left() < (now - begun) / STARTS:
            return
        yield number, again


def _step(step: PlannedStep) -> Step:
    return Step(step.test.benchmark, step.test.name, step.clients)
