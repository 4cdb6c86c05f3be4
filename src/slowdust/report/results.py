"""The results of a report, arranged for its tables."""

from __future__ import annotations

from collections.abc import Iterable

from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.model import Result


def by_step(results: Iterable[Result]) -> dict[Step, dict[str, Result]]:
    """Return step -> contender -> result, in the order of `results`."""
    steps: dict[Step, dict[str, Result]] = {}
    for result in results:
        step = Step(result.benchmark, result.test, result.clients)
        steps.setdefault(step, {})[result.contender] = result
    return steps
