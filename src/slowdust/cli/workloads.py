"""`slowdust tests` and `slowdust workloads`: tests of benchmarks, and users' own workloads."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten

import click

from slowdust.benchmarks import benchmark as named_benchmark
from slowdust.errors import UsageError
from slowdust.experiment.local_lab import LocalLab
from slowdust.experiment.passes.workload_trial import LONGEST, OPERATIONS, trial_spec, try_out
from slowdust.experiment.remote_server import asking_servers
from slowdust.places import named_path
from slowdust.store.storage import replace_file
from slowdust.wording import counted, no_such
from slowdust.workloads.benchmark import OwnBenchmark, read_benchmark
from slowdust.workloads.file import DIALECTS
from slowdust.workloads.outline import aligned, outline
from slowdust.workloads.replay.grouping import Replayed
from slowdust.workloads.replay.replay import Made, replay

_MOST_SHOWN = 6
"""Maximum number of skipped statements of a kind that are listed."""


def list_tests(name: str, workload: Path | None) -> None:
    chosen = named_benchmark(name)
    if workload is not None:
        chosen = read_benchmark(named_path(str(workload)))
    names, groups = (
        max(len(text) for text in texts) + 2
        for texts in zip(*((test.name, test.group.value) for test in chosen.tests), strict=True)
    )
    for test in chosen.tests:
        suites = [suite for suite, tests in chosen.suites.items() if test.name in tests]
        click.echo(f"{test.name:<{names}}{test.group.value:<{groups}}{', '.join(suites)}")


def check(file: Path, dbms: str | None, contender: str | None) -> int:
    benchmark = read_benchmark(named_path(str(file)))
    if dbms is not None and dbms not in DIALECTS:
        raise UsageError(f"--dbms: {no_such('DBMS of workloads', dbms, DIALECTS)}")
    if dbms is not None:
        benchmark.workload.check_dialect(dbms, f"--dbms {dbms}")
    if contender is None:
        click.echo("\n".join(outline(benchmark)))
        return 0
    return _try(benchmark, contender)


def _try(benchmark: OwnBenchmark, contender: str) -> int:
    """Print the workload and its execution on a server; return 1 if a statement failed, else 0."""
    lab, spec = LocalLab(), trial_spec(benchmark, contender)
    lab.prepare(spec)  # a wrong contender fails here, before anything is printed
    click.echo("\n".join(outline(benchmark)))
    tried = try_out(benchmark, spec, lab)
    lines = [("TEST", "TRANSACTION", "ROWS", "ERRORS")]
    for each in tried:
        errors = ", ".join(f"{state} ({count})" for state, count in each.errors.items())
        lines.append((each.test, each.transaction, f"{each.rows:g}", errors or "none"))
    fewer = any(each.operations < OPERATIONS for each in tried)
    extent = f" or for {LONGEST:.0f}s" if fewer else ""
    click.echo(f"\nOn {contender}, each executed {OPERATIONS} times{extent}:\n")
    click.echo("\n".join(aligned(lines)))
    return 1 if any(each.errors for each in tried) else 0


def make(sources: tuple[str, ...], output: Path, tables: str | None, most: int) -> None:
    path = named_path(str(output))
    if path.exists():
        raise UsageError(f"{path} already exists: choose another file with -o")
    with asking_servers() as ask:
        made = replay(sources, path.stem, tables, most, ask)
    replace_file(path, made.text.encode())
    for line in _skipped(made):
        click.echo(line, err=True)
    there = counted(len(made.statements), "statement")
    click.echo(f"{path}: {there}, {made.share:.0%} of the executions")


def _skipped(made: Made) -> list[str]:
    """Return lines about statements that are not in the file."""
    lines = []
    if others := sorted(made.grouped.others.items(), key=lambda pair: -pair[1]):
        shown = ", ".join(f"{word} ({count:,})" for word, count in others[:_MOST_SHOWN])
        lines.append(f"skipped, not statements on rows: {shown}")
    lines += [
        f"skipped, its values are unknown ({calls:,.0f}): {_short(text)}"
        for text, calls in made.grouped.without_values[:_MOST_SHOWN]
    ]
    lines += [
        f"skipped, less frequent ({each.calls:,.0f}): {_short(each.shown)}"
        for each in _less_frequent(made)[:_MOST_SHOWN]
    ]
    lines += [
        f"skipped, {why}: {_short(text)}" + (f" ({calls:,.0f})" if calls else "")
        for text, calls, why in made.refused[:_MOST_SHOWN]
    ]
    return lines


def _less_frequent(made: Made) -> list[Replayed]:
    """Return the statements beyond --most."""
    refused = {text for text, _, _ in made.refused}
    others = [each for each in made.grouped.statements if each not in made.statements]
    return [each for each in others if each.shown not in refused]


def _short(text: str) -> str:
    return shorten(text, 90, placeholder=" ...")
