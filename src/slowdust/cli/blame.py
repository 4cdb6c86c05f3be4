"""`slowdust blame`: what each release cost."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import click

from slowdust.analysis.blame import Blame
from slowdust.analysis.stored import read_stored
from slowdust.benchmarks.options import split_list
from slowdust.cli import completion
from slowdust.cli.options import WORDS, formats, options
from slowdust.cli.pages import write_page
from slowdust.cli.study import (
    answer,
    checksum_of,
    folder_of_study,
    given_options,
    lab_of,
    tell_files,
)
from slowdust.errors import UsageError
from slowdust.experiment.host_locks import WhenBusy
from slowdust.report.blame import terminal
from slowdust.report.formats import BLAMES, render_as
from slowdust.store.experiments import kept_experiment
from slowdust.studies.blame import ALL, MAJOR, Blaming, Question, told_blame
from slowdust.wording import guess, no_such


@click.command(
    "blame",
    epilog=WORDS,
    params=[
        *options(
            "blame",
            "from every together suite tests benchmark workload clients rows budget incarnations "
            "count patience cpus seed set name resume fleet unfit",
        ),
        *formats(BLAMES),
        *options("blame", "no-wait results"),
    ],
)
@click.argument(
    "names", nargs=-1, required=True, metavar="RELEASES", shell_complete=completion.builds_or_stored
)
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
        UsageError: an option is of measuring, there is no such experiment, test or benchmark, or
            no two releases are compared.
    """
    tests = options.pop("tests")
    benchmark = options.pop("benchmark")
    given = [key for key, value in options.items() if value not in (None, (), False)]
    if given:
        option = {"settings": "--set", "address": "--fleet"}.get(given[0], f"--{given[0]}")
        raise UsageError(f"{option} is of measuring, and --from measures nothing")
    folders = {folder.path: folder for folder in (kept_experiment(results, n) for n in names)}
    stored = [read_stored(folder) for folder in folders.values()]
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
    choice = replace(
        ALL,
        benchmark=lambda name: benchmark in {None, name},
        test=lambda name: any(fnmatchcase(name, pattern) for pattern in patterns),
    )
    return told_blame(stored, choice)


def _measured(
    names: Sequence[str], results: Path, when_busy: WhenBusy, options: dict[str, object]
) -> tuple[Blame, bool]:
    """Measure the releases of a range, or what is left of it.

    Return what they cost, and whether a test failed wholly on one of them.
    """
    if len(names) > 1:
        raise UsageError(
            f"{' '.join(names)}: one range is measured at a time; with --from these are stored "
            "experiments"
        )
    resumes, name = bool(options.pop("resume")), options.pop("name")
    address, unfit = options.pop("address"), bool(options.pop("unfit"))
    lab = lab_of(when_busy, None if address is None else str(address), unfit=unfit)
    named = None if name is None else str(name)
    folder = folder_of_study("series", "blame", names[0], named, results, resumes=resumes)
    every, together = options.pop("every"), options.pop("together")
    if options["tests"] is options["suite"] is options["workload"] is None:
        options["suite"] = "quick"
    if options["budget"] is None:
        options["budget"] = "5m"
    given = given_options(options)
    question = Question(
        range=names[0],
        every=str(every or MAJOR),
        together=together if isinstance(together, int) else None,
        options=given,
        workload_sha256=checksum_of(given.get("workload")),
    )
    study = Blaming()
    blame = answer(study, question, folder, lab, resumes=resumes)
    tell_files(folder)
    return blame, study.failed
