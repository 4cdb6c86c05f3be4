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
    "--name", help="Name of the experiment; of several, its beginning.  [the directory's]"
)
_mode = click.option(
    "--compat", "mode", flag_value="compat", help="The published numbers, digit by digit."
)


@click.group("import")
def command() -> None:
    """Bring archived runs of other tools into the store.

    From then on list, show, report and --base work on them as on experiments that were measured.
    """


@command.command("sysbench", short_help="Run directories of sysbench, and their summary tables.")
@_directories
@_name
@_mode
@click.option("--device", help="Part of the device's name in iostat: md2.  [the busiest]")
@click.option(
    "--scan",
    type=click.Choice(["all-threads", "one-thread"]),
    help="What the published rate of scan is of.  [what reproduces it, or by date]",
)
@click.option("--clients", type=click.IntRange(1), help="Of tables that do not tell.")
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
    """Import run directories of sysbench and their summary tables, in any mixture.

    DIR is searched at any depth; each directory that holds run directories, or tables alone,
    becomes one experiment. Without --compat the numbers are clean: without the known errors of
    the published ones, and it is said how large these are. docs/import.md has the formats.

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
    found = import_sysbench(directories, results, name, choices)
    for line in lines_of(found):
        click.echo(line)
    return 0 if found.experiments else 1


@command.command("iibench", short_help="Results of the Insert Benchmark: o.sum, mrg, o.ib ...")
@_directories
@_name
@_mode
@click.option("--clients", type=click.IntRange(1), help="How many there were.  [what files tell]")
@results_option
def iibench(
    directories: tuple[Path, ...],
    name: str | None,
    mode: str | None,
    clients: int | None,
    results: Path,
) -> int:
    """Import results of the Insert Benchmark: o.sum, mrg, rel, o.ib, o.res, in any mixture.

    DIR is searched at any depth; each directory with files o.sum, or the one that holds tables
    (res.*) or run directories alone, becomes one experiment. Without --compat the rates are those
    of the clients' own output where that is there.

    \b
    slowdust import iibench archive/ibench.jan2021
    """
    from slowdust.archive.insert.importing import import_iibench
    from slowdust.archive.summary import lines_of
    from slowdust.archive.sysbench.choices import Mode

    found = import_iibench(directories, results, name, Mode(mode or Mode.CLEAN), clients)
    for line in lines_of(found):
        click.echo(line)
    return 0 if found.experiments else 1
