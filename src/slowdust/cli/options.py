"""The options of commands, which pick them from one table: `options.tsv`.

An option may have several rows: other commands have it with another default or another text. What
benchmarks add to `compare` is in their own tables. Formats of output are options, too.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from slowdust.cli import completion
from slowdust.errors import UsageError
from slowdust.places import RESULTS_VARIABLE
from slowdust.report.formats import Destination, Format
from slowdust.store.experiments import check_results
from slowdust.units import parse_count, parse_duration, parse_number, parse_percentage

if TYPE_CHECKING:
    from slowdust.analysis.results.gate import Gate
    from slowdust.analysis.story.bands import Bands
    from slowdust.experiment.host_locks import WhenBusy
    from slowdust.experiment.spec.spec import Spec
    from slowdust.units import Second

WORDS = (
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


class WhenTooShort(Enum):
    """What to do about a time that decides too little, or is far longer than was announced."""

    ASK = "ask"
    """Ask in a terminal; elsewhere go on with little time, and end before it is too long."""
    GO_ON = "go on"


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
        for trait in self.traits.split():
            kind |= _click_words(trait)
        parameter = self.name.replace("-", "_") if self.parameter == "-" else self.parameter
        kind |= _CALLBACKS.get(parameter, {})
        return click.Option([f"--{self.name}", parameter], **kind)


def _click_words(trait: str) -> dict[str, Any]:
    """Return what click has to know of a trait."""
    word, _, value = trait.partition("=")
    match word:
        case "flag":
            return {"is_flag": True}
        case "switch":
            return {"is_flag": True, "default": None}
        case "repeated":
            return {"multiple": True}
        case "required":
            return {"required": True}
        case "default" | "silently":
            return {"default": value, "show_default": word == "default"}
        case "completes":
            return {"shell_complete": getattr(completion, value)}
        case "range":
            least, _, most = value.partition("..")
            return {"type": click.IntRange(int(least), int(most) if most else None)}
        case "results" | "stored":
            return {
                "type": NamedPath(file_okay=False),
                "default": Path("results"),
                "envvar": RESULTS_VARIABLE,
                "show_default": True,
                "callback": _there if word == "stored" else None,
            }
    return {"callback": _amount(_AMOUNTS[word])} if word in _AMOUNTS else {}


def _table() -> list[Row]:
    """Read the table."""
    lines = files("slowdust.cli").joinpath("options.tsv").read_text(encoding="utf-8").splitlines()
    rows = csv.reader(
        (line for line in lines if not line.startswith("#")), "excel-tab", quoting=csv.QUOTE_NONE
    )
    return [Row(*row) for row in rows]


def rows_of(command: str, names: str) -> list[Row]:
    """Return options of a command by their names, in this order."""
    own = {row.name: row for row in TABLE if command in row.commands.split()}
    return [own[name] for name in names.split()]


def options(command: str, names: str) -> list[click.Parameter]:
    """Return options of a command by their names, in this order, as click's."""
    return [row.option() for row in rows_of(command, names)]


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


def _there(context: click.Context, option: click.Parameter, results: Path) -> Path:
    """Refuse a results folder that the user names and that is not there."""
    if context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT:
        check_results(results)
    return results


def _when_busy(context: click.Context, option: click.Parameter, fails: bool) -> WhenBusy:  # noqa: FBT001
    """Return what an experiment does whose CPUs are in use."""
    del context, option
    from slowdust.experiment.host_locks import WhenBusy  # loads the experiments

    return WhenBusy.FAIL if fails else WhenBusy.WAIT


def _too_short(context: click.Context, option: click.Parameter, yes: bool) -> WhenTooShort:  # noqa: FBT001
    """Return what becomes of a budget that is expected to decide too little."""
    del context, option
    return WhenTooShort.GO_ON if yes else WhenTooShort.ASK


def _gates(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> list[Gate]:
    del context, option
    if not texts:
        return []
    from slowdust.analysis.results.gate import parse_gate  # loads the analysis

    return [parse_gate(text) for text in texts]


def _bands(context: click.Context, option: click.Parameter, text: str | None) -> Bands | None:
    """Parse '5,15', the bands that begin at 5% and 15%."""
    del context, option
    if text is None:
        return None
    from slowdust.analysis.story.bands import Bands  # loads the analysis

    parts = text.split(",")
    if len(parts) != 2:
        raise click.BadParameter(f"'{text}' is not CHANGE,BIG: write 5,15 for example")
    try:
        change, big = map(parse_percentage, parts)
    except ValueError as error:
        raise click.BadParameter(f"{error}, as in 5,15") from None
    if not 0 < change <= big < 1:
        raise click.BadParameter(f"'{text}' is not 0 < CHANGE <= BIG < 100")
    return Bands(change, big)


_CALLBACKS: Mapping[str, Mapping[str, Any]] = {
    "bands": {"callback": _bands},
    "gates": {"callback": _gates},
    "too_short": {"callback": _too_short},
    "when_busy": {"callback": _when_busy},
}
TABLE = _table()


def with_limits(spec: Spec, limits: Mapping[str, Second | None]) -> Spec:
    """Return a specification with the limits that options set, by the names of its keys."""
    return spec.model_copy(
        update={key: given for key, given in limits.items() if given is not None}
    )


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


def formats(
    listed: Sequence[Format[*tuple[Any, ...]]],
) -> list[click.Parameter]:
    """Return an option for each format.

    The parameter `form` is the name of the format to print; one that is written to a file has a
    parameter of its own name, the path.
    """
    return [
        click.Option([f"--{form.name}"], type=NamedPath(dir_okay=False), help=form.help)
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
