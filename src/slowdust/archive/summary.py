"""What an import says at its end: plain lines."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from slowdust.archive.file_counts import by_products, counts_of
from slowdust.archive.importing import Import
from slowdust.archive.sysbench.experiment import ArchivedExperiment
from slowdust.formats.text import readable
from slowdust.store.manifest import Fate, SkippedFile
from slowdust.wording import counted

MOST_ALIKE = 20
"""Skipped files of one reason that each get a line; `slowdust show` has all."""


def lines_of(found: Import) -> Iterator[str]:
    """Experiments, files that were used and skipped, and where clean numbers are others."""
    alike = Counter(_unnumbered(one.manifest.experiment) for one in found.experiments)
    for experiment in found.experiments:
        headline, *others = _of_experiment(experiment)
        yield headline
        imported = experiment.manifest.imported
        if imported and alike[_unnumbered(experiment.manifest.experiment)] > 1:
            yield f"  of {imported.path}"
        yield from others
    if found.by_products or found.problems:
        yield "outside of these experiments"
        for line in by_products(found.by_products):
            yield f"  {line}"
        problems = found.problems
        yield from _skipped(
            [SkippedFile(file=_short(p.path), reason=p.reason, fate=p.fate) for p in problems]
        )
    if not found.experiments:
        yield "nothing was found that an experiment could be made of"


def _unnumbered(name: str) -> str:
    """What experiments of directories of one name have in common."""
    return re.sub(r"-\d+$", "", name)


def _of_experiment(experiment: ArchivedExperiment) -> Iterator[str]:
    manifest = experiment.manifest
    imported = manifest.imported
    assert imported is not None
    yield (
        f"{manifest.experiment}: {counted(len(manifest.contenders), 'contender')}, "
        f"{counted(len(manifest.tests), 'test')}, {counted(len(experiment.slices), 'result')}, "
        f"{imported.mode}; the base is {manifest.base}"
    )
    for line in counts_of(imported):
        yield f"  {line}"
    for note in (*experiment.notes, *imported.differences):
        yield f"  {note}"
    yield from _skipped(imported.skipped)


def _skipped(files: Sequence[SkippedFile]) -> Iterator[str]:
    """A line for each, but of many with the same reason only the first."""
    told: Counter[tuple[Fate, str]] = Counter()
    for one in files:
        alike = (one.fate, "" if one.fate is Fate.DIFFERS else one.reason)
        told[alike] += 1
        if told[alike] <= MOST_ALIKE:
            yield f"  {one.fate}: {one.file}: {one.reason}"
    for (fate, reason), count in told.items():
        if count > MOST_ALIKE:
            yield f"  {fate}: {count - MOST_ALIKE:,} more" + (f": {reason}" if reason else "")


def _short(path: Path) -> str:
    """Relative to where the user is, if it is below."""
    relative = os.path.relpath(path)
    return readable(str(path) if relative.startswith("..") else relative)
