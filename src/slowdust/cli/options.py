"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

results_option = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    envvar="SLOWDUST_RESULTS",
    show_default=True,
    help="Folder of all experiments.",
)
