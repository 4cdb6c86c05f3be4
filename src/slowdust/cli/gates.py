"""The exit code of commands that take `--fail-on`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from slowdust.analysis.model import Report
from slowdust.analysis.results.failures import failed_wholly
from slowdust.analysis.results.gate import Gate, caught_by


def exit_code_of(gates: Sequence[Gate], report: Report) -> int:
    """Say on standard error what the gates catch; return 3 if one catches anything, else 0.

    It is 1 where a test failed wholly, of which no gate can say anything.
    """
    if not gates:
        return 0
    caught = [text for gate in gates if (text := caught_by(gate, report))]
    for text in caught:
        click.echo(f"failed by --fail-on {text}", err=True)
    if failed_wholly(report):
        return 1
    return 3 if caught else 0
