"""`slowdust doctor`: problems of this host, with the commands that fix them."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

import click
import msgspec

from slowdust.errors import SlowdustError
from slowdust.experiment.doctor import examine
from slowdust.experiment.doctor.host import read_host
from slowdust.places import DATA_VARIABLE, data_root, make_enterable
from slowdust.store.finding import Finding, Severity
from slowdust.wording import counted, listing

_PROBLEMS_EXIST = 3
_LONGEST = 100
"""Maximum width of the text, in columns: longer lines are hard to read."""


def doctor(as_json: bool) -> int:  # noqa: FBT001 - click's flag
    if DATA_VARIABLE in os.environ and not data_root().is_dir():
        raise SlowdustError(f"{DATA_VARIABLE}: the directory {data_root()} does not exist")
    make_enterable(data_root(), DATA_VARIABLE)
    findings = examine(read_host(data_root()))
    if as_json:
        click.echo(msgspec.json.encode({"schema": 1, "findings": findings}))
    else:
        width = min(shutil.get_terminal_size().columns, _LONGEST)
        click.echo("\n".join(_lines(findings, width)))
    has_problem = any(finding.severity == Severity.PROBLEM for finding in findings)
    return _PROBLEMS_EXIST if has_problem else 0


def _lines(findings: Sequence[Finding], width: int) -> Iterator[str]:
    """Yield the lines of the findings, with effects and remedies, and their counts."""
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
    """Return '2 notes' or '3 unknown': the last two severities are adjectives."""
    if severity in (Severity.UNKNOWN, Severity.OK):
        return f"{number} {severity}"
    return counted(number, severity)


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
