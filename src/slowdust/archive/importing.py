"""Archived runs of sysbench, from directories into the store."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.archive.problems import Problem
from slowdust.archive.sysbench.choices import Choices
from slowdust.archive.sysbench.experiment import ArchivedExperiment, make_experiment
from slowdust.archive.sysbench.run_directory import RunDirectory, read_runs
from slowdust.archive.sysbench.scanning import Place, scan
from slowdust.errors import UsageError
from slowdust.formats.text import readable
from slowdust.store.folder import NAME, Folder, writing
from slowdust.store.manifest import Imported
from slowdust.wording import shortened

_NOTHING_BESIDE = "there are neither runs nor rates beside it"


@dataclass
class Import:
    """What became of the directories."""

    experiments: list[ArchivedExperiment] = field(default_factory=list)
    by_products: dict[str, int] = field(default_factory=dict)
    """Known files outside of all experiments, by kind."""
    problems: list[Problem] = field(default_factory=list)
    """Files outside of all experiments, or of one that has no result."""


def import_sysbench(
    roots: Sequence[Path], results: Path, name: str | None, choices: Choices
) -> Import:
    """Make an experiment of each directory that holds runs or their tables, and store it.

    An experiment that was imported from the same directory under the same name is replaced.

    Raises:
        UsageError: another experiment has that name, or one of the same directory of which more
            was imported, or `name` is none.
    """
    check_name(name)
    found = Import()
    places = scan(roots)
    runs = _read(places, choices.device)
    made: dict[str, ArchivedExperiment] = {}
    names = titles([place.name for place in places if not place.empty], name)
    for place in places:
        experiment = None
        if not place.empty:
            title = unlike(next(names), made)
            experiment = make_experiment(title, place, runs[place.path], choices)
        if experiment is not None:
            made[title] = experiment
            continue
        found.problems += place.problems
        found.problems += [Problem(table.path, _NOTHING_BESIDE) for table in place.tables.joined]
        found.problems += [problem for run in runs[place.path] for problem in run.problems]
        for kind, count in place.tables.by_products.items():
            found.by_products[kind] = found.by_products.get(kind, 0) + count
    store(made, results)
    found.experiments = list(made.values())
    return found


def store(made: Mapping[str, ArchivedExperiment], results: Path) -> None:
    """Write experiments, by name; earlier imports of the same are replaced.

    Raises:
        UsageError: an experiment of that name is no import of the same kind and directory, or has
            more of it; then none is written.
    """
    for title, experiment in made.items():
        folder = Folder(results / title)
        if folder.path.exists():
            _refuse_other(folder, experiment.manifest.imported)
            _refuse_larger(folder, experiment)
    for title, experiment in made.items():
        _write(Folder(results / title), experiment)


def _read(places: Sequence[Place], device: str | None) -> dict[Path, list[RunDirectory]]:
    """Place -> its runs; all files at once, so that two processes share them."""
    directories = {path: names for place in places for path, names in place.runs.items()}
    by_path = {run.path: run for run in read_runs(directories, device)}
    return {place.path: [by_path[path] for path in place.runs] for place in places}


def check_name(name: str | None) -> None:
    """Refuse what the user gives as a name and is none.

    Raises:
        UsageError: it is no name of an experiment.
    """
    if name is not None and re.fullmatch(NAME, name) is None:
        raise UsageError(
            f"--name '{name}' is no name of an experiment: letters, digits and ._@+- only, "
            "the first of them a letter or digit"
        )


def titles(places: Sequence[str], name: str | None) -> Iterator[str]:
    """What experiments of directories called `places` are called; `name` is what the user says."""
    for place in places:
        title = re.sub(r"[^A-Za-z0-9._@+-]+", "-", readable(place)).lstrip("._@+-") or "archive"
        yield title if name is None else name if len(places) == 1 else f"{name}-{title}"


def unlike(title: str, taken: Collection[str]) -> str:
    """`title`, or with a number behind it if it is taken."""
    copies = [title, *(f"{title}-{copy}" for copy in range(2, len(taken) + 2))]
    return next(one for one in copies if one not in taken)


def _refuse_other(folder: Folder, new: Imported | None) -> None:
    """Keep what is in `folder`, unless it is an earlier import of the same."""
    assert new is not None
    there = folder.read_manifest().imported if folder.is_imported() else None
    if there is None:
        what = "no import"
    elif (there.kind, there.path or new.path) != (new.kind, new.path):
        what = f"the import of {there.path or there.source} as {there.kind}"
    else:
        return
    raise UsageError(
        f"'{folder.name}' in {folder.path.parent} is {what}, and is not replaced by that of "
        f"{new.path} as {new.kind}: choose another --name"
    )


def _refuse_larger(folder: Folder, new: ArchivedExperiment) -> None:
    """Keep what has contenders or tests that are not in some runs alone of its directory."""
    if new.manifest.imported is None or new.manifest.imported.whole:
        return
    there = folder.read_manifest()
    runs = {one.archived for one in new.manifest.contenders}
    lost = [one.name for one in there.contenders if one.archived not in runs]
    lost += [test for test in there.tests if test not in new.manifest.tests]
    if lost:
        raise UsageError(
            f"'{folder.name}' in {folder.path.parent} is not replaced by an import of only a part "
            f"of its directory, which has no {shortened(lost)}: choose another --name, or import "
            f"all of {there.imported.path if there.imported else ''}"
        )


def _write(folder: Folder, experiment: ArchivedExperiment) -> None:
    with writing(folder) as writer:
        writer.clear()
        writer.write_manifest(experiment.manifest)
        writer.append(*experiment.slices)
