"""`slowdust capacity`: the highest rate of each contender that meets an SLA."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from slowdust.capacity.record import Question
from slowdust.capacity.sla import parse_sla
from slowdust.cli import completion
from slowdust.cli.options import WORDS, options
from slowdust.cli.study import (
    answer,
    checksum_of,
    folder_of_study,
    given_options,
    tell_files,
)
from slowdust.errors import UsageError
from slowdust.experiment.host_locks import WhenBusy
from slowdust.experiment.local_lab import LocalLab
from slowdust.report import json
from slowdust.studies.capacity.study import Capacities
from slowdust.studies.capacity.words import certainty, summary

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
    **given: object,
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
    folder = folder_of_study("search", "capacity", test, name, results, resumes=resume)
    if precision <= 0:
        raise UsageError("--precision 0%: no search ends there: write 3% or more")
    given = given_options(given)
    if given.get("benchmark") != "insert":  # whose rates are each client's
        given = {"clients": _CLIENTS, **given}
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
    lab = nullcontext(LocalLab(when_busy))
    outcome = answer(Capacities(), question, folder, lab, resumes=resume)
    if as_json:
        click.echo(json.render(outcome), nl=False)
    else:
        for line in (*summary(outcome), *certainty(outcome)):
            click.echo(line)
    tell_files(folder)
    return 0
