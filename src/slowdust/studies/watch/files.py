"""The files of a watch for its readers: a page and a note."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowdust.store.folder import replace_file
from slowdust.studies.watch import note as markdown
from slowdust.studies.watch import page as html
from slowdust.studies.watch.alarms import State
from slowdust.studies.watch.series import Night


def write_files(name: str, folder: Path, state: State, nights: Sequence[Night]) -> Path:
    """Write `report.html` and `note.md`; return the path of the page."""
    page = folder / "report.html"
    replace_file(page, html.render(name, state, nights).encode())
    replace_file(folder / "note.md", markdown.render(name, state, nights).encode())
    return page
