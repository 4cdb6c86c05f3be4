"""Records of slices: `slices.ndjson`, one JSON object per line."""

from __future__ import annotations

import msgspec

from slowdust.store.bounds import Amount, Duration, Natural, Ordinal, Rate
from slowdust.store.latency import Histogram
from slowdust.store.measured import Measured, Printed
from slowdust.store.step import StepDetail


class BackgroundSlice(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The background load in the window of a slice, and the slice's rate without it."""

    test: str
    """Name of the work in the driver: `transactions`, `any-query`."""
    clients: Ordinal
    rate: Rate | None = None
    """Target operations per second; None for a closed loop."""
    seconds: Duration | None = None
    """Time from the start of the window to the end of the slice's own work."""
    qps: Amount
    operations: Natural
    latency: Histogram
    errors: dict[str, Natural] = {}
    error_texts: dict[str, str] = {}
    retries: Natural = 0
    late_operations: Natural | None = None
    """Operations that were due before their predecessor finished; None for a closed loop."""
    freshness: Histogram | None = None
    """Age of the data that queries saw: their start minus the commit of the first transaction that
    they did not see. None if it was not measured."""
    alone_qps: Amount | None = None
    """The rate of the slice's own work without the background load, in an adjacent slice."""


SCHEMA = 2
"""Schema of the files of an experiment: of the manifest and of the records."""


class Place(msgspec.Struct, kw_only=True):
    """Place of a slice in its experiment."""

    benchmark: str
    test: str
    clients: Ordinal
    contender: str
    incarnation: Ordinal = 1
    """Number of the start of the servers, 1-based."""
    block: Natural = 0
    """Number within (test, clients, incarnation), 0-based: slices of a block are compared."""
    slot: Natural = 0
    """Position within its block, 0-based (A B B A: 0 1 2 3)."""


class Slice(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One timed measurement of one step on one contender."""

    place: Place
    qps: Amount
    """The rate in the test's `unit` (operations/s; rows/s for scan), summed over the clients: each
    client's count over the time to its last completion."""
    unit: str = "operations/s"
    measured: Measured = msgspec.field(default_factory=Measured)
    beside: BackgroundSlice | None = None
    """The background load, in tests that have one."""
    step: StepDetail | None = None
    """Details of a long step, which is one slice."""
    printed: Printed | None = None
    """Values that another program printed. Then the slice is a single run without a window."""
