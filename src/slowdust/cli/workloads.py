"""`slowdust workloads`: workloads of the user's own."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten

import click

from slowdust.cli import completion
from slowdust.cli.options import NamedPath, options
from slowdust.errors import UsageError
from slowdust.experiment.local_lab import LocalLab
from slowdust.experiment.passes.workload_trial import LONGEST, OPERATIONS, trial_spec, try_out
from slowdust.experiment.remote_server import asking_servers
from slowdust.places import named_path
from slowdust.store.storage import replace_file
from slowdust.wording import counted, no_such
from slowdust.workloads.benchmark import OwnBenchmark, read_benchmark
from slowdust.workloads.file import DIALECTS
from slowdust.workloads.outline import aligned, lines_of
from slowdust.workloads.replay.grouping import Replayed
from slowdust.workloads.replay.replay import Made, replay

_MOST_SHOWN = 6
"""Statements of a kind that are named as left out."""


@click.group(
    "workloads",
)
def command() -> None:
    """Check workloads of your own, and make them of what a server has logged.

    A workload is a TOML file with tables, statements and tests: docs/workloads.md. It is measured
    as the built-in benchmarks are, by `slowdust compare A B --workload FILE`.
    """


@command.command(
    "check",
    short_help="Check a workload without measuring it.",
    params=[
        *options("workloads-check", "dbms"),
        click.Option(
            ["--on", "contender"],
            metavar="CONTENDER",
            shell_complete=completion.builds,
            help="Load it on this server too, and execute each transaction a hundred times.",
        ),
    ],
)
@click.argument("file", type=NamedPath())
def check(file: Path, dbms: str | None, contender: str | None) -> int:
    """Check the workload in FILE, and print its tables and tests.

    No server is needed, unless one is named. Each table has its rows and about how large it becomes
    with its indexes, each test its group, and the statements of an operation with what they return.

    \b
    slowdust workloads check examples/workloads/shop.toml
    slowdust workloads check examples/workloads/shop.toml --dbms mysql
    slowdust workloads check examples/workloads/shop.toml --on postgres@17.6

    Exit code: 0 if all is well, 1 if an execution failed, 2 if the file is wrong or the server does
    not take a statement.
    """
    benchmark = read_benchmark(named_path(str(file)))
    if dbms is not None and dbms not in DIALECTS:
        raise UsageError(f"--dbms: {no_such('DBMS of workloads', dbms, DIALECTS)}")
    if dbms is not None:
        benchmark.workload.check_dialect(dbms, f"--dbms {dbms}")
    if contender is None:
        click.echo("\n".join(lines_of(benchmark)))
        return 0
    return _try(benchmark, contender)


def _try(benchmark: OwnBenchmark, contender: str) -> int:
    """Print the workload and what it did on a server; return 1 if any statement failed, else 0."""
    lab, spec = LocalLab(), trial_spec(benchmark, contender)
    lab.prepare(spec)  # what is wrong with the contender is said before anything is printed
    click.echo("\n".join(lines_of(benchmark)))
    tried = try_out(benchmark, spec, lab)
    lines = [("TEST", "TRANSACTION", "ROWS", "ERRORS")]
    for each in tried:
        errors = ", ".join(f"{state} ({count})" for state, count in each.errors.items())
        lines.append((each.test, each.transaction, f"{each.rows:g}", errors or "none"))
    fewer = any(each.operations < OPERATIONS for each in tried)
    extent = f", or as often as {LONGEST:.0f}s allow" if fewer else ""
    click.echo(f"\nOn {contender}, each executed {OPERATIONS} times{extent}:\n")
    click.echo("\n".join(aligned(lines)))
    return 1 if any(each.errors for each in tried) else 0


@command.command(
    "from",
    short_help="Make a workload of what a server has logged.",
    params=[
        click.Option(
            ["-o", "--output"],
            required=True,
            type=NamedPath(dir_okay=False),
            help="The workload's file, a new one, whose name without .toml is that of the "
            "workload.",
        ),
        *options("workloads-from", "tables most"),
    ],
)
@click.argument("sources", nargs=-1, required=True, metavar="LOG|EXPORT|URL...")
def replayed(sources: tuple[str, ...], output: Path, tables: str | None, most: int) -> None:
    """Make a workload of statements that a server has logged, with their weights.

    A source is a slow log of MySQL or MariaDB, a log of Postgres (text or CSV) with durations or
    statements, an export of pg_stat_statements or of the Performance Schema's
    events_statements_summary_by_digest (CSV, or text with tabs, with a line of names), or the URL
    of a server that has one of both. Statistics say how often each statement was executed; logs
    have the values, of which each parameter is a sample.

    \b
    slowdust workloads from slow.log --tables mysql://ann@db/shop -o shop.toml
    slowdust workloads from postgres://ann@db/shop postgresql.log -o shop.toml
    """
    path = named_path(str(output))
    if path.exists():
        raise UsageError(f"{path} exists already: choose another file with -o")
    with asking_servers() as ask:
        made = replay(sources, path.stem, tables, most, ask)
    replace_file(path, made.text.encode())
    for line in _left_out(made):
        click.echo(line, err=True)
    there = counted(len(made.statements), "statement")
    click.echo(f"{path}: {there}, {made.share:.0%} of the executions")


def _left_out(made: Made) -> list[str]:
    """Return a line for each kind of what is not in the file."""
    lines = []
    if others := sorted(made.grouped.others.items(), key=lambda pair: -pair[1]):
        shown = ", ".join(f"{word} ({count:,})" for word, count in others[:_MOST_SHOWN])
        lines.append(f"left out, no statements on rows: {shown}")
    lines += [
        f"left out, its values are not known ({calls:,.0f}): {_short(text)}"
        for text, calls in made.grouped.without_values[:_MOST_SHOWN]
    ]
    lines += [
        f"left out, less frequent ({each.calls:,.0f}): {_short(each.shown)}"
        for each in _less_frequent(made)[:_MOST_SHOWN]
    ]
    lines += [
        f"left out, {why}: {_short(text)}" + (f" ({calls:,.0f})" if calls else "")
        for text, calls, why in made.refused[:_MOST_SHOWN]
    ]
    return lines


def _less_frequent(made: Made) -> list[Replayed]:
    """Return the statements beyond the most that were wanted."""
    refused = {text for text, _, _ in made.refused}
    others = [each for each in made.grouped.statements if each not in made.statements]
    return [each for each in others if each.shown not in refused]


def _short(text: str) -> str:
    return shorten(text, 90, placeholder=" ...")
