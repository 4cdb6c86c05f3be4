"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from slowdust.analysis.story.bands import Bands

results_option = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    envvar="SLOWDUST_RESULTS",
    show_default=True,
    help="Folder of the experiments.",
)


def _bands(context: click.Context, option: click.Parameter, text: str | None) -> Bands | None:
    """Parse '5,15', the bands that begin at 5% and 15%."""
    del context, option
    if text is None:
        return None
    from slowdust.analysis.story.bands import Bands

    try:
        change, big = (float(part.strip().removesuffix("%")) / 100 for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"'{text}' is not CHANGE,BIG: write 5,15 for example") from None
    if not 0 < change <= big < 1:
        raise click.BadParameter(f"'{text}' is not 0 < CHANGE <= BIG < 100")
    return Bands(change, big)


bands_option = click.option(
    "--bands",
    metavar="CHANGE,BIG",
    callback=_bands,
    help="Percentages from which a test counts as changed, and as changed a lot.  [5,15]",
)
