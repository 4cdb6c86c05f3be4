"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from slowdust.places import RESULTS_VARIABLE
from slowdust.report.formats import Destination, Format
from slowdust.units import parse_duration

if TYPE_CHECKING:
    from slowdust.analysis.model import Report
    from slowdust.analysis.results.gate import Gate
    from slowdust.analysis.story.bands import Bands
    from slowdust.cli.conduct import WhenTooShort
    from slowdust.experiment.claims.claim import WhenBusy
    from slowdust.experiment.spec.spec import Spec
    from slowdust.units import Second

_Function = TypeVar("_Function", bound=Callable[..., Any])

WORDS = (
    "Words: a contender is a build with its settings, the base the first of them. They take turns "
    "in slices, short timed measurements. An incarnation is one start of the servers: results "
    "move from one to the next. rqps is the throughput of a contender relative to the base's, "
    "above 1 if it is faster."
)
"""Terms of the help, for the end of it."""


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
            from slowdust.errors import UsageError

            where = param.get_error_hint(ctx) if param is not None and ctx is not None else "path"
            raise UsageError(f"{where} is empty: name a file or a directory")
        return super().convert(value, param, ctx)


def _there(context: click.Context, option: click.Parameter, results: Path) -> Path:
    """Refuse a results folder that the user names and that is not there."""
    if context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT:
        from slowdust.store.keeping.experiments import check_results

        check_results(results)
    return results


_folder_of_results = partial(
    click.option,
    "--results",
    type=NamedPath(file_okay=False),
    default=Path("results"),
    envvar=RESULTS_VARIABLE,
    show_default=True,
    help="Folder of the experiments.",
)
results_option = _folder_of_results()
stored_option = _folder_of_results(callback=_there)
"""The results folder of a command that only reads experiments: one that is named has to exist."""


def _when_busy(context: click.Context, option: click.Parameter, fails: bool) -> WhenBusy:  # noqa: FBT001
    """Return what an experiment does whose CPUs are in use."""
    del context, option
    from slowdust.experiment.claims.claim import WhenBusy

    return WhenBusy.FAIL if fails else WhenBusy.WAIT


def amount(
    parse: Callable[[str], float],
) -> Callable[[click.Context, click.Parameter, str | None], float | None]:
    """Return a callback for an option whose value may have a unit, which `slowdust.units` reads."""

    def read(context: click.Context, option: click.Parameter, text: str | None) -> float | None:
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            raise click.BadParameter(str(error), context, option) from None

    return read


no_wait_option = click.option(
    "--no-wait",
    "when_busy",
    is_flag=True,
    callback=_when_busy,
    help="Fail where another experiment measures on the same CPUs or disk, instead of waiting.",
)


def _too_short(context: click.Context, option: click.Parameter, yes: bool) -> WhenTooShort:  # noqa: FBT001
    """Return what becomes of a budget that is expected to decide too little."""
    del context, option
    from slowdust.cli.conduct import WhenTooShort

    return WhenTooShort.GO_ON if yes else WhenTooShort.ASK


yes_option = click.option(
    "--yes",
    "too_short",
    is_flag=True,
    callback=_too_short,
    help="Do not ask whether a budget is wanted that is expected to decide too little, nor end "
    "what takes more than twice as long as expected.",
)


count_budget_option = click.option(
    "--count-budget",
    metavar="TIME",
    callback=amount(parse_duration),
    help="Wall clock for counting instructions: 90s, 10m.  [as long as the timed part took, and a "
    "minute at least]",
)


def with_limits(spec: Spec, limits: Mapping[str, Second | None]) -> Spec:
    """Return a specification with the limits that options set, by the names of its keys."""
    return spec.model_copy(
        update={key: given for key, given in limits.items() if given is not None}
    )


patience_option = click.option(
    "--patience",
    metavar="TIME",
    callback=amount(parse_duration),
    help="Longest wait for one operation, as `compare` has it.  [as the experiment has it]",
)
patience_of_new_option = click.option(
    "--patience",
    metavar="TIME",
    help="Longest wait for one operation, as `compare` has it.  [the budget, 60s at least]",
)
"""The same for experiments that begin: text, which the specification reads."""


def _gates(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> list[Gate]:
    del context, option
    if not texts:
        return []
    from slowdust.analysis.results.gate import parse_gate

    return [parse_gate(text) for text in texts]


fail_on_option = click.option(
    "--fail-on",
    "gates",
    multiple=True,
    metavar="WHAT[:PERCENT]",
    callback=_gates,
    help="Exit with code 3 if a test is slower, or more-work, by at least PERCENT beyond doubt; "
    "repeatable: slower:5%, more-work:1%.",
)


def exit_code_of(gates: Sequence[Gate], report: Report) -> int:
    """Say on standard error what the gates catch; return 3 if one catches anything, else 0.

    It is 1 where a test failed wholly, of which no gate can say anything.
    """
    if not gates:
        return 0
    from slowdust.analysis.results.failures import failed_wholly
    from slowdust.analysis.results.gate import caught_by

    caught = [text for gate in gates if (text := caught_by(gate, report))]
    for text in caught:
        click.echo(f"failed by --fail-on {text}", err=True)
    if failed_wholly(report):
        return 1
    return 3 if caught else 0


def _bands(context: click.Context, option: click.Parameter, text: str | None) -> Bands | None:
    """Parse '5,15', the bands that begin at 5% and 15%."""
    del context, option
    if text is None:
        return None
    from slowdust.analysis.story.bands import Bands
    from slowdust.units import parse_percentage

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


bands_option = click.option(
    "--bands",
    metavar="CHANGE,BIG",
    callback=_bands,
    help="Percentages from which a test counts as changed, and as changed a lot.  [5,15]",
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


def format_options(
    formats: Sequence[Format[*tuple[Any, ...]]],
) -> Callable[[_Function], _Function]:
    """Return a decorator that gives a command an option for each format.

    The parameter `form` is the name of the format to print; one that is written to a file has a
    parameter of its own name, the path.
    """

    def add_options(function: _Function) -> _Function:
        for form in reversed(formats):
            option = click.option(
                f"--{form.name}",
                is_flag=True,
                expose_value=False,
                callback=partial(_choose_form, form.name),
                help=form.help,
            )
            if form.destination is Destination.FILE:
                path = NamedPath(dir_okay=False)
                option = click.option(f"--{form.name}", type=path, help=form.help)
            function = option(function)
        return function

    return add_options
