"""Parsers of options' values; `options.tsv` names them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path

import click
from click.core import ParameterSource

from slowdust.analysis.results.gate import Gate, parse_gate
from slowdust.analysis.story.bands import Bands
from slowdust.experiment.host_locks import WhenBusy
from slowdust.store.experiments import check_results
from slowdust.units import parse_percentage


class WhenTooShort(Enum):
    """Reaction to a budget that decides too little, or a run far longer than announced."""

    ASK = "ask"
    """Ask in a terminal; elsewhere run, and stop after twice the announced time."""
    CONTINUE = "continue"


def there(context: click.Context, option: click.Parameter, results: Path) -> Path:
    """Return the results folder. Raises UsageError if the user names one that does not exist."""
    if context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT:
        check_results(results)
    return results


def when_busy(context: click.Context, option: click.Parameter, fails: bool) -> WhenBusy:  # noqa: FBT001
    """Return the reaction to CPUs that are in use."""
    del context, option
    return WhenBusy.FAIL if fails else WhenBusy.WAIT


def too_short(context: click.Context, option: click.Parameter, yes: bool) -> WhenTooShort:  # noqa: FBT001
    del context, option
    return WhenTooShort.CONTINUE if yes else WhenTooShort.ASK


def gates(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> list[Gate]:
    del context, option
    return [parse_gate(text) for text in texts]


def bands(context: click.Context, option: click.Parameter, text: str | None) -> Bands | None:
    """Parse '5,15': bands from 5% and from 15% on."""
    del context, option
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2:
        raise click.BadParameter(f"'{text}' is not CHANGE,BIG: write two percentages, such as 5,15")
    try:
        change, big = map(parse_percentage, parts)
    except ValueError as error:
        raise click.BadParameter(f"{error}, as in 5,15") from None
    if not 0 < change <= big < 1:
        raise click.BadParameter(f"'{text}': CHANGE and BIG have to be 0 < CHANGE <= BIG < 100")
    return Bands(change, big)
