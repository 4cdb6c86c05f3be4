"""`slowdust history`: how throughput went from version to version, over many experiments."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowdust.cli.options import bands_option, format_options, results_option
from slowdust.report.formats import HISTORIES, render_as

if TYPE_CHECKING:
    from slowdust.analysis.history.chaining import Experiment
    from slowdust.analysis.history.model import History
    from slowdust.analysis.story.bands import Bands


@click.command("history")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--benchmark", help="Only this one: micro, insert, slap; sysbench, of archives.")
@click.option("--test", "tests", metavar="LIST", help="Tests by name or pattern, comma separated.")
@click.option(
    "--host",
    metavar="WORDS",
    help="Only hosts whose facts have all these words; 'unrecorded': those that do not say, "
    "taken as one.",
)
@click.option(
    "--config",
    metavar="LIST",
    help="Only these configs, by name or pattern, comma separated, taken for one: their versions "
    "are one line.",
)
@click.option("--base", metavar="VERSION", help="Relative to this version.  [the first]")
@format_options(HISTORIES)
@bands_option
@results_option
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
    """Show versions in their order: the throughput of each relative to the first.

    From all experiments of the results folder, or those called NAME. Experiments go together if
    host, benchmark and amount of data are the same, and only by versions that they share: rates of
    one are never compared with another's.

    \b
    slowdust history
    slowdust history --test 'point*,hot-points' --html history.html
    slowdust history --config 'cz10a*,cz11a*'
    """
    from slowdust.analysis.history.configs import Configs
    from slowdust.analysis.history.history import Choice, history_of
    from slowdust.analysis.history.same_source import once
    from slowdust.analysis.story.bands import USUAL
    from slowdust.errors import UsageError
    from slowdust.report.markdown.history import brief
    from slowdust.wording import counted

    experiments, notes = once(_read_experiments(names, results))
    experiments.sort(key=lambda each: (each.manifest.started or "", _place(each.name, names)))
    patterns = [part.strip() for part in (tests or "*").split(",")]
    choice = Choice(
        benchmark=lambda name: benchmark in {None, name},
        test=lambda name: any(fnmatchcase(name, pattern) for pattern in patterns),
        base=base,
        bands=bands or USUAL,
        configs=None if config is None else Configs.of(config),
        host=host,
    )
    history = history_of(experiments, choice)
    history.notes += notes
    if not history.lines and tests is not None and not _any_test(experiments, patterns):
        raise UsageError(f"no experiment has a test like '{tests}'")
    if not history.lines:
        raise UsageError(
            f"nothing has a history: no two versions of one DBMS are compared in "
            f"{counted(len(experiments), 'experiment')}, or what was asked for leaves none"
            f"{'. ' if history.notes else ''}{' '.join(history.notes)}"
        )
    if base is not None and not _has_version(history, base):
        raise UsageError(f"no history has a version {base}")
    if html is not None:
        html.write_text(render_as("html", HISTORIES, history))
        click.echo(f"history: {html}", err=form is not None)
    if form is not None:
        sys.stdout.write(render_as(form, HISTORIES, history))
    elif html is None:
        sys.stdout.write(brief(history))


def _any_test(experiments: list[Experiment], patterns: list[str]) -> bool:
    return any(
        fnmatchcase(step.test, pattern)
        for experiment in experiments
        for step in experiment.steps
        for pattern in patterns
    )


def _has_version(history: History, version: str) -> bool:
    return any(
        version in {known.version, known.label} or known.label.startswith(f"{version} ")
        for line in history.lines
        for known in line.versions
    )


def _read_experiments(names: tuple[str, ...], results: Path) -> list[Experiment]:
    """Read the experiments of these names, or all that can be read, the one stored last first."""
    from slowdust.analysis.history.chaining import Experiment
    from slowdust.errors import SlowdustError
    from slowdust.store.folder import Folder, experiments

    stored = experiments(results)
    if names:
        folders = [Folder(results / name) for name in dict.fromkeys(names)]
        named = {
            each.name: Experiment(each.read_manifest(), each.read_slices()) for each in folders
        }
        return [named[folder.name] for folder in stored if folder.name in named]
    readable = []
    for folder in stored:
        try:
            readable.append(Experiment(folder.read_manifest(), folder.read_slices()))
        except SlowdustError as error:
            click.echo(f"slowdust: left out, unreadable: {error}", err=True)
    return readable


def _place(name: str, names: tuple[str, ...]) -> tuple[int, str]:
    """Return the place of an experiment among the names; all others are behind, by their names."""
    return (names.index(name) if name in names else len(names)), name
