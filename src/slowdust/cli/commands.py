"""The commands as data: `commands.toml` has names, arguments and help, `options.tsv` the options.

Help needs nothing else. `load` imports the function of a command when it is called.
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
from click.formatting import wrap_text

from slowdust.errors import UsageError
from slowdust.places import RESULTS_VARIABLE
from slowdust.report import formats
from slowdust.report.formats import Destination, Format
from slowdust.shipped_tables import read_table
from slowdust.units import parse_count, parse_duration, parse_number, parse_percentage
from slowdust.wording import no_such

_WORDS = (
    "Words: a contender is a build with its settings; the first one is the base. A slice is one "
    "short timed measurement. An incarnation is one start of the servers: results differ from "
    "start to start. rqps is the throughput of a contender divided by the base's; above 1 the "
    "contender is faster."
)
"""Terms of the help."""
_NAMES_WIDTH = 20
"""Columns of the options' names; text follows a longer name on the next line."""
_AMOUNTS: Mapping[str, Callable[[str], float]] = {
    "count": parse_count,
    "duration": parse_duration,
    "number": parse_number,
    "percent": parse_percentage,
}
_BENCHMARKS = "@BENCHMARKS"
"""Stands for the help of benchmarks in a list; other words with @ are lists of formats."""
_UNUSED = "unused"


def load(place: str) -> Callable[..., Any]:
    """Import a function of this package, 'MODULE:FUNCTION'. Only this function imports late."""
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(f"slowdust.cli.{module}"), name)
    return function


def loading(place: str, **given: object) -> Callable[..., Any]:
    """Return a function that loads a function of this package once it is called."""
    return lambda *arguments, **more: load(place)(*arguments, **given, **more)


class NamedPath(click.Path):
    """A path that a user writes. An empty path is an error: it would be the working directory."""

    def __init__(self, **rules: bool) -> None:
        super().__init__(path_type=Path, **rules)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path. Raises UsageError if it is empty."""
        if not os.fspath(value):
            where = param.get_error_hint(ctx) if param is not None and ctx is not None else "path"
            raise UsageError(f"{where} is empty: write a file or a directory")
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
    """The parameter of the command; `-` if it has the option's name."""
    value: str
    """The kind of its value; `[a|b]` lists the choices; `-` without one."""
    traits: str
    commands: str
    help: str

    def option(self) -> click.Option:
        kind: dict[str, Any] = {"help": self.help}
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
    """Return click's arguments for a trait, WORD or WORD=VALUE."""
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
            return {"shell_complete": loading(f"completion:{value}")}
        case "reads":
            return {"callback": loading(f"values:{value}")}
        case "range":
            least, _, most = value.partition("..")
            return {"type": click.IntRange(int(least), int(most) if most else None)}
        case "results" | "stored":
            return {
                "type": _PATHS["folder"],
                "default": Path("results"),
                "envvar": RESULTS_VARIABLE,
                "show_default": True,
                "callback": loading("values:there") if word == "stored" else None,
            }
    if word in _PATHS:
        return {"type": _PATHS[word]}
    return {"callback": _amount(_AMOUNTS[word])} if word in _AMOUNTS else {}


def _amount(
    parse: Callable[[str], float],
) -> Callable[[click.Context, click.Parameter, str | None], float | None]:
    """Return a callback that parses a value with an optional unit."""

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
    """Return the table of each command and group by its words: 'compare', 'builds get'."""
    return tomllib.loads(files("slowdust.cli").joinpath("commands.toml").read_text("utf-8"))


def _options(command: str, names: str) -> list[click.Parameter]:
    """Return options of a command by their names, in this order."""
    key = command.replace(" ", "-")
    own = {row.name: row for row in options_table() if key in row.commands.split()}
    found: list[click.Parameter] = []
    for name in names.split():
        if name == _BENCHMARKS:
            found += _benchmark_helps(declared()[command].get("benchmarks", {}))
        elif name.startswith("@"):
            found += _formats(getattr(formats, name[1:]))
        else:
            found.append(own[name].option())
    return found


def _benchmark_helps(described: Mapping[str, Mapping[str, str]]) -> list[click.Parameter]:
    """Return `--help-insert` and the like: for benchmarks with a description or own options."""
    names = dict.fromkeys([*described, *(row[0] for row in read_table("benchmarks/options.tsv"))])
    return [
        click.Option(
            [f"--help-{name}"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=partial(_show_benchmark, name, described.get(name, {})),
            help=described.get(name, {}).get("summary", f"Options of {name}."),
        )
        for name in names
    ]


def _show_benchmark(
    name: str,
    described: Mapping[str, str],
    context: click.Context,
    option: click.Parameter,
    chosen: bool,  # noqa: FBT001 - click's
) -> None:
    """Print the help of a benchmark, and exit."""
    del option
    if not chosen or context.resilient_parsing:
        return
    formatter = context.make_formatter()
    formatter.write_usage(f"slowdust compare --benchmark {name}", "[OPTIONS] BASE [CONTENDER]...")
    _write_paragraphs(formatter, described.get("help", ""))
    general = {row.name for row in options_table() if "compare" in row.commands.split()}
    rows = [row[1:] for row in read_table("benchmarks/options.tsv") if row[0] == name]
    own = [
        (f"--{option}" if value == "-" else f"--{option} {value}", text)
        for option, value, _, text in rows
        if value != _UNUSED
    ]
    used = {option for option, value, *_ in rows if value != _UNUSED}
    unused = [
        (f"--{option}", f"{text[0].upper()}{text[1:]}.")
        for option, value, _, text in rows
        if value == _UNUSED and option in general - used
    ]
    _write_options(formatter, {f"Options of {name}": own, f"Not used by {name}": unused})
    _write_examples(formatter, described.get("examples", ""))
    click.echo(formatter.getvalue().rstrip("\n"))
    context.exit()


def _benchmark_options(command: str) -> list[click.Option]:
    """Return the options of benchmarks that are not general ones; several may share one."""
    general = {row.name for row in options_table() if command in row.commands.split()}
    rows: dict[str, Row] = {}
    for _, name, value, _, text in read_table("benchmarks/options.tsv"):
        if name not in general and value != _UNUSED:
            traits = {"-": "switch", "N": "count", "RATE": "number"}.get(value, "-")
            rows.setdefault(name, Row(name, "-", value, traits, command, text))
    return [row.option() for row in rows.values()]


def _choose_form(name: str, context: click.Context, option: click.Parameter, chosen: bool) -> None:  # noqa: FBT001
    """Store the format to print as the parameter `form`; a second one is an error."""
    del option
    form = context.params.setdefault("form", None)
    if chosen and form is not None:
        raise click.UsageError(
            f"--{form} and --{name} both print to standard output: choose one", context
        )
    if chosen:
        context.params["form"] = name


def _formats(listed: Sequence[Format[*tuple[Any, ...]]]) -> list[click.Parameter]:
    """Return an option for each format.

    The parameter `form` is the name of the format to print. A format that is written to a file has
    a parameter of its own name, the path.
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
        words["shell_complete"] = loading(f"completion:{completes}")
    words.setdefault("required", "default" not in words)
    return click.Argument([name], type=_PATHS.get(kind), **words)


def command(words: str) -> click.Command:
    """Return a command or a group by its words: 'compare', 'builds get', 'builds'."""
    table = declared()[words]
    name, text = words.rpartition(" ")[2], table["help"]
    if "does" not in table:
        return Commands(name=name, of=f"{words} ", help=text, short_help=table["summary"])
    arguments: list[click.Parameter] = [_argument(**each) for each in table.get("arguments", ())]
    listed = table.get("options", "")
    titled = {"Options": listed} if isinstance(listed, str) else listed
    groups = {title: _options(words, names) for title, names in titled.items()}
    options = [option for group in groups.values() for option in group]
    if any(_BENCHMARKS in names.split() for names in titled.values()):
        options += _benchmark_options(words)
    return _Command(
        name,
        groups=groups,
        examples=table.get("examples", ""),
        params=[*arguments, *options],
        callback=loading(table["does"], **table.get("given", {})),
        help=text,
        short_help=table["summary"],
        epilog=_WORDS if table.get("explains_words") else None,
    )


class _Command(click.Command):
    """A command whose help has titled groups of options, and examples at its end."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 - click's
        groups: Mapping[str, Sequence[click.Parameter]],
        examples: str,
        **more: Any,  # noqa: ANN401 - click's
    ) -> None:
        super().__init__(*arguments, **more)
        self._groups, self._examples = groups, examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        last = self.get_help_option(ctx)
        rows = {
            title: [record for each in group if (record := each.get_help_record(ctx))]
            for title, group in self._groups.items()
        }
        if last is not None and (record := last.get_help_record(ctx)):
            rows.setdefault(next(reversed(rows)), []).append(record)
        _write_options(formatter, rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        _write_examples(formatter, self._examples)


def _write_paragraphs(formatter: click.HelpFormatter, text: str) -> None:
    wrapped = wrap_text(text.strip(), formatter.width, "  ", "  ", preserve_paragraphs=True)
    formatter.write(f"\n{wrapped}\n")


def _write_options(
    formatter: click.HelpFormatter, groups: Mapping[str, Sequence[tuple[str, str]]]
) -> None:
    """Write groups of options, with all texts in one column."""
    lengths = [len(name) for rows in groups.values() for name, _ in rows]
    width = max((length for length in lengths if length <= _NAMES_WIDTH), default=_NAMES_WIDTH)
    for title, rows in groups.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", text) for name, text in rows], width)


def _write_examples(formatter: click.HelpFormatter, lines: str) -> None:
    if lines:
        with formatter.section("Examples"):
            for line in lines.strip().splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Commands(click.Group):
    """A group of commands, which are built on demand."""

    def __init__(self, *, of: str = "", **more: Any) -> None:  # noqa: ANN401 - click's
        """`of` has the words before its commands: 'builds '."""
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
        """Find the command; the error for an unknown one suggests the nearest name.

        Click would look for it only among the commands that are loaded.
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
