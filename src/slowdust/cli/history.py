"""`slowdust history`: throughput from version to version, over many experiments."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from slowdust.analysis.history.history import Choice, deduplicate, history_of
from slowdust.analysis.history.lines import Configs
from slowdust.analysis.history.model import History
from slowdust.analysis.history.series import Experiment
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands
from slowdust.benchmarks import NAMES
from slowdust.cli import completion
from slowdust.cli.options import formats, options
from slowdust.cli.pages import write_page
from slowdust.errors import SlowdustError, UsageError
from slowdust.report.formats import HISTORIES, render_as
from slowdust.report.markdown.history import brief
from slowdust.store.experiments import kept_experiment
from slowdust.store.folder import experiments, newest_first
from slowdust.wording import counted, guess, no_such


@click.command(
    "history",
    params=[
        click.Option(
            ["--benchmark"],
            help=f"Only this benchmark: {', '.join(NAMES)}.",
            shell_complete=completion.benchmarks,
        ),
        *options("history", "test host config base"),
        *formats(HISTORIES),
        *options("history", "bands results"),
    ],
)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=completion.experiments)
def command(
    *,
    names: tuple[str, ...],
    benchmark: str | None,
    tests: str | None,
    host: str | None,
    config: str | None,
    base: str | None,
    html: Path | None,
    form: str | None,
    bands: Bands | None,
    results: Path,
) -> None:
    """Show the versions in order, with the throughput of each relative to the first.

    The experiments are all in the results folder, or those of the NAMEs, which may be paths. They
    are combined if host, benchmark and amount of data are the same, and only through versions that
    they share: rates of different experiments are never compared.

    \b
    slowdust history
    slowdust history --test 'point*,hot-points' --html history.html
    slowdust history --config 'cz10a*,cz11a*'
    """
    experiments, notes = deduplicate(_read_experiments(names, results))
    experiments.sort(key=lambda run: (run.manifest.started or "", _place(run.name, names)))
    patterns = [part.strip() for part in (tests or "*").split(",")]
    choice = Choice(
        benchmark=lambda name: benchmark in {None, name},
        test=lambda name: any(fnmatchcase(name, pattern) for pattern in patterns),
        base=base,
        bands=bands or DEFAULT_BANDS,
        configs=None if config is None else Configs.of(config),
        host=host,
    )
    history = history_of(experiments, choice)
    history.notes += notes
    steps = [step for experiment in experiments for step in experiment.steps]
    known_tests = {step.test for step in steps}
    if not history.lines and tests is not None and not _any_test(known_tests, patterns):
        raise UsageError(
            f"--test: no experiment has a test like '{tests}'{guess(tests, known_tests)}"
        )
    if not history.lines and benchmark not in {None, *(step.benchmark for step in steps)}:
        known = sorted({step.benchmark for step in steps})
        raise UsageError(f"--benchmark: {no_such('benchmark', benchmark or '', known)}")
    if not history.lines:
        raise UsageError(
            f"there is no history: no two versions of one DBMS are compared in "
            f"{counted(len(experiments), 'experiment')}, or the options exclude them"
            f"{'. ' if history.notes else ''}{' '.join(history.notes)}"
        )
    if base is not None and not _has_version(history, base):
        raise UsageError(f"no history has a version {base}")
    if html is not None:
        write_page(html, render_as("html", HISTORIES, history))
        click.echo(f"history: {html}", err=form is not None)
    if form is not None:
        sys.stdout.write(render_as(form, HISTORIES, history))
    elif html is None:
        sys.stdout.write(brief(history))


def _any_test(tests: Iterable[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(test, pattern) for test in tests for pattern in patterns)


def _has_version(history: History, version: str) -> bool:
    return any(
        version in {point.version, point.label} or point.label.startswith(f"{version} ")
        for line in history.lines
        for point in line.versions
    )


def _read_experiments(names: tuple[str, ...], results: Path) -> list[Experiment]:
    """Read the named experiments, or all that are readable, newest first."""
    if names:
        named = {folder.path: folder for folder in (kept_experiment(results, n) for n in names)}
        read = {path: Experiment.read(folder) for path, folder in named.items()}
        return [read[folder.path] for folder in newest_first(named.values())]
    readable = []
    for folder in experiments(results):
        try:
            readable.append(Experiment.read(folder))
        except SlowdustError as error:
            click.echo(f"slowdust: left out an unreadable experiment: {error}", err=True)
    return readable


def _place(name: str, names: tuple[str, ...]) -> tuple[int, str]:
    """Return a sort key: the place of an experiment among the named ones, else its name."""
    return (names.index(name) if name in names else len(names)), name
