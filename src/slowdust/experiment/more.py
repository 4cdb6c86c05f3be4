"""How an experiment goes on that was finished: with more time, for all of its tests or a few."""

from __future__ import annotations

from collections.abc import Collection

from slowdust.errors import UsageError
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.spec import Spec
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.units import Second

_PER_START: Second = 10.0
"""Measuring time that a start of the servers is worth at least: loading takes about as long."""


def spec_with_more(
    spec: Spec,
    manifest: Manifest,
    slices: Collection[Slice],
    tests: Collection[str],
    extra: Second,
) -> Spec:
    """Return the specification of an experiment that measures `tests` on, for `extra` seconds more.

    Of slices, a start of the servers has turns about as long as those before, so that the time is
    spread over as many starts as the tests had for it, each with at least `_PER_START`.

    Raises:
        UsageError: there is none of these tests in it.
    """
    method, spent, planned = manifest.method, manifest.spent_s, 0
    if manifest.finished is None:  # what was planned is still to be done
        spent, planned = max(spent, method.budget_s or 0.0), method.incarnations
    names = {test.name for test in spec.chosen_tests()}
    if unknown := sorted(set(tests) - names):
        raise UsageError(f"'{unknown[0]}' is none of the tests of '{spec.name}'")
    changes: dict[str, object] = {"only": sorted(tests)}
    if extra or spec.budget_of_steps is not None or method.steps is None:
        changes["budget"] = spent + extra
    if method.steps is None:
        starts, length = _turns(spec, manifest, slices, tests)
        more = max(1, round(extra / max(length, _PER_START))) if extra else 0
        changes["incarnations"] = max(starts, planned) + more
    return spec.model_copy(update=changes)


def spec_to_count(spec: Spec, manifest: Manifest, budget: Second) -> Spec:
    """Return the specification of an experiment that is measured no further, and counted on.

    One that was stopped is measured to its end first.
    """
    changes: dict[str, object] = {"count_budget": budget}
    if manifest.finished is not None:
        changes["incarnations"] = max(1, min(manifest.turns_done.values(), default=1))
        if manifest.method.steps is None:
            changes["budget"] = manifest.spent_s
    return spec.model_copy(update=changes)


def _turns(
    spec: Spec, manifest: Manifest, slices: Collection[Slice], tests: Collection[str]
) -> tuple[int, Second]:
    """Return the most turns that any of the tests has had, and how long one of each took."""
    most, together = 0, 0.0
    for step in plan(spec):
        if step.test.name not in tests:
            continue
        step.slices = [
            record
            for record in slices
            if (record.place.test, record.place.clients) == (step.test.name, step.clients)
        ]
        turns = manifest.turns_done.get(step.key, 0)
        most = max(most, turns)
        together += step.wall_clock(spec.discard) / max(1, turns)
    return most, together
