"""The record of a search for capacities: `capacity.json` in its folder.

Its experiment, `servers/`, has trials in place of slices. The trials of earlier versions are in the
folder of the search.
"""

from __future__ import annotations

import msgspec

from slowdust.studies.capacity.sla import Sla, parse_sla
from slowdust.studies.engine import Asked
from slowdust.units import Second

RECORD_FILE = "capacity.json"
SERVERS = "servers"
SCHEMA = 1


class Question(Asked, kw_only=True, frozen=True):
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

    @property
    def terms(self) -> Sla:
        """What each trial has to meet."""
        return parse_sla(self.sla)


class Record(msgspec.Struct, kw_only=True):
    """A search, as far as it has come."""

    schema: int = SCHEMA
    question: Question
    ended: str | None = None
    """Why the search ended: `precision` or `budget`; None before that."""
