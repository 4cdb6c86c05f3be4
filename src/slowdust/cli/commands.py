"""The commands as data: `commands.toml` has names, arguments and help, `options.tsv` the options.

Help needs nothing else. `load` imports what carries out a command once it is called.
"""

from __future__ import annotations

import importlib
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from slowdust.errors import UsageError
from slowdust.places import RESULTS_VARIABLE
from slowdust.report import formats
from slowdust.report.formats import Destination, Format
from slowdust.shipped_tables import read_table
from slowdust.units import parse_count, parse_duration, parse_number, parse_percentage
from slowdust.wording import no_such

_WORDS = (
    "Words: a contender is a build with its settings, the base the first of them. They take turns "
    "in slices, short timed measurements. An incarnation is one start of the servers: results "
    "move from one to the next. rqps is the throughput of a contender relative to the base's, "
    "above 1 if it is faster."
)
"""Terms of the help, for the end of it."""
_AMOUNTS: Mapping[str, Callable[[str], float]] = {
    "count": parse_count,
    "duration": parse_duration,
    "number": parse_number,
    "percent": parse_percentage,
}
_BENCHMARKS = "@BENCHMARKS"
"""Stands for the options of benchmarks in a list; other words with @ are lists of formats."""
_UNUSED = "unused"


def load(place: str) -> Callable[..., Any]:
    """Import a function of this package, 'MODULE:FUNCTION'. No other code here imports one late."""
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(f"slowdust.cli.{module}"), name)
    return function


def _loading(place: str, *arguments: object, **more: object) -> Any:  # noqa: ANN401 - any function
    return load(place)(*arguments, **more)


class NamedPath(click.Path):
    """A path that a user writes. An empty one is refused: it would be the working directory."""

    def __init__(self, **rules: bool) -> None:
        super().__init__(path_type=Path, **rules)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path. Raises UsageError for an empty one."""
        if not os.fspath(value):
            where = param.get_error_hint(ctx) if param is not None and ctx is not None else "path"
            raise UsageError(f"{where} is empty: name a file or a directory")
        return super().convert(value, param, ctx)


_PATHS = {
    "path": NamedPath(),
    "file": NamedPath(dir_okay=False),
    "folder": NamedPath(file_okay=False),
    "existing-folder": NamedPath(exists=True, file_okay=False),
}


@dataclass(frozen=True)
class Row:
    """An option as some commands have it."""

    name: str
    parameter: str
    """The parameter of the command; `-` if it is called like the option."""
    value: str
    """The kind of its value; `[a|b]` lists the choices; `-` without one."""
    traits: str
    commands: str
    help: str

    def option(self, text: str = "") -> click.Option:
        """Return the option, by default with the row's own text."""
        kind: dict[str, Any] = {"help": text or self.help}
        if self.value.startswith("["):
            kind["type"] = click.Choice(self.value[1:-1].split("|"))
        if self.value != "-":
            kind["metavar"] = self.value
        names = [f"--{self.name}"]
        for trait in self.traits.split():
            word, _, value = trait.partition("=")
            if word == "short":
                names.insert(0, f"-{value}")
            kind |= _click_words(word, value)
        parameter = self.name.replace("-", "_") if self.parameter == "-" else self.parameter
        return click.Option([*names, parameter], **kind)


def _click_words(word: str, value: str) -> dict[str, Any]:
    """Return what click has to know of a trait, WORD or WORD=VALUE."""
    match word:
        case "flag":
            return {"is_flag": True}
        case "switch":
            return {"is_flag": True, "default": None}
        case "stands-for":
            return {"flag_value": value}
        case "repeated":
            return {"multiple": True}
        case "required":
            return {"required": True}
        case "default" | "silently":
            return {"default": value, "show_default": word == "default"}
        case "completes":
            return {"shell_complete": partial(_loading, f"completion:{value}")}
        case "reads":
            return {"callback": partial(_loading, f"values:{value}")}
        case "range":
            least, _, most = value.partition("..")
            return {"type": click.IntRange(int(least), int(most) if most else None)}
        case "results" | "stored":
            return {
                "type": _PATHS["folder"],
                "default": Path("results"),
                "envvar": RESULTS_VARIABLE,
                "show_default": True,
                "callback": partial(_loading, "values:there") if word == "stored" else None,
            }
    if word in _PATHS:
        return {"type": _PATHS[word]}
    return {"callback": _amount(_AMOUNTS[word])} if word in _AMOUNTS else {}


def _amount(
    parse: Callable[[str], float],
) -> Callable[[click.Context, click.Parameter, str | None], float | None]:
    """Return a callback for an option whose value may have a unit."""

    def read(context: click.Context, option: click.Parameter, text: str | None) -> float | None:
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            raise click.BadParameter(str(error), context, option) from None

    return read


@cache
def options_table() -> Sequence[Row]:
    """Return the options of all commands."""
    return [Row(*row) for row in read_table("cli/options.tsv")]


@cache
def declared() -> Mapping[str, Mapping[str, Any]]:
    """Return the table of each command by its words: 'compare', 'builds get'; groups too."""
    return tomllib.loads(files("slowdust.cli").joinpath("commands.toml").read_text("utf-8"))


def _options(command: str, names: str) -> list[click.Parameter]:
    """Return options of a command by their names, in this order, as click's."""
    key = command.replace(" ", "-")
    own = {row.name: row for row in options_table() if key in row.commands.split()}
    found: list[click.Parameter] = []
    for name in names.split():
        if name == _BENCHMARKS:
            found += _of_benchmarks(own)
        elif name.startswith("@"):
            found += _formats(getattr(formats, name[1:]))
        else:
            found.append(
                own[name].option(_in_benchmarks(own[name]) if _BENCHMARKS in names else "")
            )
    return found


def _in_benchmarks(row: Row) -> str:
    """Return the help of a general option, with what it means for some benchmarks, or why not."""
    texts, own = [row.help], set()
    for benchmark, name, value, _, text in read_table("benchmarks/options.tsv"):
        if name == row.name and value != _UNUSED:
            own.add(benchmark)
            texts.append(f"{benchmark}: {text}")
        elif name == row.name and benchmark not in own:
            texts.append(f"Does not apply to {benchmark}: {text}.")
    return " ".join(texts)


def _of_benchmarks(general: Mapping[str, Row]) -> list[click.Option]:
    """Return the options of benchmarks that are no general ones; some belong to several."""
    rows: dict[str, Row] = {}
    for benchmark, name, value, _, text in read_table("benchmarks/options.tsv"):
        if name in general or value == _UNUSED:
            continue
        traits = {"-": "switch", "INTEGER": "count", "NUMBER": "number"}.get(value, "-")
        first = rows.get(name)
        texts = f"{benchmark}: {text}" if first is None else f"{first.help} {benchmark}: {text}"
        shown, kind = (value, traits) if first is None else (first.value, first.traits)
        rows[name] = Row(name, "-", shown, kind, "compare", texts)
    return [row.option() for row in rows.values()]


def _choose_form(name: str, context: click.Context, option: click.Parameter, chosen: bool) -> None:  # noqa: FBT001
    """Keep the format to print as the parameter `form`; refuse a second one."""
    del option
    form = context.params.setdefault("form", None)
    if chosen and form is not None:
        raise click.UsageError(
            f"--{form} and --{name} both print to standard output: give one of them", context
        )
    if chosen:
        context.params["form"] = name


def _formats(listed: Sequence[Format[*tuple[Any, ...]]]) -> list[click.Parameter]:
    """Return an option for each format.

    The parameter `form` is the name of the format to print; one that is written to a file has a
    parameter of its own name, the path.
    """
    return [
        click.Option([f"--{form.name}"], type=_PATHS["file"], help=form.help)
        if form.destination is Destination.FILE
        else click.Option(
            [f"--{form.name}"],
            is_flag=True,
            expose_value=False,
            callback=partial(_choose_form, form.name),
            help=form.help,
        )
        for form in listed
    ]


def _argument(
    name: str,
    kind: str = "",
    completes: str = "",
    **words: Any,  # noqa: ANN401 - click's
) -> click.Argument:
    if completes:
        words["shell_complete"] = partial(_loading, f"completion:{completes}")
    words.setdefault("required", "default" not in words)
    return click.Argument([name], type=_PATHS.get(kind), **words)


def command(words: str) -> click.Command:
    """Return a command or a group by its words: 'compare', 'builds get', 'builds'."""
    table = declared()[words]
    name, text = words.rpartition(" ")[2], table["help"]
    if "does" not in table:
        return Commands(name=name, of=f"{words} ", help=text, short_help=table["summary"])
    parameters: list[click.Parameter] = [_argument(**each) for each in table.get("arguments", ())]
    return click.Command(
        name,
        params=[*parameters, *_options(words, table.get("options", ""))],
        callback=partial(_loading, table["does"], **table.get("given", {})),
        help=text,
        short_help=table["summary"],
        epilog=_WORDS if table.get("explains_words") else None,
    )


class Commands(click.Group):
    """A group of commands, which are made when one is asked for."""

    def __init__(self, *, of: str = "", **more: Any) -> None:  # noqa: ANN401 - click's
        """`of` are the words before its commands: 'builds '."""
        super().__init__(**more)
        self._of = of

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        names = (each.removeprefix(self._of) for each in declared() if each.startswith(self._of))
        return [name for name in names if " " not in name]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command(f"{self._of}{cmd_name}") if cmd_name in self.list_commands(ctx) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown one has the nearest, which click cannot know.

        Click looks for it among the commands that are loaded.
        """
        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            raise click.UsageError(no_such("command", args[0], names), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [
            (name, declared()[f"{self._of}{name}"]["summary"]) for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
