"""`slowdust bisect`: the release or the commit that changed a test."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli import completion
from slowdust.cli.options import (
    WORDS,
    amount,
    no_wait_option,
    patience_of_new_option,
    results_option,
)
from slowdust.cli.study import answer, checksum_of, folder_of_study, given_options, tell_files
from slowdust.errors import UsageError
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.studies.bisect.record import Question
from slowdust.studies.bisect.study import Bisection
from slowdust.studies.bisect.words import certainty, summary
from slowdust.units import parse_count, parse_percentage


@click.command("bisect", short_help="Find the release or commit that changed a test.", epilog=WORDS)
@click.argument("range_", metavar="RANGE", shell_complete=completion.builds)
@click.option(
    "--test", required=True, metavar="NAME", help="The test, one of `slowdust tests`: point-query."
)
@click.option(
    "--metric",
    metavar="NAME",
    default="auto",
    help="work, time, or a metric of a report: p99, context_switches, write_kb.  "
    "[work where it can be counted, else time]",
)
@click.option("--repo", metavar="DIRECTORY|URL", help="The repository of the commits.")
@click.option("--good", metavar="REF", help="A commit before the change.")
@click.option("--bad", metavar="REF", help="A commit with the change.")
@click.option(
    "--margin",
    metavar="PERCENT",
    callback=amount(parse_percentage),
    help="Smallest change to look for.  [1% of work, 3% of others]",
)
@click.option(
    "--builds",
    "most_candidates",
    metavar="INTEGER",
    default="20",
    show_default=True,
    callback=amount(parse_count),
    help="Number of candidates up to which intervals without a change are halved as well.",
)
@click.option("--benchmark", metavar="NAME", help="The benchmark of the test.  [micro]")
@click.option("--workload", metavar="FILE", help="Your own workload, in place of a benchmark.")
@click.option("--clients", metavar="INTEGER", help="Concurrent clients.  [1]")
@click.option("--rows", metavar="INTEGER", help="Rows of each table.  [10000]")
@click.option(
    "--budget",
    metavar="TIME",
    default="60s",
    show_default=True,
    help="Wall clock for the measuring of a step, before it is extended, and of each change.",
)
@click.option(
    "--count",
    type=click.Choice(("auto", "pmu", "valgrind", "off")),
    help="How instructions are counted, in steps that work decides and for each change.  "
    "[auto: by the processor, else by valgrind]",
)
@click.option(
    "--count-budget",
    metavar="TIME",
    help="Wall clock for the counting of a step or a change.  [1m for each of its candidates]",
)
@patience_of_new_option
@click.option("--cpus", metavar="LIST", help="CPUs to measure on: 2,3 or 2-3.  [all]")
@click.option("--seed", metavar="INTEGER", help="Seed of the random rows and operations.  [1]")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Server setting; repeatable."
)
@click.option("--name", metavar="NAME", help="Name of the search.  [from the range and the time]")
@click.option("--resume", is_flag=True, help="Go on with the stopped search --name.")
@no_wait_option
@results_option
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
    outcome = answer(Bisection(), question, folder, when_busy, resumes=resume)
    for line in (*summary(outcome), *certainty(outcome)):
        click.echo(line)
    tell_files(folder)
    return 0
