"""The starts of servers that are counted, and the steps of each."""

from __future__ import annotations

from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec

STARTS = 2
"""Starts of each server: what memory it gets, and where, moves instructions a little, too."""


def counted_steps(spec: Spec) -> list[PlannedStep]:
    """Return the steps that are counted, with one client.

    Those that use up rows come last, so that all others see the same number of rows.
    """
    sequence = spec.configured_benchmark().sequence(spec.chosen_tests(), [1])
    steps = [PlannedStep(test, clients) for test, clients in sequence]
    return sorted(steps, key=lambda step: step.test.consumes)
