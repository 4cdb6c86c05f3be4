"""Records of slices: `slices.ndjson` has one JSON object a line."""

from __future__ import annotations

import msgspec

from slowdust.store.beside import BesideSlice
from slowdust.store.bounds import Amount, Natural, Ordinal
from slowdust.store.measured import Measured
from slowdust.store.printed import Printed
from slowdust.store.step import StepDetail

SCHEMA = 2
"""Version of the shapes in the results folder: of the manifest and of each record."""


class Place(msgspec.Struct, kw_only=True):
    """Place of a slice in its experiment."""

    benchmark: str
    test: str
    clients: Ordinal
    contender: str
    incarnation: Ordinal = 1
    """Number of the servers' start, 1-based."""
    block: Natural = 0
    """Number within (test, clients, incarnation), 0-based: slices of one block are compared."""
    slot: Natural = 0
    """Position within its block, 0-based (A B B A: 0 1 2 3)."""


class Slice(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One timed measurement of one step on one contender."""

    place: Place
    qps: Amount
    """The rate of the test's `unit` (operations/s; rows/s for scan): summed over the clients,
    each its own count over the time to its last completion."""
    unit: str = "operations/s"
    measured: Measured = msgspec.field(default_factory=Measured)
    beside: BesideSlice | None = None
    """The part of a slice beside which others were at work."""
    step: StepDetail | None = None
    """The part that only a long step has, which is one slice."""
    printed: Printed | None = None
    """Values that another program printed: then the slice is a single run, without a window."""
