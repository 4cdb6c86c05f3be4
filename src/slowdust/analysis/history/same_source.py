"""Archived runs that were imported several times are evidence once."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.history.chaining import Experiment
from slowdust.wording import listing


def once(experiments: Sequence[Experiment]) -> tuple[list[Experiment], list[str]]:
    """Those that are not another import of the same directory; a sentence on each directory.

    `experiments` are in the order in which they were stored, the last one first. Of the imports of
    a directory it counts, unless another has more runs or tests; and then both, if it has others.
    """
    kept: list[Experiment] = []
    same: dict[str, list[str]] = {}
    for experiment in sorted(experiments, key=_size, reverse=True):
        counts = next((other for other in kept if _has_all_of(other, experiment)), None)
        if counts is None:
            kept.append(experiment)
        else:
            same.setdefault(counts.name, []).append(experiment.name)
    notes = [
        f"Left out, because {counts}, imported from the same directory, has all of it: "
        f"{listing(names)}."
        for counts, names in same.items()
    ]
    return kept, notes


def _size(experiment: Experiment) -> tuple[int, int]:
    return len(_runs(experiment)), len(experiment.manifest.tests)


def _has_all_of(experiment: Experiment, other: Experiment) -> bool:
    """Whether both are of the same files, and the other one of no more."""
    ours, theirs = experiment.manifest.imported, other.manifest.imported
    if ours is None or theirs is None or theirs.path is None:
        return False
    if (ours.kind, ours.path) != (theirs.kind, theirs.path):
        return False
    tests = set(experiment.manifest.tests)
    return _runs(other) <= _runs(experiment) and tests.issuperset(other.manifest.tests)


def _runs(experiment: Experiment) -> set[str]:
    return {one.archived or one.name for one in experiment.manifest.contenders}
