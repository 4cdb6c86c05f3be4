"""The lines that `slowdust import` prints at its end, and `slowdust show` for an import."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from slowdust.exchange import OF_OTHER_KIND, Import
from slowdust.store.manifest import Fate, Imported, Manifest, SkippedFile
from slowdust.text import beginning, readable
from slowdust.wording import counted

MOST_ALIKE = 3
"""Skipped files with the same reason that each get a line; more files share one line."""
_MOST_DIFFERING = 20
"""Differing files that each get a line; `slowdust show` has all files."""
_MOST_KINDS = 12
"""Kinds of files that one line lists."""


def summary_lines(outcome: Import) -> Iterator[str]:
    """Return the experiments, the files used and skipped, and differences from clean numbers."""
    # A number distinguishes experiments from directories of the same name.
    names = [re.sub(r"-\d+$", "", each.manifest.experiment) for each in outcome.experiments]
    for name, experiment in zip(names, outcome.experiments, strict=True):
        manifest, imported = experiment.manifest, experiment.manifest.imported
        assert imported is not None
        yield (
            f"{manifest.experiment}: {counted(len(manifest.contenders), 'contender')}, "
            f"{counted(len(manifest.tests), 'test')}, {counted(len(experiment.slices), 'result')}, "
            f"{imported.mode}; the base is {manifest.base}"
        )
        if names.count(name) > 1:
            yield f"  of {imported.path}"
        for line in (*_counts_of(imported), *experiment.notes, *imported.differences):
            yield f"  {line}"
        yield from _skipped(imported.skipped)
    if outcome.by_products or outcome.problems:
        yield "outside of these experiments"
        for line in _by_products(outcome.by_products):
            yield f"  {line}"
        skipped = []
        for problem in outcome.problems:
            below = os.path.relpath(problem.path)
            file = readable(str(problem.path) if below.startswith("..") else below)
            skipped.append(SkippedFile(file=file, reason=problem.reason, fate=problem.fate))
        yield from _skipped(skipped)
    if not outcome.experiments:
        yield "no experiment was found"


def import_lines(manifest: Manifest) -> Iterator[str]:
    """Return the archive, all its files and differences; empty for a measured experiment."""
    if (imported := manifest.imported) is None:
        return
    yield f"imported: {imported.kind} from {imported.source}, {imported.mode}"
    yield from _counts_of(imported)
    yield from imported.differences
    for skipped in imported.skipped:
        yield f"{skipped.fate}: {skipped.file}: {skipped.reason}"


def _counts_of(imported: Imported) -> Iterator[str]:
    """Return how many files were used, compared and so on, except those listed separately."""
    yield f"{counted(imported.used, 'file')} used"
    if imported.checked:
        total = counted(sum(imported.checked.values()), "file")
        yield f"{total} compared with their sources: {_listed(imported.checked)}"
    yield from _by_products(imported.by_products)


def _by_products(counts: Mapping[str, int]) -> Iterator[str]:
    others = {kind: count for kind, count in counts.items() if kind.startswith(OF_OTHER_KIND)}
    known = {kind: count for kind, count in counts.items() if kind not in others}
    if known:
        total = counted(sum(known.values()), "file")
        yield f"{total} recognised and not needed: {_listed(known)}"
    for kind, count in others.items():
        yield f"{counted(count, 'file')} {kind}"


def _listed(counts: Mapping[str, int]) -> str:
    """List kinds with their numbers of files; of many kinds the most frequent ones."""
    kinds = [kind for kind, _ in Counter(counts).most_common(_MOST_KINDS)]
    listed = [f"{kind} {counts[kind]}" for kind in counts if kind in kinds]
    others = sum(count for kind, count in counts.items() if kind not in kinds)
    more = [f"{counted(len(counts) - len(kinds), 'other kind')} {others}"] if others else []
    return ", ".join([*listed, *more])


def _skipped(files: Sequence[SkippedFile]) -> Iterator[str]:
    """Return a line for each file, or one for many files with the same reason."""
    differing = [file for file in files if file.fate is Fate.DIFFERS]
    alike: dict[tuple[Fate, str], list[str]] = {}
    for file in files:
        if file.fate is not Fate.DIFFERS:
            alike.setdefault((file.fate, file.reason), []).append(file.file)
    for (fate, reason), names in alike.items():
        if len(names) > MOST_ALIKE:
            yield f"  {fate} {len(names):,} times: {reason}: {beginning(names, MOST_ALIKE)}"
        else:
            yield from (f"  {fate}: {name}: {reason}" for name in names)
    for file in differing[:_MOST_DIFFERING]:
        yield f"  {file.fate}: {file.file}: {file.reason}"
    if len(differing) > _MOST_DIFFERING:
        yield f"  {Fate.DIFFERS}: {len(differing) - _MOST_DIFFERING:,} more"
