"""Pages that commands write: what they replace is said."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.report import files


def write_page(path: Path, page: str) -> None:
    """Write a page, and say whose page it replaces.

    Raises:
        UsageError: the file is there and is no page of Slowdust's.
    """
    if (replaced := files.write_page(path, page)) is not None:
        click.echo(f"{path} was the page of {replaced}: it is replaced", err=True)
