"""Archived runs of the Insert Benchmark, from directories into the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from slowdust.archive.importing import Import, check_name, store, titles, unlike
from slowdust.archive.insert.checks import check_steps
from slowdust.archive.insert.directory import read_archive
from slowdust.archive.insert.experiment import experiment_of
from slowdust.archive.insert.scanning import scan
from slowdust.archive.sysbench.choices import Mode
from slowdust.archive.sysbench.experiment import ArchivedExperiment
from slowdust.archive.sysbench.scanning import name_of
from slowdust.archive.walking import outermost


def import_iibench(
    roots: Sequence[Path], results: Path, name: str | None, mode: Mode, clients: int | None
) -> Import:
    """Make an experiment of each archive below `roots`, and store it.

    `clients` is how many each archive had, None where its files have to tell. An experiment that
    was imported from the same directory under the same name is replaced.

    Raises:
        UsageError: another experiment has that name, or `name` is none.
    """
    check_name(name)
    found = Import()
    by_products: Counter[str] = Counter()
    made: dict[str, ArchivedExperiment] = {}
    archives = [(root, *one) for root in outermost(roots) for one in scan(root).items()]
    names = titles([name_of(home, root) for root, home, _ in archives if home is not None], name)
    for root, home, there in archives:
        archive = read_archive(home or root, there.files)
        archive.problems = [*check_steps(archive, mode), *there.problems]
        experiment = None
        if home is not None:
            title = unlike(next(names), made)
            experiment = experiment_of(archive, title, mode, clients)
            if experiment is not None:
                made[title] = experiment
        if experiment is None:
            found.problems += archive.problems
            by_products += archive.by_products
    store(made, results)
    found.experiments = list(made.values())
    found.by_products = dict(by_products)
    return found
