"""The record of a search for capacities: `capacity.json` in its folder.

Its experiment, `servers/`, has trials in place of slices. Earlier versions stored the trials in the
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
    """The question of a search."""

    contenders: list[str]
    """The contenders as the user wrote them; the first is the base."""
    sla: str
    """The SLA, in the form of `Sla.written`."""
    test: str
    precision: float
    """Half-width of the intervals at which the search ends, as a fraction."""
    arrivals: str
    """Distribution of the arrivals: `poisson` or `uniform`."""
    trial: Second | None
    """Minimum length of a trial; None for the default."""

    @property
    def terms(self) -> Sla:
        """The SLA that each trial has to meet."""
        return parse_sla(self.sla)


class Record(msgspec.Struct, kw_only=True):
    """A search in progress."""

    schema: int = SCHEMA
    question: Question
    ended: str | None = None
    """Why the search ended: `precision` or `budget`; None if it has not ended."""
