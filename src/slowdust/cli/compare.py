"""`slowdust compare`: an experiment that is described by options."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path

import click

from slowdust.analysis.results.gate import Gate
from slowdust.benchmarks import BENCHMARKS, DEFAULT
from slowdust.benchmarks.options import Option
from slowdust.builds.recipe import DEFAULT_FLAGS, FLAG_SETS
from slowdust.cli import completion
from slowdust.cli.conduct import conduct
from slowdust.cli.options import WORDS, Row, WhenTooShort, options, rows_of
from slowdust.errors import UsageError
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.host_locks import WhenBusy
from slowdust.experiment.journal import StartMode
from slowdust.experiment.spec.options import spec_from_options
from slowdust.store.experiments import free_name
from slowdust.store.folder import Folder
from slowdust.wording import listing

_NAMES = (
    "tests suite benchmark workload clients rows tables budget patience slice "
    "incarnations margin rate arrivals seed count count-budget simulate cpus profile "
    "waits keep memory pool repo flags name"
)
_GENERAL = rows_of("compare", _NAMES)
_LISTS = {
    "benchmark": f"{listing(tuple(BENCHMARKS), 'or')}.  [{DEFAULT.name}]",
    "flags": f"{', '.join(FLAG_SETS)}.  [{DEFAULT_FLAGS}]",
}
"""What is listed at the end of an option's help."""


def _help(row: Row) -> str:
    """Return the help of a general option, with what it means for some benchmarks, or why not."""
    texts = [row.help, _LISTS[row.name]] if row.name in _LISTS else [row.help]
    for benchmark in BENCHMARKS.values():
        own = [other.help for other in benchmark.options if other.name == f"--{row.name}"]
        texts += [f"{benchmark.name}: {text}" for text in own]
        if not own and (reason := benchmark.unused_keys.get(row.name.replace("-", "_"))):
            texts.append(f"Does not apply to {benchmark.name}: {reason}.")
    return " ".join(texts)


_AMOUNTS = {"INTEGER": "count", "NUMBER": "number"}
"""Value of a benchmark's own option -> what reads it; all others are text."""


def _own_options() -> list[click.Option]:
    """Return the options of benchmarks that are no general ones; some belong to several."""
    general = {f"--{row.name}" for row in _GENERAL}
    own = [
        (benchmark.name, option)
        for benchmark in BENCHMARKS.values()
        for option in benchmark.options
        if option.name not in general
    ]
    first = {option.name: option for _, option in reversed(own)}
    texts: dict[str, list[str]] = {}
    for benchmark, option in own:
        texts.setdefault(option.name, []).append(f"{benchmark}: {option.help}")
    return [_own_row(first[name]).option(" ".join(helps)) for name, helps in texts.items()]


def _own_row(option: Option) -> Row:
    value = option.metavar or "-"
    traits = "switch" if option.metavar is None else _AMOUNTS.get(value, "-")
    return Row(option.name.removeprefix("--"), "-", value, traits, "compare", option.help)


_OPTIONS = [
    *(row.option(_help(row)) for row in _GENERAL),
    *_own_options(),
    *options("compare", "resume set fail-on yes no-wait results"),
]


@click.command("compare", params=_OPTIONS, epilog=WORDS)
@click.argument(
    "contenders",
    nargs=-1,
    required=True,
    metavar="BASE [CONTENDER]...",
    shell_complete=completion.builds,
)
def command(
    *,
    contenders: tuple[str, ...],
    resume: bool,
    results: Path,
    when_busy: WhenBusy,
    gates: list[Gate],
    too_short: WhenTooShort,
    **options: object,
) -> int:
    """Measure contenders side by side and say what got slower.

    A contender is DBMS@VERSION[/ENGINE][:CONFIG][+ENV...], a directory with binaries,
    ./pg-patched[:CONFIG], or a server that runs already, postgres://USER@HOST/DATABASE, and the
    same with mysql, mariadb or mongodb. The first one is the base. `slowdust builds list` shows
    every DBMS and version; ENGINE is a storage engine, where the DBMS has several (innodb, rocksdb,
    memory); ENV is an allocator (glibc, jemalloc, tcmalloc) or NAME=VALUE. `slowdust tests` lists
    the tests.

    \b
    slowdust compare postgres@15.8 postgres@17.6
    slowdust compare mysql@5.6.24 mysql@9.7.4:small
    slowdust compare mariadb@10.11.18/innodb mariadb@10.11.18/rocksdb
    slowdust compare mysql@9.7.4+glibc mysql@9.7.4+jemalloc
    slowdust compare postgres@17.6 ./pg-patched --tests 'point*,range*' --budget 5m
    slowdust compare postgres@git:master~1 postgres@git:master --repo ./postgres
    slowdust compare postgres@git:master --repo ./postgres --flags o2,o3
    slowdust compare postgres://ann@db1/bench postgres://ann@db2/bench --clients 8
    """
    mode = StartMode.RESUME if resume else StartMode.FRESH
    if resume and options["name"] is None:
        raise UsageError("--resume needs the --name of the experiment that goes on")
    spec = spec_from_options(contenders, options)
    if options["name"] is not None:
        experiment = Experiment(Folder.of(results, spec.name), spec, mode)
        return conduct(experiment, when_busy, gates=gates, too_short=too_short)
    with free_name(results, spec.name) as name:
        named = spec.model_copy(update={"name": name})
        experiment = Experiment.create(named, results)
        return conduct(experiment, when_busy, gates=gates, too_short=too_short)


_guides = [cleandoc(benchmark.guide) for benchmark in BENCHMARKS.values() if benchmark.guide]
command.help = "\n\n".join([cleandoc(command.help or ""), *_guides])
