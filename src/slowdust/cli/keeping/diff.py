"""`slowdust diff`: what changed from one experiment to another."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from slowdust.analysis.diff import diff_of
from slowdust.analysis.stored import read_stored
from slowdust.cli.completion import experiments
from slowdust.cli.options import formats, options
from slowdust.cli.pages import write_page
from slowdust.report.diff import brief
from slowdust.report.formats import DIFFS, render_as
from slowdust.store.experiments import kept_experiment


@click.command(
    "diff",
    params=[*formats(DIFFS), *options("diff", "results")],
)
@click.argument("before", shell_complete=experiments)
@click.argument("after", shell_complete=experiments)
def command(*, before: str, after: str, html: Path | None, form: str | None, results: Path) -> None:
    """Show what changed from the experiment BEFORE to the experiment AFTER.

    Each contender is taken relative to the base of its own experiment, and these ratios are
    compared: the machine may be slower tonight, and the ratio is not. A change is said only where
    the interval of the ratio of ratios excludes 1. Conditions that differ are listed.

    \b
    slowdust diff nightly-1122 nightly-1123
    slowdust diff nightly-1122 nightly-1123 --html diff.html
    """
    first, second = (read_stored(kept_experiment(results, name)) for name in (before, after))
    diff = diff_of(first, second)
    if html is not None:
        write_page(html, render_as("html", DIFFS, diff))
        click.echo(f"diff: {html}", err=form is not None)
    if form is not None:
        sys.stdout.write(render_as(form, DIFFS, diff))
    elif html is None:
        sys.stdout.write(brief(diff))
