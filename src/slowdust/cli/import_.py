"""`slowdust import`: archived runs become experiments like any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slowdust.cli.groups import LazyGroup
from slowdust.cli.options import NamedPath, options

if TYPE_CHECKING:
    from slowdust.exchange import Kind, Option

_BUNDLE = "bundle"


class _Kinds(LazyGroup):
    """A command for each kind of archive; they are loaded when one of them is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from slowdust.kinds import KINDS

        return sorted([_BUNDLE, *(kind.name for kind in KINDS)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from slowdust.kinds import KINDS

        if cmd_name == _BUNDLE:
            return _bundle
        return next((_command(kind) for kind in KINDS if kind.name == cmd_name), None)


@click.group(
    "import",
    cls=_Kinds,
)
def command() -> None:
    """Bring archived runs of other tools, or bundles of Slowdust, into the store.

    From then on list, show, report and --base work on them as on experiments that were measured.
    """


@click.command(
    _BUNDLE,
    short_help="Import an experiment from a file of `slowdust bundle`.",
    params=[
        click.Option(["--name"], help="Name of the experiment here.  [the one it had]"),
        *options("import", "results"),
    ],
)
@click.argument("file", type=NamedPath(dir_okay=False))
def _bundle(file: Path, name: str | None, results: Path) -> None:
    """Bring the experiment of a bundle, FILE, into the results folder.

    It is the experiment as it was measured, with its note and tags: report, show, history, diff and
    site work on it as on any other. A bundle is checked before anything of it is kept.
    """
    from slowdust.store.bundle import unpack

    folder = unpack(file, results, name)
    click.echo(f"{folder.name}: imported, `slowdust report {folder.typed}` shows it")


def _command(kind: Kind) -> click.Command:
    own = [
        click.Option(
            ["--name"],
            help="Name of the experiment; of several, its beginning.  [the directory's]",
        ),
        click.Option(
            ["--compat", "mode"],
            flag_value="compat",
            help="Import the published numbers as printed.",
        ),
        *map(_option, kind.options),
        *options("import", "results"),
    ]

    @click.command(kind.name, help=kind.help, short_help=kind.summary, params=own)
    @click.argument(
        "directories",
        nargs=-1,
        required=True,
        metavar="DIR...",
        type=NamedPath(exists=True, file_okay=False),
    )
    def run(
        directories: tuple[Path, ...],
        name: str | None,
        mode: str | None,
        results: Path,
        **given: Any,  # noqa: ANN401 - click's options
    ) -> int:
        from slowdust.exchange import Mode, import_results
        from slowdust.formats.text import visible
        from slowdust.kinds import KINDS
        from slowdust.report.imports import summary_lines

        chosen = Mode(mode or Mode.CLEAN)
        outcome = import_results(
            kind, KINDS, directories, results, name=name, mode=chosen, options=given
        )
        for line in summary_lines(outcome):
            click.echo(visible(line))
        return 0 if outcome.experiments else 1

    return run


def _option(option: Option) -> click.Option:
    if option.values:
        return click.Option([option.flag], type=click.Choice(option.values), help=option.help)
    number = None if option.least is None else click.IntRange(option.least)
    return click.Option([option.flag], type=number, help=option.help)
