"""`slowdust compare`: an experiment that is described by options."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.benchmarks import BENCHMARKS, DEFAULT
from slowdust.benchmarks.insert import WORKLOADS
from slowdust.cli.options import results_option


@click.command("compare")
@click.argument("contenders", nargs=-1, required=True, metavar="BASE CONTENDER...")
@click.option(
    "--tests",
    metavar="LIST",
    help="Names or patterns of tests: 'point*,update-index'. `slowdust tests` lists them.",
)
@click.option("--suite", help="quick, default, or full (with reads before the writes).  [default]")
@click.option(
    "--benchmark", help=f"{' or '.join(BENCHMARKS)}, see `slowdust tests`.  [{DEFAULT.name}]"
)
@click.option(
    "--clients",
    metavar="LIST",
    help="Concurrent connections: 1 or 1,8,64. Of insert: each has several.  [1]",
)
@click.option(
    "--rows", metavar="LIST", help="Rows of each table.  [100000] Of insert: X0[,X1,X2], see below."
)
@click.option(
    "--tables", type=int, help="Number of tables.  [1] Not of insert: see --shared-table."
)
@click.option(
    "--budget",
    metavar="TIME",
    help="Wall clock for all measuring: 90s, 10m.  [10m] Not of insert.",
)
@click.option(
    "--slice", metavar="TIME", help="Length of one slice.  [100ms] Not of insert: see --seconds."
)
@click.option(
    "--incarnations",
    type=int,
    help="Starts of the servers; a verdict needs at least 2. Of insert: how often all steps run.",
)
@click.option("--margin", metavar="PERCENT", help="Largest change that counts as the same.  [3%]")
@click.option(
    "--rate",
    type=float,
    help="Open loop: operations/s, latency from the schedule. Not of insert: see --rates.",
)
@click.option(
    "--arrivals",
    type=click.Choice(["poisson", "uniform"]),
    help="Distribution of the arrivals of --rate.  [poisson]",
)
@click.option("--seed", type=int, help="Seed of the random rows and operations.  [1]")
@click.option("--name", help="Name of the experiment.  [from contenders and time]")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Server setting; repeatable. Each value of a repeated KEY becomes a contender.",
)
@click.option(
    "--workload",
    metavar="NAME",
    help=f"insert: size of the data, {', '.join(WORKLOADS)}.  [quick]",
)
@click.option("--seconds", metavar="TIME", help="insert: length of each step with queries.")
@click.option(
    "--rates", metavar="LIST", help="insert: rows/s written beside queries.  [100,500,1000]"
)
@click.option(
    "--rows-per-commit",
    metavar="LIST",
    help="insert: of l.i0, l.i1, l.i2 and the steps with queries.  [100,50,5,50]",
)
@click.option("--shared-table", is_flag=True, help="insert: one table for all clients.")
@click.option("--partitions", type=int, help="insert: of each table, by its primary key.  [none]")
@click.option(
    "--long-transaction",
    metavar="TIME",
    help="insert: hold a transaction open so long, again and again, beside the work.",
)
@click.option(
    "--statements",
    type=click.Choice(["prepared", "text"]),
    help="insert: prepared once, or planned each time.  [prepared]",
)
@results_option
def command(contenders: tuple[str, ...], results: Path, **options: object) -> int:
    """Measure contenders side by side and say what got slower.

    A contender is DBMS@VERSION[/ENGINE][:CONFIG][+ENV...] or a directory with binaries,
    ./pg-patched[:CONFIG]. The first one is the base. `slowdust builds list` shows every DBMS and
    version; ENGINE is a storage engine, where the DBMS has several (innodb, rocksdb, memory); ENV
    is an allocator (glibc, jemalloc, tcmalloc) or NAME=VALUE.

    \b
    slowdust compare postgres@15.8 postgres@17.6
    slowdust compare mysql@5.6.24 mysql@9.7.4:small
    slowdust compare mariadb@10.11.18/innodb mariadb@10.11.18/rocksdb
    slowdust compare mysql@9.7.4+glibc mysql@9.7.4+jemalloc
    slowdust compare postgres@17.6 ./pg-patched --tests 'point*,range*' --budget 5m

    The Insert Benchmark has long steps that follow from each other instead of slices: load (l.i0),
    index (l.x), replace rows by large and by small commits (l.i1, l.i2), then range and point
    queries (qr, qp) beside writers at a rate. `quick` ends in minutes; the other workloads are
    relative to the servers' buffer pools and run for hours. --rows says how many rows each
    client inserts in l.i0, l.i1 and l.i2.

    \b
    slowdust compare postgres@15.8 postgres@17.6 --benchmark insert
    slowdust compare mysql@9.7.4 --benchmark insert --set sync_binlog=0 --set sync_binlog=1
    slowdust compare postgres@17.6 ./pg-patched --benchmark insert --workload cached --seconds 10m
    """
    from slowdust.cli.conduct import conduct
    from slowdust.experiment.journal import Beginning
    from slowdust.experiment.spec.options import spec_from_options

    return conduct(spec_from_options(contenders, options), results, Beginning.FRESH)
