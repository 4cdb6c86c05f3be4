"""`slowdust tests`: the tests of a benchmark."""

from __future__ import annotations

import click

from slowdust.benchmarks import BENCHMARKS, DEFAULT, benchmark
from slowdust.cli.completion import benchmarks
from slowdust.wording import listing


@click.command("tests", short_help="List a benchmark's tests, their groups and suites.")
@click.option(
    "--benchmark",
    "name",
    default=DEFAULT.name,
    show_default=True,
    shell_complete=benchmarks,
    help=f"{listing(tuple(BENCHMARKS), 'or')}.",
)
def command(name: str) -> None:
    """List a benchmark's tests in order, with their groups and the suites that include them."""
    chosen = benchmark(name)
    for test in chosen.tests:
        suites = [suite for suite, tests in chosen.suites.items() if test.name in tests]
        click.echo(f"{test.name:<26}{test.group.value:<24}{', '.join(suites)}")
