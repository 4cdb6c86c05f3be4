"""`slowdust explain`: one test of an experiment, and why it changed."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from slowdust.analysis.explanation.one_result import explain_results
from slowdust.analysis.stored import read_stored
from slowdust.cli import completion
from slowdust.cli.options import WORDS, formats, options
from slowdust.report import explanation
from slowdust.report.formats import EXPLANATIONS, render_as
from slowdust.store.experiments import kept_experiment


@click.command(
    "explain",
    epilog=WORDS,
    params=[
        *options("explain", "contender base clients"),
        *formats(EXPLANATIONS),
        *options("explain", "results"),
    ],
)
@click.argument("name", shell_complete=completion.experiments)
@click.argument("test", shell_complete=completion.tests_of_experiment)
def command(
    *,
    name: str,
    test: str,
    contender: str | None,
    base: str | None,
    clients: int | None,
    form: str | None,
    results: Path,
) -> None:
    """Explain what TEST of the experiment NAME changed by, and why.

    Shown are the verdicts on time and work, the parts of the change of the time per operation, the
    functions, waits, plans, hardware per operation and settings in which the contender differs
    from the base, as far as they were measured, and the commands that would tell more. A test that
    is the same or unsure has what can be excluded.

    \b
    slowdust explain demo point-query
    slowdust explain postgres-history range-covered-pk --base 16.14 --contender 18.4
    """
    folder = kept_experiment(results, name)
    stored = read_stored(folder)
    explained = explain_results(stored, test, contender, base, clients)
    if form is None:
        explanation.show(explained)
    else:
        sys.stdout.write(render_as(form, EXPLANATIONS, explained))
