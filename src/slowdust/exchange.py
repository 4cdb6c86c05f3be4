"""Results of other programs: imports them as experiments, and writes files in their formats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from slowdust.analysis.model import Report
from slowdust.errors import UsageError
from slowdust.places import stays_below
from slowdust.store.bounds import MOST_CONTENDERS
from slowdust.store.experiments import check_name, put_in_place, staging_folder
from slowdust.store.folder import Folder, too_many_contenders, writing
from slowdust.store.manifest import Fate, Manifest
from slowdust.store.slice import Slice
from slowdust.store.storage import replace_file
from slowdust.text import readable
from slowdust.wording import shortened

MARGIN = 0.03
"""Largest relative difference that counts as the same in an imported experiment."""
OF_OTHER_KIND = "of the other kind: "
"""Prefix of by-products that the import of another kind reads."""
_LONGEST_TITLE = 190
"""Maximum number of characters of a title, so that a title with a number is still a valid name."""
ForeignKind = Callable[[str], str | None]
"""Name of a file -> its kind of by-product, if it belongs to another kind."""


class Mode(StrEnum):
    """Which numbers an import takes from the files."""

    CLEAN = "clean"
    """Published numbers with known errors corrected."""
    COMPAT = "compat"
    """The published numbers, to the last digit."""


@dataclass(frozen=True)
class Problem:
    """A file with a problem."""

    path: Path
    reason: str
    fate: Fate = Fate.SKIPPED


@dataclass(kw_only=True)
class Files:
    """How the files of a directory were used."""

    used: int = 0
    """Number of files with used content."""
    by_products: Counter[str] = field(default_factory=Counter)
    """Kind -> number of files that are known and not needed."""
    problems: list[Problem] = field(default_factory=list)

    def use(self, path: Path, damage: Sequence[str] = ()) -> None:
        """Count a file that is used, except for the parts that `damage` lists."""
        self.used += 1
        if damage:
            self.problems.append(Problem(path, "; ".join(damage), Fate.PARTLY))

    def skip(self, path: Path, reason: str, fate: Fate = Fate.SKIPPED) -> None:
        self.problems.append(Problem(path, reason, fate))


@dataclass
class ImportedExperiment:
    """An experiment for the store, and the notes of the import's summary."""

    manifest: Manifest
    slices: list[Slice]
    notes: list[str] = field(default_factory=list)
    """Sentences about tests with missing files."""


@dataclass(frozen=True)
class Candidate:
    """A directory whose files may be an experiment."""

    title: str | None
    """The experiment's name, from the directory; None if there are no results."""
    experiment: Callable[[str], ImportedExperiment | None]
    """Makes the experiment with a name; returns None if no file has a result."""
    files: Files
    """The files, if they do not become an experiment."""


class Kind(Protocol):
    """A kind of results: finds its files and the experiments in them, and writes such files."""

    name: str
    """The kind's name on the command line and in manifests."""

    def owns(self, file: str) -> bool:
        """Return whether a file of that name belongs to this kind."""

    def reads(self, file: str) -> bool:
        """Return whether its import may take a result from a file that it owns."""

    def find(
        self, roots: Sequence[Path], mode: Mode, options: Mapping[str, Any], foreign: ForeignKind
    ) -> Sequence[Candidate]:
        """Find the directories below `roots` that may be experiments.

        `options` has a value or None for each of the kind's options.
        """

    def writes(self, slices: Sequence[Slice]) -> bool:
        """Return whether measured slices can be written as files of this kind."""

    def files(
        self, manifest: Manifest, report: Report, slices: Sequence[Slice]
    ) -> Mapping[Path, str]:
        """Return path and content of each file of an experiment.

        The experiment was imported as this kind, or has slices that the kind `writes`.
        """


@dataclass
class Import(Files):
    """The experiments of an import, and the files that belong to none of them."""

    experiments: list[ImportedExperiment] = field(default_factory=list)


def import_results(
    kind: Kind,
    others: Sequence[Kind],
    roots: Sequence[Path],
    results: Path,
    *,
    name: str | None,
    mode: Mode,
    options: Mapping[str, Any],
) -> Import:
    """Import each directory below `roots` that has results as an experiment.

    An earlier import of the same directory under the same name is replaced. A file that two kinds
    own belongs to the first of `others`.

    Raises:
        UsageError: `name` is invalid, or belongs to another experiment or to an import of more of
            the same directory.
    """

    def foreign(file: str) -> str | None:
        owner = next((other for other in others if other.owns(file)), kind)
        if owner is kind:
            return None
        if owner.reads(file):
            return f"{OF_OTHER_KIND}`slowdust import {owner.name}` reads them"
        return f"of {owner.name}"

    if name is not None:
        check_name(name)
    outcome = Import()
    experiments: dict[str, ImportedExperiment] = {}
    candidates = kind.find(roots, mode, options, foreign)
    several = sum(each.title is not None for each in candidates) > 1
    for candidate in candidates:
        experiment = None
        if (place := candidate.title) is not None:
            own = re.sub(r"[^A-Za-z0-9._@+-]+", "-", readable(place)).lstrip("._@+-") or "archive"
            wanted = own if name is None else f"{name}-{own}" if several else name
            wanted = title = wanted[:_LONGEST_TITLE]
            copies = count(2)
            while title in experiments:
                title = f"{wanted}-{next(copies)}"
            experiment = candidate.experiment(title)
        if experiment is not None:
            experiments[title] = experiment
        else:
            outcome.problems += candidate.files.problems
            outcome.by_products += candidate.files.by_products
    _store(experiments, results)
    outcome.experiments = list(experiments.values())
    return outcome


def _store(experiments: Mapping[str, ImportedExperiment], results: Path) -> None:
    """Write experiments, by name; an earlier import stays until the new one is complete.

    Raises:
        UsageError: an experiment of that name is not an import of the same kind and directory, or
            has more of it, or one has too many contenders; nothing is written.
        SlowdustError: they cannot be written.
    """
    for title, experiment in experiments.items():
        if (number := len(experiment.manifest.contenders)) > MOST_CONTENDERS:
            raise UsageError(
                f"{too_many_contenders(title, number)}: import its run directories in parts"
            )
        folder = Folder.of(results, title)
        if folder.path.exists():
            _refuse_other(folder, experiment.manifest)
    with staging_folder(results) as place:
        for title, experiment in experiments.items():
            with writing(Folder.of(place, title)) as writer:
                writer.write_manifest(experiment.manifest)
                writer.append(*experiment.slices)
        for title in experiments:
            put_in_place(Folder.of(place, title), results)


def _refuse_other(folder: Folder, manifest: Manifest) -> None:
    """Raise UsageError unless an earlier import may be replaced.

    It may if kind and directory are the same, and the new import has all its contenders and tests.
    """
    new = manifest.imported
    assert new is not None
    earlier = folder.read_manifest() if folder.is_imported() else None
    there = earlier.imported if earlier else None
    if earlier is None or there is None:
        what = "not an import"
    elif (there.kind, there.path or new.path) != (new.kind, new.path):
        what = f"the import of {there.path or there.source} as {there.kind}"
    elif new.whole:
        return
    else:
        runs = {contender.run for contender in manifest.contenders}
        lost = [each.name for each in earlier.contenders if each.run not in runs]
        lost += [test for test in earlier.tests if test not in manifest.tests]
        if not lost:
            return
        raise UsageError(
            f"importing only a part of its directory would replace '{folder.name}' in "
            f"{folder.path.parent} and lose {shortened(lost)}: choose another --name, or import "
            f"all of {there.path}"
        )
    raise UsageError(
        f"'{folder.name}' in {folder.path.parent} is {what}; the import of {new.path} as "
        f"{new.kind} does not replace it: choose another --name"
    )


def write_classic(
    kinds: Iterable[Kind],
    manifest: Manifest,
    report: Report,
    slices: Sequence[Slice],
    directory: Path,
) -> list[Path]:
    """Write the classic files below `directory`; return their paths, empty if no kind has any.

    Raises:
        UsageError: the experiment was imported from there, a file exists with other content, or a
            run's name leads outside; nothing is written.
    """
    imported = manifest.imported
    if imported is not None and imported.path is not None:
        # Do not write into the directory of the import, or into the directories of its runs.
        wanted, source = Path(readable(str(directory.resolve()))), Path(imported.path)
        runs = [source / facts.run for facts in manifest.contenders if facts.run]
        for path in [source] if imported.whole or wanted == source else runs:
            if wanted.is_relative_to(path):
                where = "was" if wanted == source else f"is in {path}, which was"
                raise UsageError(
                    f"{directory} {where} imported: write classic files into another directory"
                )
    fitting = (
        kind for kind in kinds if (kind.name == imported.kind if imported else kind.writes(slices))
    )
    kind = next(fitting, None)
    files = {} if kind is None else kind.files(manifest, report, slices)
    for path in files:
        if not stays_below(path):
            raise UsageError(
                f"cannot write classic files: the file of a run would be {readable(str(path))}, "
                "outside the directory: import the runs under other names"
            )
    for path, text in files.items():
        there = directory / path
        above = next((parent for parent in there.parents if parent.exists()), there)
        if not there.exists():
            if above.is_file():
                raise UsageError(f"{above} is a file: choose another directory")
        elif not there.is_file() or there.read_bytes() != text.encode():
            raise UsageError(f"{there} exists with other content: choose another directory")
    for path, text in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        replace_file(directory / path, text.encode())
    return [directory / path for path in files]


def name_experiment(directory: Path, root: Path) -> str:
    """Name an experiment after its path below `root`, the directory that was given.

    A name such as `dop40` is not specific enough to be the only or the first part. Both paths are
    resolved.
    """
    parts = directory.relative_to(root).parts if root in directory.parents else (directory.name,)
    if _is_generic(parts[0]):
        parts = (directory.parents[len(parts) - 1].name, *parts)
    return "-".join(part for part in parts if part) or "archive"


def _is_generic(directory: str) -> bool:
    return re.fullmatch(r"dop\d+", directory) is not None


def around(directory: Path, root: Path) -> list[Path]:
    """Return the directories whose names may describe an experiment, its own first.

    They end with `root`, the directory that was given, or with its parent if `name_experiment` uses
    the parent's name.
    """
    found = [directory]
    while root in found[-1].parents:
        found.append(found[-1].parent)
    return [*found, found[-1].parent] if _is_generic(found[-1].name) else found
