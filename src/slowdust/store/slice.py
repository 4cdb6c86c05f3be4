"""Records of slices: `slices.ndjson` has one JSON object a line."""

from __future__ import annotations

import msgspec

from slowdust.store.bounds import Amount, Duration, Natural, Ordinal, Rate
from slowdust.store.latency import Histogram
from slowdust.store.measured import Measured, Printed
from slowdust.store.step import StepDetail


class BesideSlice(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The work of other clients in the window of a slice, and the slice's own work without it."""

    test: str
    """Name of the work in the driver: `transactions`, `any-query`."""
    clients: Ordinal
    rate: Rate | None = None
    """Operations per second that were wanted of it; None for a closed loop."""
    seconds: Duration | None = None
    """Time from the opening of the window to the end of the slice's own work."""
    qps: Amount
    operations: Natural
    latency: Histogram
    errors: dict[str, Natural] = {}
    error_texts: dict[str, str] = {}
    retries: Natural = 0
    late_operations: Natural | None = None
    """Operations that were due while their predecessor was under way; None for a closed loop."""
    freshness: Histogram | None = None
    """Ages of the data that queries saw: their start less the commit of the first transaction that
    they did not see. None where it was not measured."""
    alone_qps: Amount | None = None
    """The rate of the slice's own work without this, in a slice of the same length next to it."""


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
