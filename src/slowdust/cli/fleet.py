"""`slowdust fleet`: the hosts of a Ray cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from slowdust.fleet import DEFAULT_ADDRESS
from slowdust.units import Second

if TYPE_CHECKING:
    from slowdust.fleet.cluster import HostFacts, HostLost

_FAILED = 1
_PROBLEMS_EXIST = 3
_ANSWERS_WITHIN: Second = 60.0

_address = click.argument("address", default=DEFAULT_ADDRESS, metavar="[ADDRESS]")


@click.group(
    "fleet",
)
def command() -> None:
    """Look at, check and calibrate the hosts of a Ray cluster.

    ADDRESS is that of its head, 127.0.0.1:6379 unless it is given. A host is a node that was
    started with --resources '{"slowdust_host": 1}'. `slowdust run FILE --fleet ADDRESS` measures
    on them.
    """


@command.command("status", short_help="List the hosts, and what each does.")
@_address
def status(address: str) -> int:
    """List the hosts, and what each does; nothing that is measured is disturbed.

    \b
    slowdust fleet status
    slowdust fleet status 10.0.0.5:6379
    """
    from slowdust.fleet import hosts
    from slowdust.fleet.cluster import Ask
    from slowdust.fleet.ray import connected

    with connected(address) as cluster:
        answers = cluster.ask(hosts.plain_facts, when=Ask.NOW, within=_ANSWERS_WITHIN)
    click.echo("\n".join(_table(answers)))
    return 0


@command.command("doctor", short_help="Check the hosts, as `slowdust doctor` checks one.")
@_address
def doctor(address: str) -> int:
    """Check the hosts, as `slowdust doctor` checks one, and list what is not good.

    A host is checked when nothing is measured there; one that is busy for a minute is named.
    Exit code: 3 if a host has a problem, 1 if one did not answer.
    """
    from slowdust.fleet import hosts
    from slowdust.fleet.cluster import Ask, HostLost
    from slowdust.fleet.ray import connected
    from slowdust.store.finding import Severity

    with connected(address) as cluster:
        answers = cluster.ask(hosts.host_facts, when=Ask.WHEN_IDLE, within=_ANSWERS_WITHIN)
    code = 0
    for host, answer in answers.items():
        if isinstance(answer, HostLost):
            click.echo(f"{host}: {answer.reason}")
            code = max(code, _FAILED)
            continue
        found = {each.severity for each in answer.findings}
        code = _PROBLEMS_EXIST if Severity.PROBLEM in found else code
        click.echo(f"{host}: {answer.cpu or 'unknown CPU'}, {answer.cpus} CPUs")
        for finding in answer.findings:
            if finding.severity in (Severity.PROBLEM, Severity.WARNING):
                click.echo(f"  {finding.severity:<8}{finding.check}: {finding.state}")
                if finding.remedy:
                    click.echo(f"            {finding.remedy}")
    return code


@command.command("calibrate", short_help="Measure the smallest difference each host can detect.")
@_address
@click.argument("contenders", nargs=-1, metavar="[CONTENDER]...")
@click.option("--tests", metavar="LIST", help="Names or patterns of tests, instead of a suite.")
@click.option("--rows", metavar="INTEGER", help="Rows of each table.  [100000]")
@click.option("--budget", metavar="TIME", help="Wall clock for the measuring of a host.  [5m]")
@click.option("--slowed", metavar="LIST", help="Percentages that delays take, or none.  [3,5,10]")
@click.option("--trial", metavar="TIME", help="Budget for a contender in a test.  [60s]")
def calibrate(address: str, contenders: tuple[str, ...], **options: str | None) -> int:
    """Measure the smallest difference that each host can detect, on all of them at once.

    Each keeps the result for the reports of later experiments there. Exit code: 1 if a host
    could not be calibrated.

    \b
    slowdust fleet calibrate 127.0.0.1:6379 postgres@17.6 --budget 1h
    """
    from slowdust.fleet import hosts
    from slowdust.fleet.cluster import Ask, HostLost
    from slowdust.fleet.ray import connected

    arguments = [*contenders]
    for name, value in options.items():
        if value is not None:
            arguments += [f"--{name}", value]
    with connected(address) as cluster:
        answers = cluster.ask(hosts.calibrated, arguments, when=Ask.WHEN_IDLE, within=None)
    failed = False
    for host, answer in answers.items():
        failed |= isinstance(answer, HostLost)
        text = answer.reason if isinstance(answer, HostLost) else answer.rstrip()
        click.echo(f"{host}:\n{text}\n")
    return _FAILED if failed else 0


def _table(answers: Mapping[str, HostFacts | HostLost]) -> list[str]:
    """Return a line for each host."""
    from slowdust.fleet.cluster import HostLost
    from slowdust.wording import counted

    if not answers:
        return ["no node measures: start some with --resources '{\"slowdust_host\": 1}'"]
    lines = []
    for host, answer in answers.items():
        if isinstance(answer, HostLost):
            lines.append(f"{host}: {answer.reason}")
            continue
        does = f"{answer.measuring} measures" if answer.measuring else "idle"
        facts = f"{answer.cpu or 'unknown CPU'}, {answer.cpus} CPUs, "
        facts += f"{answer.free_bytes / (1 << 30):.0f} GiB free, Slowdust {answer.slowdust}"
        lines.append(f"{host}: {does}; {facts}")
        if answer.calibrated:
            lines.append(f"  calibrated {answer.calibrated}")
    groups = {a.cpu for a in answers.values() if not isinstance(a, HostLost)}
    return [*lines, f"{counted(len(answers), 'host')}, {counted(len(groups), 'CPU model')}"]
