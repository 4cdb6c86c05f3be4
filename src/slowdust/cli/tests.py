"""`slowdust tests`: what can be measured."""

from __future__ import annotations

import click


@click.command("tests")
def command() -> None:
    """List the tests, their groups, and the suites that hold them."""
    from slowdust.benchmarks import micro

    for test in micro.TESTS:
        suites = [name for name, tests in micro.SUITES.items() if test.name in tests]
        click.echo(f"{test.name:<26}{test.group.value:<24}{', '.join(suites)}")
