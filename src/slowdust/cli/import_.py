"""`slowdust import`: archived runs become experiments like any other."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.options import results_option

_directories = click.argument(
    "directories",
    nargs=-1,
    required=True,
    metavar="DIR...",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
_name = click.option(
    "--name", help="Name of the experiment, or beginning of several names.  [the directory's]"
)
_mode = click.option(
    "--compat", "mode", flag_value="compat", help="Reproduce the published numbers exactly."
)


@click.group("import")
def command() -> None:
    """Bring archived runs of other tools into the store.

    Afterwards list, show, report and --base work on them as on measured experiments.
    """


@command.command("sysbench", short_help="Run directories of sysbench, and their summary tables.")
@_directories
@_name
@_mode
@click.option("--device", help="Part of the device's name in iostat: md2.  [the busiest device]")
@click.option(
    "--scan",
    type=click.Choice(["all-threads", "one-thread"]),
    help="Threads that the published rate of scan counts.  [found out by the numbers or the date]",
)
@click.option("--clients", type=click.IntRange(1), help="Clients of tables without the number.")
@results_option
def sysbench(  # noqa: PLR0917 - click's options
    directories: tuple[Path, ...],
    name: str | None,
    mode: str | None,
    device: str | None,
    scan: str | None,
    clients: int | None,
    results: Path,
) -> int:
    """Import run directories of sysbench and their summary tables, in any combination.

    DIR is searched at any depth; each directory that has run directories, or only tables, becomes
    one experiment. Without --compat the numbers are clean: the known errors of the published ones
    are corrected, and the command prints how large they are. docs/import.md describes the formats.

    \b
    slowdust import sysbench archive/mar25.pg.workmem.c48
    slowdust import sysbench archive --compat --device md2
    """
    from slowdust.archive.importing import import_sysbench
    from slowdust.archive.summary import lines_of
    from slowdust.archive.sysbench.choices import Choices, Mode
    from slowdust.formats.sysbench.rates import ScanRule

    choices = Choices(
        mode=Mode(mode or Mode.CLEAN),
        device=device,
        scan=ScanRule(scan.replace("-", " ")) if scan else None,
        clients=clients,
    )
    summary = import_sysbench(directories, results, name, choices)
    for line in lines_of(summary):
        click.echo(line)
    return 0 if summary.experiments else 1


@command.command("iibench", short_help="Results of the Insert Benchmark: o.sum, mrg, o.ib ...")
@_directories
@_name
@_mode
@click.option("--clients", type=click.IntRange(1), help="Number of clients.  [from the files]")
@results_option
def iibench(
    directories: tuple[Path, ...],
    name: str | None,
    mode: str | None,
    clients: int | None,
    results: Path,
) -> int:
    """Import results of the Insert Benchmark: o.sum, mrg, rel, o.ib, o.res, in any combination.

    DIR is searched at any depth; each directory with files o.sum, or with only tables (res.*) or
    run directories, becomes one experiment. Without --compat the rates are taken from the clients'
    own output where it exists.

    \b
    slowdust import iibench archive/ibench.jan2021
    """
    from slowdust.archive.insert.importing import import_iibench
    from slowdust.archive.summary import lines_of
    from slowdust.archive.sysbench.choices import Mode

    summary = import_iibench(directories, results, name, Mode(mode or Mode.CLEAN), clients)
    for line in lines_of(summary):
        click.echo(line)
    return 0 if summary.experiments else 1
