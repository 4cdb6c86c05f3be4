"""The record of a watch: its finished nights, and the night that is being measured.

nights.ndjson   one record per night, appended and synced when its experiment is finished
tonight.json    the night that is being measured
nights/         the experiments, a results folder

They are in `watch/NAME/` of the results folder.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from slowdust.analysis.results.log_ratio import LogRatio
from slowdust.errors import UsageError
from slowdust.places import within
from slowdust.store.experiments import check_name, check_results
from slowdust.store.storage import append_records, naming_damage, read_records, write_versioned
from slowdust.store.study_folder import StudyFolder
from slowdust.studies.candidates import Candidate
from slowdust.wording import nearest

NIGHTS_FILE = "nights.ndjson"
TONIGHT_FILE = "tonight.json"
EXPERIMENTS = "nights"
NOUN = "watch"
_WATCHES = "watch"


class Measured(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """One test in one night."""

    test: str
    clients: int
    metric: str
    """`time` or `work`: time or instructions per operation."""
    base: LogRatio
    """Cost relative to the base."""
    good: LogRatio | None = None
    """Cost relative to the last good subject; absent without one."""


class Tonight(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """The plan of a night."""

    number: int
    date: str
    """Start, ISO 8601, UTC."""
    experiment: str
    subject: Candidate
    base: str
    """The base, as in the file."""
    good: Candidate | None = None
    """The last good subject; absent in a first night."""
    good_night: int = 0
    """The night of the last good subject; 0 if it is the base."""
    again: bool = False
    """Whether the night before had the same subject."""


class Night(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """A finished night; its subject may have failed."""

    plan: Tonight
    host: str = ""
    """Facts that identify the host."""
    segment: str = ""
    """Nights of one segment are on one host, with one base, under the same conditions."""
    measured: list[Measured] = []
    failed: str | None = None
    """Why the subject could not be measured."""
    failures: list[str] = []
    """Sentences about failing tests, which are not compared."""
    failed_wholly: bool = False
    """Whether a test failed in all executions."""

    @property
    def number(self) -> int:
        """The number of the night."""
        return self.plan.number


def read_nights(folder: Path) -> list[Night]:
    """Return all complete records; an incomplete last line is ignored.

    Raises:
        SlowdustError: a line before the last is damaged.
    """
    return read_records(folder / NIGHTS_FILE, Night)


def append_night(folder: Path, night: Night) -> None:
    """Append a night and sync it; remove `tonight.json`."""
    append_records(folder / NIGHTS_FILE, [night])
    (folder / TONIGHT_FILE).unlink(missing_ok=True)


def read_tonight(folder: Path) -> Tonight | None:
    """Return the night that was begun and not finished, if any.

    Raises:
        SlowdustError: the file is damaged.
    """
    path = folder / TONIGHT_FILE
    try:
        with naming_damage(path):
            tonight = msgspec.json.decode(path.read_bytes(), type=Tonight)
    except FileNotFoundError:
        return None
    # A kill may have come after the night was appended and before the file was removed.
    return None if any(night.number == tonight.number for night in read_nights(folder)) else tonight


def write_tonight(folder: Path, tonight: Tonight) -> None:
    """Write the plan of a night, before it begins."""
    write_versioned(folder / TONIGHT_FILE, tonight)


def watch_folder(results: Path, name: str) -> Path:
    """Return the folder of a watch."""
    return within(results, _WATCHES, name)


def begun_folder(results: Path, name: str) -> Path:
    """Return the folder of an existing watch.

    Raises:
        UsageError: there is no watch of this name.
    """
    check_name(name)
    check_results(results)
    folder = watch_folder(results, name)
    if (folder / NIGHTS_FILE).is_file():
        return folder
    names = [path.parent.name for path in folder.parent.glob(f"*/{NIGHTS_FILE}")]
    close = nearest(folder.name, names)
    hint = f": did you mean {close}?" if close else ""
    raise UsageError(f"the watch '{folder.name}' has no nights in {folder.parent}{hint}")


def watch_in(folder: Path) -> StudyFolder:
    """Return the folder of a watch, for its lock."""
    return StudyFolder(folder, NOUN, NIGHTS_FILE)
