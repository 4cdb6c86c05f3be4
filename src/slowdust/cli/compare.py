"""`slowdust compare`: an experiment from options alone."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from slowdust.benchmarks import BENCHMARKS, DEFAULT
from slowdust.cli.options import results_option

_GENERAL = [
    click.Option(
        ["--tests"],
        help="Tests by name or pattern, such as 'point*,update-index'. See `slowdust tests`.",
        metavar="LIST",
    ),
    click.Option(
        ["--suite"], help="quick, default (METHOD's order) or full (reads before the writes)."
    ),
    click.Option(
        ["--benchmark"], help=f"{' or '.join(BENCHMARKS)}, see `slowdust tests`.  [{DEFAULT.name}]"
    ),
    click.Option(["--clients"], help="Concurrent clients: 1 or 1,8,64.  [1]", metavar="LIST"),
    click.Option(["--rows"], help="Rows of each table.  [100000]", metavar="LIST"),
    click.Option(["--tables"], help="Number of tables.  [1]", type=int),
    click.Option(
        ["--budget"], help="Wall clock for all measuring: 90s, 10m.  [10m]", metavar="TIME"
    ),
    click.Option(["--slice"], help="Length of one slice.  [100ms]", metavar="TIME"),
    click.Option(
        ["--incarnations"],
        help="Restarts of the servers, at least 2 to be sure; long steps all run in each.",
        type=int,
    ),
    click.Option(
        ["--margin"],
        help="Relative difference up to which two are the same.  [3%]",
        metavar="PERCENT",
    ),
    click.Option(
        ["--rate"], help="Open loop: operations/s, latency from the schedule.", type=float
    ),
    click.Option(
        ["--arrivals"],
        help="Arrivals of the operations at a --rate.  [poisson]",
        type=click.Choice(["poisson", "uniform"]),
    ),
    click.Option(["--seed"], help="Seed of rows and operations.  [1]", type=int),
    click.Option(["--name"], help="Name of the experiment.  [made from contenders and time]"),
    click.Option(
        ["--set", "settings"],
        multiple=True,
        metavar="KEY=VALUE",
        help="A server setting; repeatable. One setting with two values makes a contender of each.",
    ),
]


def _notes(name: str) -> Iterator[str]:
    """Say for which benchmarks a general option means something else, or nothing."""
    for benchmark in BENCHMARKS.values():
        own = [option.help for option in benchmark.options if option.name == name]
        if own:
            yield f"{benchmark.name}: {own[0]}"
        elif reason := benchmark.unused_keys.get(name.removeprefix("--")):
            yield f"Not of {benchmark.name}: {reason}."


for _option in _GENERAL:
    _option.help = " ".join([_option.help or "", *_notes(_option.opts[0])])


def _own_options() -> list[click.Option]:
    """Make the options that one benchmark alone has."""
    general = {option.opts[0] for option in _GENERAL}
    return [
        click.Option(
            [own.name],
            help=f"{benchmark.name}: {own.help}",
            metavar=own.metavar,
            is_flag=own.sets is not None,
            default=None,
        )
        for benchmark in BENCHMARKS.values()
        for own in benchmark.options
        if own.name not in general
    ]


@click.command("compare", params=[*_GENERAL, *_own_options()])
@click.argument("contenders", nargs=-1, required=True, metavar="BASE CONTENDER...")
@results_option
def command(contenders: tuple[str, ...], results: Path, **options: object) -> int:
    """Measure contenders side by side and say what got slower.

    A contender is DBMS@VERSION[/ENGINE][:CONFIG][+ENV...] or a directory with binaries,
    ./pg-patched[:CONFIG]. The first one is the base. DBMS is postgres, mysql or mariadb; ENGINE a
    storage engine of the latter two (innodb, rocksdb, memory); ENV an allocator (glibc, jemalloc,
    tcmalloc) or NAME=VALUE. `slowdust builds list` shows the versions.

    \b
    slowdust compare postgres@15.8 postgres@17.6
    slowdust compare mysql@5.6.24 mysql@9.7.4:small
    slowdust compare mariadb@10.11.18/innodb mariadb@10.11.18/rocksdb
    slowdust compare mysql@9.7.4+glibc mysql@9.7.4+jemalloc
    slowdust compare postgres@17.6 ./pg-patched --tests 'point*,range*' --budget 5m
    """
    from slowdust.cli.conduct import conduct
    from slowdust.experiment.journal import StartMode
    from slowdust.experiment.spec.options import spec_from_options

    return conduct(spec_from_options(contenders, options), results, StartMode.FRESH)


_guides = [benchmark.guide for benchmark in BENCHMARKS.values() if benchmark.guide]
command.help = "\n".join([cleandoc(command.help or ""), *_guides])
