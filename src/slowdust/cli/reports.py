"""`slowdust report`, `explain`, `history` and `diff`: reports on stored experiments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

import click

from slowdust import kinds
from slowdust.analysis.diff import diff_of
from slowdust.analysis.explanation.one_result import explain_results
from slowdust.analysis.history.history import Choice, deduplicate, history_of
from slowdust.analysis.history.lines import Configs
from slowdust.analysis.history.series import Experiment
from slowdust.analysis.results.gate import Gate
from slowdust.analysis.stored import of_group, read_stored
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands
from slowdust.analysis.versions import reader_names
from slowdust.cli.conduct import gate_exit_code
from slowdust.errors import SlowdustError, UsageError
from slowdust.exchange import write_classic
from slowdust.places import check_regular
from slowdust.report import console, explanation, files, terminal
from slowdust.report import diff as diff_report
from slowdust.report import history as history_report
from slowdust.report.formats import (
    DIFFS,
    EXPLANATIONS,
    HISTORIES,
    REPORTS,
    SHORT_REPORTS,
    Format,
    render_as,
)
from slowdust.report.markdown.document import plain
from slowdust.report.report import with_names
from slowdust.report.sections.contenders import group_changes
from slowdust.store.experiments import find_experiment
from slowdust.store.folder import experiments, newest_first
from slowdust.store.storage import replace_file
from slowdust.units import known
from slowdust.wording import counted, guess, no_such

_Content = TypeVar("_Content")


def write_page(path: Path, page: str) -> None:
    """Write a page; report which experiment's page it replaces.

    Raises:
        UsageError: the file exists and is not a page of Slowdust's.
    """
    if (replaced := files.write_page(path, page)) is not None:
        click.echo(f"{path}: replaced the page of {replaced}", err=True)


def put(
    content: _Content,
    formats: Sequence[Format[_Content]],
    noun: str,
    *,
    html: Path | None,
    form: str | None,
    show: Callable[[_Content], object],
) -> None:
    """Write the page and print the format that were asked for; `show` the content without any."""
    if html is not None:
        write_page(html, render_as("html", formats, content))
        click.echo(f"{noun}: {html}", err=form is not None)
    if form is not None:
        sys.stdout.write(render_as(form, formats, content))
    elif html is None:
        show(content)


def report(
    *,
    name: str | None,
    html: Path | None,
    junit: Path | None,
    form: str | None,
    classic: Path | None,
    short: bool,
    base: str | None,
    group: str | None,
    bands: Bands | None,
    gates: list[Gate],
    results: Path,
) -> int:
    if short and form != "md":
        raise UsageError("--short needs --md: write --md --short")
    if name is not None:
        folder = find_experiment(results, name)
    elif there := experiments(results):
        folder = there[0]
    else:
        raise UsageError(f"no experiment in {results}: run `slowdust compare` first")
    stored = read_stored(folder)
    if group is not None:
        stored = of_group(stored, group)
    slices, profiles = stored.slices, stored.profiles
    report = stored.report(base, bands or DEFAULT_BANDS)
    if classic is not None:
        written = write_classic(kinds.KINDS, stored.manifest, report, slices, classic)
        why = "" if written else ": the experiment has no data for them"
        click.echo(f"{len(written)} classic files in {classic}{why}", err=True)
    if form is not None:
        formats = SHORT_REPORTS if short else REPORTS
        sys.stdout.write(render_as(form, formats, report, slices, profiles))
    if junit is not None:
        check_regular(junit)
        units = render_as("junit", REPORTS, report, slices, profiles)
        replace_file(junit, units.encode())
        click.echo(f"JUnit: {junit}", err=True)
    if html is not None or (form is None and classic is None and junit is None):
        page = files.page_name(report, stored.manifest.base, group)
        destination = html or folder.path / page
        write_page(destination, render_as("html", REPORTS, report, slices, profiles))
        if form is None:
            changes = None if bands is None else group_changes(report)
            terminal.show(report, known([changes]))
        click.echo(f"report: {destination}", err=form is not None)
    return gate_exit_code(gates, report)


def explain(
    *,
    name: str,
    test: str,
    contender: str | None,
    base: str | None,
    clients: int | None,
    form: str | None,
    results: Path,
) -> None:
    stored = read_stored(find_experiment(results, name))
    explained = explain_results(stored, test, contender, base, clients)
    if form is None:
        names = reader_names(stored.manifest.contenders)
        console.show(explanation.document(with_names(explained, names)))
    else:
        sys.stdout.write(render_as(form, EXPLANATIONS, explained))


def diff(*, before: str, after: str, html: Path | None, form: str | None, results: Path) -> None:
    first, second = (read_stored(find_experiment(results, name)) for name in (before, after))
    found = diff_of(first, second)
    put(
        found,
        DIFFS,
        "diff",
        html=html,
        form=form,
        show=lambda it: console.show(diff_report.document(it)),
    )


def history(
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
    experiments, notes = deduplicate(_read_experiments(names, results))

    def in_order(run: Experiment) -> tuple[str, int, str]:
        place = names.index(run.name) if run.name in names else len(names)
        return run.manifest.started or "", place, run.name

    experiments.sort(key=in_order)
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
    if not history.lines and tests is not None and not any(map(choice.test, known_tests)):
        raise UsageError(
            f"--test: no experiment has a test that matches '{tests}'{guess(tests, known_tests)}"
        )
    if not history.lines and benchmark not in {None, *(step.benchmark for step in steps)}:
        known = sorted({step.benchmark for step in steps})
        raise UsageError(f"--benchmark: {no_such('benchmark', benchmark or '', known)}")
    if not history.lines:
        raise UsageError(
            f"no history: no two versions of a DBMS are compared in "
            f"{counted(len(experiments), 'experiment')}, or the options exclude them"
            f"{'. ' if history.notes else ''}{' '.join(history.notes)}"
        )
    if base is not None and not any(
        base in {point.version, point.label} or point.label.startswith(f"{base} ")
        for line in history.lines
        for point in line.versions
    ):
        raise UsageError(f"no history has a version {base}")
    put(
        history,
        HISTORIES,
        "history",
        html=html,
        form=form,
        show=lambda it: sys.stdout.write(plain(history_report.document(it))),
    )


def _read_experiments(names: Sequence[str], results: Path) -> list[Experiment]:
    """Read the named experiments, or all that are readable, newest first."""
    if names:
        named = {folder.path: folder for folder in (find_experiment(results, n) for n in names)}
        read = {path: Experiment.read(folder) for path, folder in named.items()}
        return [read[folder.path] for folder in newest_first(named.values())]
    readable = []
    for folder in experiments(results):
        try:
            readable.append(Experiment.read(folder))
        except SlowdustError as error:
            click.echo(f"slowdust: skipped an unreadable experiment: {error}", err=True)
    return readable
