"""`slowdust capacity`: the highest rate of each contender that meets an SLA."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowdust.cli import completion
from slowdust.cli.options import (
    WORDS,
    amount,
    no_wait_option,
    patience_of_new_option,
    results_option,
)
from slowdust.cli.series import checksum_of, given_options, name_of_series, write_reports
from slowdust.units import parse_duration, parse_percentage

if TYPE_CHECKING:
    from slowdust.capacity.outcome import Outcome
    from slowdust.capacity.record import Question
    from slowdust.experiment.claims.claim import WhenBusy

_CLIENTS = "4"


@click.command("capacity", short_help="Find the highest rate that meets an SLA.", epilog=WORDS)
@click.argument(
    "contenders",
    nargs=-1,
    required=True,
    metavar="BASE [CONTENDER]...",
    shell_complete=completion.builds,
)
@click.option(
    "--sla",
    "sla_text",
    required=True,
    metavar="TERMS",
    help="What each trial has to meet: p99<5ms,errors=0. Terms are p50, p95, p99, p999 and max "
    "below a time, errors and late =0 or below a percentage; all have to hold.",
)
@click.option(
    "--test", required=True, metavar="NAME", help="The test, one of `slowdust tests`: point-query."
)
@click.option("--benchmark", metavar="NAME", help="The benchmark of the test.  [micro]")
@click.option("--workload", metavar="FILE", help="Your own workload, in place of a benchmark.")
@click.option(
    "--clients",
    metavar="INTEGER",
    help=f"Connections that the operations are spread over.  [{_CLIENTS}; insert: 1]",
)
@click.option("--rows", metavar="INTEGER", help="Rows of each table.  [10000]")
@click.option(
    "--budget",
    metavar="TIME",
    default="2m",
    show_default=True,
    help="Wall clock for all trials.",
)
@click.option(
    "--precision",
    metavar="PERCENT",
    default="3%",
    show_default=True,
    callback=amount(parse_percentage),
    help="The search ends when no interval reaches farther from its middle.",
)
@click.option(
    "--trial",
    metavar="TIME",
    callback=amount(parse_duration),
    help="Length of a trial.  [0.5s, longer where a percentile needs more operations; insert: 2s]",
)
@click.option(
    "--arrivals",
    type=click.Choice(["poisson", "uniform"]),
    default="poisson",
    show_default=True,
    help="Distribution of the arrivals.",
)
@click.option("--margin", metavar="PERCENT", help="Largest change that counts as the same.  [3%]")
@click.option(
    "--incarnations",
    metavar="INTEGER",
    help="Starts of the servers.  [3 to 6, by the budget; 1 with running servers]",
)
@patience_of_new_option
@click.option("--cpus", metavar="LIST", help="CPUs to measure on: 2,3 or 2-3.  [all]")
@click.option("--memory", metavar="SIZE", help="Limit the memory of each server: 256MB.  [none]")
@click.option("--repo", metavar="DIRECTORY|URL", help="The repository of DBMS@git:REF.")
@click.option("--seed", metavar="INTEGER", help="Seed of the random rows and operations.  [1]")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Server setting; repeatable."
)
@click.option("--name", metavar="NAME", help="Name of the search.  [from the test and the time]")
@click.option("--resume", is_flag=True, help="Go on with the stopped search --name.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the outcome as JSON (docs/capacity.schema.json)."
)
@no_wait_option
@results_option
def command(
    *,
    contenders: tuple[str, ...],
    sla_text: str,
    test: str,
    precision: float,
    trial: float | None,
    arrivals: str,
    name: str | None,
    resume: bool,
    as_json: bool,
    results: Path,
    when_busy: WhenBusy,
    **options: object,
) -> int:
    """Find the highest rate at which a test meets an SLA, for each contender.

    A trial offers operations at a rate for a short time, whatever the server answers: response
    times count from the moment at which each operation was due. The capacity is the rate at which
    9 of 10 trials meet the SLA. All contenders are up side by side, and their trials take turns;
    the servers are started anew several times. Each capacity, and its ratio to the base's, has a
    95% interval.

    With --benchmark insert the rate is that of the writers beside the queries of --test, which
    begins with the rate in its name (qr100), and the response times are the queries'.

    \b
    slowdust capacity postgres@15.8 postgres@17.6 --sla 'p99<5ms,errors=0' --test point-query
    slowdust capacity postgres@17.6 --sla 'p95<10ms' --workload shop.toml --test checkout
    slowdust capacity postgres@17.6 --sla 'p99<20ms' --benchmark insert --test qr100
    """
    from slowdust.capacity.record import Question, search_in
    from slowdust.capacity.run import run
    from slowdust.capacity.sla import parse_sla
    from slowdust.errors import UsageError
    from slowdust.experiment.live import watching
    from slowdust.places import within
    from slowdust.store.keeping.experiments import check_name

    if resume and name is None:
        raise UsageError("--resume needs the --name of the search that goes on")
    if precision <= 0:
        raise UsageError("--precision 0%: no search ends there: write 3% or more")
    name = name_of_series("capacity", test) if name is None else name
    check_name(name)
    folder = within(results, name)
    given = _with_clients(given_options(options))
    question = Question(
        contenders=[*contenders],
        sla=parse_sla(sla_text).written,
        test=test,
        precision=precision,
        arrivals=arrivals,
        trial=trial,
        options=given,
        workload_sha256=checksum_of(given.get("workload")),
    )
    with search_in(folder).held():
        _prepare(question, folder, resume=resume)
        try:
            outcome = run(folder, when_busy, watching, lambda text: click.echo(text, err=True))
        except BaseException as error:
            _leave(folder, error, resume=resume)
            raise
    _show(outcome, folder, as_json=as_json)
    return 0


def _with_clients(options: dict[str, object]) -> dict[str, object]:
    """Return the options with several clients, but for long steps: rates are each client's."""
    long_steps = options.get("benchmark") == "insert"
    return options if long_steps else {"clients": _CLIENTS, **options}


def _prepare(question: Question, folder: Path, *, resume: bool) -> None:
    """Begin a search in a folder, or check that it is the one that goes on.

    Raises:
        UsageError: there is none to resume, the name is taken, or a question that makes no sense.
    """
    from slowdust.capacity.record import search_in
    from slowdust.capacity.run import begin, take_up

    search = search_in(folder)
    if resume:
        search.check_resumable()
        take_up(folder, question)
        return
    search.check_free()
    begin(folder, question)


def _leave(folder: Path, error: BaseException, *, resume: bool) -> None:
    """Say how a search that was stopped goes on; remove one that cannot, or that has nothing."""
    from slowdust.capacity.record import SERVERS, forget, read_trials
    from slowdust.errors import UsageError
    from slowdust.store.folder import Folder

    if read_trials(folder):
        again = f"go on by the same command with --name {folder.name} --resume"
        click.echo(f"the trials are kept: {again}", err=True)
    elif not resume and (
        isinstance(error, UsageError) or not Folder(folder / SERVERS).has_manifest()
    ):
        forget(folder)


def _show(outcome: Outcome, folder: Path, *, as_json: bool) -> None:
    """Print the answer; write the page and the note."""
    from slowdust.report import json
    from slowdust.report.capacity import html, markdown, words

    if as_json:
        click.echo(json.render(outcome), nl=False)
    else:
        for line in (*words.summary(outcome), *words.certainty(outcome)):
            click.echo(line)
    write_reports(folder, html.render(outcome), markdown.render(outcome))
