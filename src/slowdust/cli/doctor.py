"""`slowdust doctor`: bad states of this host, with the commands that mend them."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from slowdust.cli.options import options

if TYPE_CHECKING:
    from slowdust.store.finding import Finding, Severity

_PROBLEMS_EXIST = 3
_LONGEST = 100
"""Columns of the text at most, for lines that are easily read."""


@click.command(
    "doctor",
    params=options("doctor", "json"),
)
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Check this host, and say what to mend before measuring.

    Each finding has a severity: with a problem, results of time cannot be trusted or an experiment
    may fail; a warning makes them noisier or biased; a note is to be known when results are read,
    or names a feature that is not available. What cannot be read on this host is listed as
    unknown. Each bad state comes with the command that mends it; none is run.

    Takes a second or two: other programs are watched for half a second, and the disk of the data
    directory (SLOWDUST_DATA) writes for half a second. Every experiment keeps the findings of its
    start; its report has them.

    \b
    slowdust doctor
    slowdust doctor --json

    Exit code: 0 if there is no problem, 3 if there is one, 1 if the host cannot be examined.
    """
    import msgspec

    from slowdust.errors import SlowdustError
    from slowdust.experiment.doctor import examine
    from slowdust.experiment.doctor.host import read_host
    from slowdust.places import DATA_VARIABLE, data_root, make_enterable
    from slowdust.store.finding import Severity

    if DATA_VARIABLE in os.environ and not data_root().is_dir():
        raise SlowdustError(f"{DATA_VARIABLE}: there is no directory {data_root()}")
    make_enterable(data_root(), DATA_VARIABLE)
    findings = examine(read_host(data_root()))
    if as_json:
        click.echo(msgspec.json.encode({"schema": 1, "findings": findings}))
    else:
        width = min(shutil.get_terminal_size().columns, _LONGEST)
        click.echo("\n".join(_lines(findings, width)))
    if any(finding.severity == Severity.PROBLEM for finding in findings):
        context.exit(_PROBLEMS_EXIST)


def _lines(findings: Sequence[Finding], width: int) -> Iterator[str]:
    """Yield the findings: bad states with all that is known of them, the others briefly."""
    from slowdust.store.finding import Severity
    from slowdust.wording import listing

    for finding in findings:
        yield from _wrapped(f"{finding.severity:<8}{finding.check}: {finding.state}", width, 8)
        if finding.effect:
            yield from _wrapped(f"        {finding.effect}", width, 8)
        if finding.remedy:
            yield f"          {finding.remedy}"
    numbers = Counter(finding.severity for finding in findings)
    counts = [_counted(severity, numbers[severity]) for severity in Severity if numbers[severity]]
    yield ""
    yield from _wrapped(f"{listing(counts)}.", width, 0)


def _counted(severity: Severity, number: int) -> str:
    """Write '2 notes' or '3 unknown': the last two severities are adjectives."""
    from slowdust.store.finding import Severity
    from slowdust.wording import counted

    if severity in (Severity.UNKNOWN, Severity.OK):
        return f"{number} {severity}"
    return counted(number, severity)


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
