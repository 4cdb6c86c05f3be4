"""`slowdust capacity`: the highest rate of each contender that meets an SLA."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowdust.cli import completion
from slowdust.cli.options import WORDS, options
from slowdust.cli.series import checksum_of, given_options, name_of_series, write_reports

if TYPE_CHECKING:
    from slowdust.capacity.outcome import Outcome
    from slowdust.capacity.record import Question
    from slowdust.experiment.claims.claim import WhenBusy

_CLIENTS = "4"


@click.command(
    "capacity",
    epilog=WORDS,
    params=options(
        "capacity",
        "sla test benchmark workload clients rows budget precision trial arrivals margin "
        "incarnations patience cpus memory repo seed set name resume json no-wait results",
    ),
)
@click.argument(
    "contenders",
    nargs=-1,
    required=True,
    metavar="BASE [CONTENDER]...",
    shell_complete=completion.builds,
)
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
