"""`slowdust blame`: what each release cost."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowdust.cli import completion
from slowdust.cli.options import (
    WORDS,
    format_options,
    no_wait_option,
    patience_of_new_option,
    results_option,
)
from slowdust.cli.pages import write_page
from slowdust.report.formats import BLAMES, render_as

if TYPE_CHECKING:
    from slowdust.analysis.blame.model import Blame
    from slowdust.analysis.stored import Stored
    from slowdust.experiment.claims.claim import WhenBusy


@click.command("blame", short_help="Show what each release cost.", epilog=WORDS)
@click.argument(
    "names", nargs=-1, required=True, metavar="RELEASES", shell_complete=completion.builds_or_stored
)
@click.option(
    "--from",
    completion.FROM,
    is_flag=True,
    help="RELEASES are stored experiments: measure nothing.",
)
@click.option(
    "--every",
    metavar="WHICH",
    help="Which releases: major, the newest of each major one; 2major, every second of these; a "
    "number, 1 for all and 3 for every third.  [major]",
)
@click.option(
    "--together",
    type=click.IntRange(min=2),
    metavar="INTEGER",
    help="Most releases side by side; else several experiments share one.  [as memory allows]",
)
@click.option("--suite", metavar="NAME", help="quick, default or full.  [quick; a workload: all]")
@click.option("--tests", metavar="LIST", help="Names or patterns, instead of a suite.")
@click.option("--benchmark", metavar="NAME", help="The benchmark of the tests.  [micro]")
@click.option("--workload", metavar="FILE", help="Your own workload, in place of a benchmark.")
@click.option("--clients", metavar="LIST", help="Concurrent clients: 1,8.  [1]")
@click.option("--rows", metavar="INTEGER", help="Rows of each table.  [10000]")
@click.option("--budget", metavar="TIME", help="Wall clock for the measuring of all.  [5m]")
@click.option("--incarnations", metavar="INTEGER", help="Planned starts of the servers.")
@click.option("--count", metavar="HOW", help="auto, valgrind, pmu or off: how work is counted.")
@patience_of_new_option
@click.option("--cpus", metavar="LIST", help="CPUs to measure on: 2,3 or 2-3.  [all]")
@click.option("--seed", metavar="INTEGER", help="Seed of the random rows and operations.  [1]")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Server setting; repeatable."
)
@click.option("--name", metavar="NAME", help="Name of the series.  [from the range and the time]")
@click.option("--resume", is_flag=True, help="Go on with the stopped series --name.")
@format_options(BLAMES)
@no_wait_option
@results_option
def command(
    *,
    names: tuple[str, ...],
    from_stored: bool,
    html: Path | None,
    form: str | None,
    results: Path,
    when_busy: WhenBusy,
    **options: object,
) -> int:
    """Show what each release cost: per group of tests, in time and in work.

    RELEASES is DBMS@FIRST..LAST[/ENGINE][:CONFIG][+ENV...]; a beginning stands for all its
    releases. They are measured side by side, or where the memory is too small in several
    experiments of which neighbours share a release, and the work is counted. A release that cannot
    be had is left out. With --from RELEASES are names of stored experiments.

    The table has a row for each step from a release to the next. Where time is unsure, work
    decides. Below it is which release cost each group of tests the most, and which gained it the
    most; the functions are those of the test in which it did.

    \b
    slowdust blame postgres@10..18
    slowdust blame mysql@5.5..9.7+glibc --tests 'point*,scan' --budget 10m
    slowdust blame --from postgres-history --html blame.html
    """
    from slowdust.report.blame import terminal

    failed = False
    if from_stored:
        blame = _of_stored(names, results, options)
    else:
        blame, failed = _measured(names, results, when_busy, options)
    if html is not None:
        write_page(html, render_as("html", BLAMES, blame))
        click.echo(f"page: {html}", err=True)
    if form is not None:
        sys.stdout.write(render_as(form, BLAMES, blame))
    elif html is None or not from_stored:
        terminal.show(blame)
    return 1 if failed else 0


def _of_stored(names: Sequence[str], results: Path, options: dict[str, object]) -> Blame:
    """Return the costs by stored experiments.

    Raises:
        UsageError: an option is of measuring, there is no such experiment, or it has no two
            releases.
    """
    from slowdust.analysis.stored import read_stored
    from slowdust.errors import UsageError
    from slowdust.store.keeping.experiments import kept_experiment

    tests = options.pop("tests")
    benchmark = options.pop("benchmark")
    given = [key for key, value in options.items() if value not in (None, (), False)]
    if given:
        option = "--set" if given[0] == "settings" else f"--{given[0]}"
        raise UsageError(f"{option} is of measuring, and --from measures nothing")
    folders = {folder.path: folder for folder in (kept_experiment(results, n) for n in names)}
    stored = [read_stored(folder) for folder in folders.values()]
    return _blame(stored, tests, benchmark)


def _measured(
    names: Sequence[str], results: Path, when_busy: WhenBusy, options: dict[str, object]
) -> tuple[Blame, bool]:
    """Measure the releases of a range, or what is left of it.

    Return what they cost, and whether a test failed wholly on one of them.
    """
    from slowdust.analysis.results.failures import failed_wholly
    from slowdust.blaming.run import run, series_in
    from slowdust.errors import UsageError
    from slowdust.experiment.live import watching
    from slowdust.places import within
    from slowdust.report.blame import html, markdown
    from slowdust.store.folder import replace_file
    from slowdust.store.keeping.experiments import check_name

    if len(names) > 1:
        raise UsageError(
            f"{' '.join(names)}: one range is measured at a time; with --from these are stored "
            "experiments"
        )
    from slowdust.cli.series import name_of_series

    resume, name = bool(options.pop("resume")), options.pop("name")
    if resume and name is None:
        raise UsageError("--resume needs the --name of the series that goes on")
    name = name_of_series("blame", names[0]) if name is None else str(name)
    check_name(name)
    series = series_in(within(results, name))
    with series.held():
        _prepare(names[0], series.path, options, resume=resume)
        click.echo(f"series {name} in {series.path}", err=True)
        try:
            stored, notes = run(series, when_busy, watching, _say)
        except BaseException:
            again = f"go on by the same command with --name {name} --resume"
            click.echo(f"the experiments are kept: {again}", err=True)
            raise
        blame = _blame(stored, None, None)
        blame.notes += notes
        page, note = series.path / "report.html", series.path / "note.md"
        replace_file(page, html.render(blame).encode())
        replace_file(note, markdown.render(blame).encode())
    click.echo(f"report: {page}, note: {note}", err=True)
    return blame, any(failed_wholly(each.report()) for each in stored)


def _prepare(range_: str, folder: Path, options: dict[str, object], *, resume: bool) -> None:
    """Begin a series in a folder, or check that it is the one that goes on."""
    from slowdust.bisection.ranges import released
    from slowdust.blaming.releases import MAJOR
    from slowdust.blaming.run import Question, begin, series_in, take_up
    from slowdust.cli.series import checksum_of, given_options
    from slowdust.experiment.live import watching

    every, together = options.pop("every"), options.pop("together")
    if options["tests"] is options["suite"] is options["workload"] is None:
        options["suite"] = "quick"
    if options["budget"] is None:
        options["budget"] = "5m"
    given = given_options(options)
    question = Question(
        range=range_,
        every=str(every or MAJOR),
        together=together if isinstance(together, int) else None,
        options=given,
        workload_sha256=checksum_of(given.get("workload")),
    )
    series = series_in(folder)
    if resume:
        series.check_resumable()
        take_up(series, question)
        return
    series.check_free()
    series.write(begin(question, released(range_).listed, watching, _say))


def _blame(stored: Sequence[Stored], tests: object, benchmark: object) -> Blame:
    """Return what the releases of these experiments cost.

    Raises:
        UsageError: no two releases are compared, or no test or benchmark is called so.
    """
    from slowdust.analysis.blame.blame import blame_of
    from slowdust.analysis.history.history import Choice
    from slowdust.analysis.story.bands import DEFAULT_BANDS
    from slowdust.benchmarks.options import split_list
    from slowdust.errors import UsageError
    from slowdust.wording import counted, guess, no_such

    patterns = split_list("*" if tests is None else str(tests))
    if not patterns:
        raise UsageError("--tests is empty: write names or patterns, or leave it out for all tests")
    known = sorted({test for each in stored for test in each.manifest.tests})
    benchmarks = sorted({record.place.benchmark for each in stored for record in each.slices})
    if benchmark is not None and benchmark not in benchmarks:
        raise UsageError(f"--benchmark: {no_such('benchmark', str(benchmark), benchmarks)}")
    for pattern in patterns:
        if not any(fnmatchcase(test, pattern) for test in known):
            raise UsageError(f"--tests: no test is called '{pattern}'{guess(pattern, known)}")
    choice = Choice(
        benchmark=lambda name: benchmark in {None, name},
        test=lambda name: any(fnmatchcase(name, pattern) for pattern in patterns),
        base=None,
        bands=DEFAULT_BANDS,
        configs=None,
        host=None,
    )
    blame = blame_of(stored, choice)
    if not blame.lines:
        raise UsageError(
            "no two releases of one DBMS are compared in "
            f"{counted(len(stored), 'experiment')}. {' '.join(blame.notes)}".rstrip()
        )
    return blame


def _say(text: str) -> None:
    click.echo(text, err=True)
