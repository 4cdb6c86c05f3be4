"""The steps that imports of all kinds of archives share: naming experiments and storing them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from slowdust.archive.problems import Problem
from slowdust.errors import UsageError
from slowdust.formats.text import readable
from slowdust.store.bounds import MOST_CONTENDERS
from slowdust.store.checking import too_many_contenders
from slowdust.store.folder import Folder, writing
from slowdust.store.keeping.arriving import aside, put_in_place
from slowdust.store.manifest import Imported, Manifest
from slowdust.store.slice import Slice
from slowdust.wording import shortened

MARGIN = 0.03
"""Relative difference that counts as none in an imported experiment."""
_LONGEST_TITLE = 190
"""Characters of a title: with a number behind it, it can be an experiment's name."""
_GENERIC = re.compile(r"dop\d+")
ForeignKind = Callable[[str], str | None]
"""Name of a file -> the by-product that it is, if it belongs to another kind of archive."""


class Mode(StrEnum):
    """The numbers that an import takes from the files."""

    CLEAN = "clean"
    """Numbers without the known errors of the published ones."""
    COMPAT = "compat"
    """The published numbers, to the last digit."""


@dataclass(frozen=True)
class Option:
    """An option that the import of a kind has beside those of all kinds."""

    flag: str
    """The option as it is typed: `--device`."""
    help: str
    values: tuple[str, ...] = ()
    """The possible values; empty where any text or number is possible."""
    least: int | None = None
    """The smallest possible value of an option that is a number."""


@dataclass
class ArchivedExperiment:
    """An experiment for the store, and the notes of the import's summary."""

    manifest: Manifest
    slices: list[Slice]
    notes: list[str] = field(default_factory=list)
    """Sentences about tests whose files are not all there."""


class Candidate(Protocol):
    """A directory, and the files in and below it that may be an experiment."""

    @property
    def title(self) -> str | None:
        """The directory's name for an experiment; None where there is nothing to make one of."""

    @property
    def problems(self) -> Sequence[Problem]:
        """Problems of its files."""

    @property
    def by_products(self) -> Mapping[str, int]:
        """Number of files that are known and not needed, by kind."""

    def experiment(self, name: str) -> ArchivedExperiment | None:
        """Make the experiment; return None where no file has a result."""


@dataclass
class Import:
    """The experiments of an import, and the files outside of them."""

    experiments: list[ArchivedExperiment] = field(default_factory=list)
    by_products: Counter[str] = field(default_factory=Counter)
    """Number of known files outside of all experiments, by kind."""
    problems: list[Problem] = field(default_factory=list)
    """Files outside of all experiments, or of one that has no result."""


def import_candidates(candidates: Sequence[Candidate], results: Path, name: str | None) -> Import:
    """Make an experiment of each directory that has results, and store it.

    An experiment that was imported from the same directory under the same name is replaced.

    Raises:
        UsageError: another experiment has that name, or has more of the same directory.
    """
    outcome = Import()
    experiments: dict[str, ArchivedExperiment] = {}
    places = [candidate.title for candidate in candidates if candidate.title is not None]
    titles = _titles(places, name)
    for candidate in candidates:
        experiment = None
        if candidate.title is not None:
            title = unique_name(next(titles), experiments)
            experiment = candidate.experiment(title)
        if experiment is not None:
            experiments[title] = experiment
        else:
            outcome.problems += candidate.problems
            outcome.by_products.update(candidate.by_products)
    _store(experiments, results)
    outcome.experiments = list(experiments.values())
    return outcome


def name_of(directory: Path, root: Path) -> str:
    """Name an experiment after its directory, and those above it below the one that was given.

    A name such as `dop40` says too little to stand alone or first. Both paths are resolved.
    """
    parts = directory.relative_to(root).parts if root in directory.parents else (directory.name,)
    if is_generic(parts[0]):
        parts = (directory.parents[len(parts) - 1].name, *parts)
    return "-".join(part for part in parts if part) or "archive"


def is_generic(directory: str) -> bool:
    """Return whether the name of a directory says too little to stand alone."""
    return _GENERIC.fullmatch(directory) is not None


def unique_name(title: str, taken: Collection[str]) -> str:
    """Return `title`, with a number behind it if it is taken."""
    copies = [title, *(f"{title}-{copy}" for copy in range(2, len(taken) + 2))]
    return next(copy for copy in copies if copy not in taken)


def _titles(places: Sequence[str], name: str | None) -> Iterator[str]:
    """Name the experiments of directories called `places`; `name` is given by the user."""
    for place in places:
        title = re.sub(r"[^A-Za-z0-9._@+-]+", "-", readable(place)).lstrip("._@+-") or "archive"
        whole = title if name is None else name if len(places) == 1 else f"{name}-{title}"
        yield whole[:_LONGEST_TITLE]


def _store(experiments: Mapping[str, ArchivedExperiment], results: Path) -> None:
    """Write experiments, by name; earlier imports of the same are replaced.

    An earlier import stays as it is until the new one is complete.

    Raises:
        UsageError: an experiment of that name is no import of the same kind and directory, or has
            more of it, or one has too many contenders; then none is written.
        SlowdustError: they cannot be written.
    """
    for title, experiment in experiments.items():
        if (count := len(experiment.manifest.contenders)) > MOST_CONTENDERS:
            raise UsageError(
                f"{too_many_contenders(title, count)}: import its run directories in parts"
            )
        folder = Folder.of(results, title)
        if folder.path.exists():
            _refuse_other(folder, experiment.manifest.imported)
            _refuse_larger(folder, experiment)
    with aside(results) as place:
        for title, experiment in experiments.items():
            with writing(Folder.of(place, title)) as writer:
                writer.write_manifest(experiment.manifest)
                writer.append(*experiment.slices)
        for title in experiments:
            put_in_place(Folder.of(place, title), results)


def _refuse_other(folder: Folder, new: Imported | None) -> None:
    """Keep the content of `folder`, unless it is an earlier import of the same."""
    assert new is not None
    there = folder.read_manifest().imported if folder.is_imported() else None
    if there is None:
        what = "not an import"
    elif (there.kind, there.path or new.path) != (new.kind, new.path):
        what = f"the import of {there.path or there.source} as {there.kind}"
    else:
        return
    raise UsageError(
        f"'{folder.name}' in {folder.path.parent} is {what}, and is not replaced by that of "
        f"{new.path} as {new.kind}: choose another --name"
    )


def _refuse_larger(folder: Folder, new: ArchivedExperiment) -> None:
    """Keep an import that has contenders or tests which some runs of its directory have not."""
    if new.manifest.imported is None or new.manifest.imported.whole:
        return
    there = folder.read_manifest()
    runs = {contender.archived for contender in new.manifest.contenders}
    lost = [contender.name for contender in there.contenders if contender.archived not in runs]
    lost += [test for test in there.tests if test not in new.manifest.tests]
    if lost:
        raise UsageError(
            f"'{folder.name}' in {folder.path.parent} is not replaced by an import of only a part "
            f"of its directory, which has no {shortened(lost)}: choose another --name, or import "
            f"all of {there.imported.path if there.imported else ''}"
        )
