"""`slowdust tests`: the tests of a benchmark."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.benchmarks import BENCHMARKS, DEFAULT, benchmark
from slowdust.cli.completion import benchmarks
from slowdust.cli.options import NamedPath
from slowdust.places import named_path
from slowdust.wording import listing
from slowdust.workloads.benchmark import read_benchmark


@click.command(
    "tests",
    params=[
        click.Option(
            ["--benchmark", "name"],
            default=DEFAULT.name,
            show_default=True,
            shell_complete=benchmarks,
            help=f"{listing(tuple(BENCHMARKS), 'or')}.",
        ),
        click.Option(
            ["--workload"],
            type=NamedPath(),
            metavar="FILE",
            help="Your own workload, in place of a benchmark.",
        ),
    ],
)
def command(name: str, workload: Path | None) -> None:
    """List a benchmark's tests in order, with their groups and the suites that include them."""
    chosen = benchmark(name)
    if workload is not None:
        chosen = read_benchmark(named_path(str(workload)))
    names, groups = (
        max(len(text) for text in texts) + 2
        for texts in zip(*((test.name, test.group.value) for test in chosen.tests), strict=True)
    )
    for test in chosen.tests:
        suites = [suite for suite, tests in chosen.suites.items() if test.name in tests]
        click.echo(f"{test.name:<{names}}{test.group.value:<{groups}}{', '.join(suites)}")
