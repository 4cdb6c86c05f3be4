"""`slowdust bisect`: the release or the commit that changed a test."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli import completion
from slowdust.cli.options import WORDS, options
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
from slowdust.studies.bisect.record import Question
from slowdust.studies.bisect.study import Bisection
from slowdust.studies.bisect.words import certainty, summary


@click.command(
    "bisect",
    epilog=WORDS,
    params=options(
        "bisect",
        "test metric repo good bad margin builds benchmark workload clients rows budget count "
        "count-budget patience cpus seed set name resume fleet unfit no-wait results",
    ),
)
@click.argument("range_", metavar="RANGE", shell_complete=completion.builds)
def command(
    *,
    range_: str,
    test: str,
    metric: str,
    repo: str | None,
    good: str | None,
    bad: str | None,
    margin: float | None,
    most_candidates: int,
    name: str | None,
    resume: bool,
    results: Path,
    when_busy: WhenBusy,
    address: str | None,
    unfit: bool,
    **options: object,
) -> int:
    """Find where a test changed: among the releases of RANGE, or the commits from --good to --bad.

    RANGE is DBMS@FIRST..LAST[/ENGINE][:CONFIG][+ENV...] for releases of the catalog; a beginning
    stands for all its releases. With --repo it is DBMS[/ENGINE][:CONFIG][+ENV...].

    Each step measures a candidate beside its neighbours, until the change is between two that
    follow each other; several changes are all found, slower and faster ones. Counted work
    decides in one short experiment whatever else the machine does. Time is measured until it is
    clear on which side the change is, and a wrong answer is found out later. A candidate that
    cannot be built is left out.

    At the end each change is measured beside the candidate before it, in time and work, with the
    functions that changed. The answer is printed, and written as report.html and note.md.

    \b
    slowdust bisect postgres@10..18 --test point-query
    slowdust bisect postgres --repo ./postgres --good REL_17_BETA1 --bad master --test update-index
    slowdust bisect mysql@5.6..9.7 --test scan --metric time --budget 2m
    """
    folder = folder_of_study("search", "bisect", range_, name, results, resumes=resume)
    if (good is None) != (bad is None) or (good is None) != (repo is None):
        raise UsageError("--repo, --good and --bad belong together: give all three of them")
    given = given_options({**options, "repo": repo})
    question = Question(
        range=range_,
        metric=metric,
        margin=margin,
        most_candidates=most_candidates,
        options={**given, "tests": test},
        good=good,
        bad=bad,
        workload_sha256=checksum_of(given.get("workload")),
    )
    lab = lab_of(when_busy, address, unfit=unfit)
    outcome = answer(Bisection(), question, folder, lab, resumes=resume)
    for line in (*summary(outcome), *certainty(outcome)):
        click.echo(line)
    tell_files(folder)
    return 0
