"""`slowdust compare`: an experiment that is described by options."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowdust.benchmarks import BENCHMARKS, DEFAULT
from slowdust.benchmarks.options import Option
from slowdust.builds.compiling.flags import DEFAULT_FLAGS, FLAG_SETS
from slowdust.cli import completion
from slowdust.cli.options import (
    WORDS,
    amount,
    fail_on_option,
    no_wait_option,
    results_option,
    yes_option,
)
from slowdust.units import parse_count, parse_number
from slowdust.wording import listing

if TYPE_CHECKING:
    from slowdust.analysis.results.gate import Gate
    from slowdust.cli.conduct import WhenTooShort
    from slowdust.experiment.claims.claim import WhenBusy

_GENERAL = (
    Option("--tests", "LIST", "Names or patterns of tests: 'point*,update-index'."),
    Option(
        "--suite",
        "NAME",
        "quick, default, or full (with reads before the writes).  [default]",
    ),
    Option("--benchmark", "NAME", f"{listing(tuple(BENCHMARKS), 'or')}.  [{DEFAULT.name}]"),
    Option("--workload", "FILE", "Your own workload, a TOML file, in place of a benchmark."),
    Option("--clients", "LIST", "Concurrent clients: 1 or 1,8,64.  [1]"),
    Option("--rows", "LIST", "Rows of each table.  [100000]"),
    Option("--tables", "INTEGER", "Number of tables.  [1]"),
    Option(
        "--budget",
        "TIME",
        "Wall clock for all measuring: 90s, 10m.  [10m; insert: as many incarnations as planned]",
    ),
    Option(
        "--patience",
        "TIME",
        "Longest wait for one operation of a test, after which the test has failed; and for one "
        "statement of loading and maintenance.  [the budget, 60s at least; loading and "
        "maintenance: 1h, more for many rows]",
    ),
    Option("--slice", "TIME", "Length of one slice.  [chosen for each test, 25 to 250ms]"),
    Option(
        "--incarnations",
        "INTEGER",
        "Starts of the servers that are planned; a test ends early from the third on, the fourth "
        "with one or two tests. Running servers have their tables made anew.  [3 to 6, by the "
        "budget; 1 with running servers]",
    ),
    Option("--margin", "PERCENT", "Largest change that counts as the same.  [3%]"),
    Option("--rate", "NUMBER", "Open loop: operations/s, latency from the schedule."),
    Option("--arrivals", "[poisson|uniform]", "Distribution of the arrivals of --rate.  [poisson]"),
    Option("--seed", "INTEGER", "Seed of the random rows and operations.  [1]"),
    Option(
        "--count",
        "[auto|pmu|valgrind|off]",
        "Count instructions per operation, after the timed part, with one client.  "
        "[auto: by the processor, else by valgrind]",
    ),
    Option(
        "--count-budget",
        "TIME",
        "Wall clock for counting: 90s, 10m. What it does not suffice for is left out.  [as long as "
        "the timed part took, and a minute at least]",
    ),
    Option(
        "--simulate",
        None,
        "Let valgrind simulate caches and branch prediction too, where it counts: several times "
        "slower.",
    ),
    Option("--cpus", "LIST", "CPUs to measure on: 2,3 or 2-3.  [all that may be used]"),
    Option(
        "--profile",
        None,
        "Sample where the servers' CPU time goes, by perf, after what is timed: functions and "
        "call stacks.",
    ),
    Option(
        "--waits",
        None,
        "Observe what the servers wait for, after what is timed: locks, files, the disk.",
    ),
    Option(
        "--keep",
        None,
        "Keep the schema that Slowdust makes in each running server, with its tables.",
    ),
    Option(
        "--memory",
        "SIZE",
        "Limit the memory of each server, with what the kernel caches for it: 256MB.  [none]",
    ),
    Option(
        "--pool",
        "SIZE",
        "Page cache of each server, whatever its DBMS calls it: 64MB. The kernel's cache of the "
        "data is dropped before each slice.  [a share of the host's memory]",
    ),
    Option("--repo", "DIRECTORY|URL", "The repository of contenders like postgres@git:REF."),
    Option(
        "--flags",
        "LIST",
        "Sets of compiler flags, each a contender, for those that are compiled here: "
        f"{', '.join(FLAG_SETS)}.  [{DEFAULT_FLAGS}]",
    ),
    Option("--name", "NAME", "Name of the experiment.  [from contenders and time]"),
)
_COMPLETED = {"--tests": completion.tests, "--benchmark": completion.benchmarks}
"""What a shell completes behind an option."""
_GENERAL_NAMES = {option.name for option in _GENERAL}


def _help(option: Option) -> str:
    """Return the help of a general option, with what it means for some benchmarks, or why not."""
    texts = [option.help]
    for benchmark in BENCHMARKS.values():
        own = [other.help for other in benchmark.options if other.name == option.name]
        texts += [f"{benchmark.name}: {text}" for text in own]
        if not own and (reason := benchmark.unused_keys.get(option.parameter)):
            texts.append(f"Does not apply to {benchmark.name}: {reason}.")
    return " ".join(texts)


_AMOUNTS = {"INTEGER": amount(parse_count), "NUMBER": amount(parse_number)}
"""Metavar -> what reads the value; all others are text, which the specification reads."""


def _click_option(option: Option, text: str) -> click.Option:
    kind: type | click.Choice[str] = bool if option.metavar is None else str
    if option.metavar and option.metavar.startswith("["):
        kind = click.Choice(option.metavar[1:-1].split("|"))
    is_flag = option.metavar is None
    return click.Option(
        [option.name],
        metavar=option.metavar,
        help=text,
        type=kind,
        is_flag=is_flag,
        callback=_AMOUNTS.get(option.metavar or ""),
        default=None,
        shell_complete=_COMPLETED.get(option.name),
    )


def _own_options() -> list[click.Option]:
    """Return the options of benchmarks that are no general ones; some belong to several."""
    own = [
        (benchmark.name, option)
        for benchmark in BENCHMARKS.values()
        for option in benchmark.options
        if option.name not in _GENERAL_NAMES
    ]
    first = {option.name: option for _, option in reversed(own)}
    texts: dict[str, list[str]] = {}
    for benchmark, option in own:
        texts.setdefault(option.name, []).append(f"{benchmark}: {option.help}")
    return [_click_option(first[name], " ".join(helps)) for name, helps in texts.items()]


_OPTIONS = [*(_click_option(option, _help(option)) for option in _GENERAL), *_own_options()]


@click.command("compare", params=_OPTIONS, epilog=WORDS)
@click.argument(
    "contenders",
    nargs=-1,
    required=True,
    metavar="BASE [CONTENDER]...",
    shell_complete=completion.builds,
)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with the stopped experiment --name, with the same options.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Server setting; repeatable. Each value of a repeated KEY becomes a contender.",
)
@fail_on_option
@yes_option
@no_wait_option
@results_option
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
    from slowdust.cli.conduct import conduct
    from slowdust.errors import UsageError
    from slowdust.experiment.experiment import Experiment
    from slowdust.experiment.journal import StartMode
    from slowdust.experiment.spec.options import spec_from_options
    from slowdust.store.folder import Folder
    from slowdust.store.keeping.experiments import free_name

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
