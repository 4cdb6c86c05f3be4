"""The folder of a watch: `watch/NAME/` of the results folder, held by one process at a time."""

from __future__ import annotations

from pathlib import Path

from slowdust.errors import UsageError
from slowdust.places import within
from slowdust.store.keeping.experiments import check_name, check_results
from slowdust.store.study_folder import StudyFolder
from slowdust.studies.watch.series import NIGHTS_FILE
from slowdust.wording import nearest

_WATCHES = "watch"


def folder_of(results: Path, name: str) -> Path:
    """Return the folder of a watch."""
    return within(results, _WATCHES, name)


def begun_folder(results: Path, name: str) -> Path:
    """Return the folder of a watch that was begun.

    Raises:
        UsageError: there is none of this name.
    """
    check_name(name)
    check_results(results)
    folder = folder_of(results, name)
    if (folder / NIGHTS_FILE).is_file():
        return folder
    names = [path.parent.name for path in folder.parent.glob(f"*/{NIGHTS_FILE}")]
    close = nearest(folder.name, names)
    hint = f": did you mean {close}?" if close else ""
    raise UsageError(f"the watch '{folder.name}' has no nights in {folder.parent}{hint}")


def watch_in(folder: Path) -> StudyFolder:
    """Return the folder of a watch as one that one process holds at a time."""
    return StudyFolder(folder, "watch", NIGHTS_FILE)
