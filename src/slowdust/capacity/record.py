"""The record of a search for capacities: `capacity.json`, and a line of `trials.ndjson` a trial.

Beside them is `servers/`, an experiment's folder without slices: the contenders' builds, the host,
the servers' logs.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from slowdust.capacity.sla import KEPT_UP, Sla, missed, parse_sla
from slowdust.store.storage import append_records, read_records
from slowdust.store.study_folder import StudyFolder
from slowdust.units import Second

RECORD_FILE = "capacity.json"
TRIALS_FILE = "trials.ndjson"
SERVERS = "servers"
SCHEMA = 1


class Question(msgspec.Struct, kw_only=True, frozen=True):
    """What a search looks for."""

    contenders: list[str]
    """The contenders as the user wrote them; the first is the base."""
    sla: str
    """The SLA as `Sla.written` writes it."""
    test: str
    precision: float
    """Half-width of the intervals, a share of 1, at which the search ends."""
    arrivals: str
    """Distribution of the arrivals: `poisson` or `uniform`."""
    trial: Second | None
    """Length of a trial at least; None for the usual one."""
    options: dict[str, Any]
    """Options of the experiment, as in `slowdust compare`; paths are absolute."""
    workload_sha256: str | None = None
    """Checksum of the user's own workload, if the test is one of it."""

    @property
    def terms(self) -> Sla:
        """What each trial has to meet."""
        return parse_sla(self.sla)


class Record(msgspec.Struct, kw_only=True):
    """A search, as far as it has come; its trials are beside it."""

    schema: int = SCHEMA
    question: Question
    contenders: list[str] = []
    """The contenders' names; empty until their builds are known."""
    unit: str = "operations/s"
    """What an offered rate counts."""
    length: Second | None = None
    """Length of each trial; None until it is chosen."""
    starts: int = 0
    """Starts of the servers that are planned."""
    dropped: dict[str, str] = {}
    """Contender -> why it dropped out, the last time; it is there again when the search goes on."""
    ended: str | None = None
    """Why the search ended: `precision` or `budget`; None before that."""


class Trial(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One contender at one offered rate for a short time, in an open loop."""

    contender: str
    start: int
    """Number of the servers' start, 1-based."""
    turn: int
    """Number of the turn in which all contenders had a trial, 0-based, over the whole search."""
    rate: float
    """Rate offered, per second."""
    seconds: Second
    """Time in which operations were due."""
    took: Second
    """Time from the first moment to the last completion."""
    operations: int
    times: dict[str, Second]
    """Percentile, or `max` -> response time since the operations were due."""
    errors: float = 0.0
    """Share of the operations that failed."""
    late: float = 0.0
    """Share of the operations that were due while their predecessor was under way."""
    kept_up: float = 1.0
    """Share of the offered rate that was done."""
    busiest_client: float | None = None
    """CPU time of the load generator's busiest thread, a share of the time; None where unknown."""
    wall: Second = 0.0
    """Share of the budget that it took, with what was discarded before it."""

    @property
    def values(self) -> dict[str, float]:
        """The value of each term of an SLA."""
        return {**self.times, "errors": self.errors, "late": self.late}

    def meets(self, sla: Sla) -> bool:
        """Return whether all terms hold, and the rate was kept."""
        return self.kept_up >= KEPT_UP and not missed(sla, self.values)


def search_in(folder: Path) -> StudyFolder:
    """Return the folder of a search."""
    return StudyFolder(folder, "search", RECORD_FILE)


def read_record(folder: Path) -> Record:
    """Return the record of a search; see `StudyFolder.read` for what it raises."""
    return search_in(folder).read(Record, SCHEMA)


def write_record(folder: Path, record: Record) -> None:
    """Replace the record of a search."""
    search_in(folder).write(record)


def forget(folder: Path) -> None:
    """Remove a search that has no trials, so that its name is free again."""
    for name in (RECORD_FILE, TRIALS_FILE):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / SERVERS, ignore_errors=True)


def read_trials(folder: Path) -> list[Trial]:
    """Return the trials of a search; an incomplete last line is ignored."""
    return read_records(folder / TRIALS_FILE, Trial)


def append_trials(folder: Path, trials: Sequence[Trial]) -> None:
    """Append the trials of a turn; they are on disk when this returns."""
    append_records(folder / TRIALS_FILE, trials)
