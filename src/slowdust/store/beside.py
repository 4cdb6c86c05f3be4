"""Records of what ran beside a slice."""

from __future__ import annotations

import msgspec

from slowdust.store.bounds import Amount, Duration, Natural, Ordinal, Rate
from slowdust.store.latency import Histogram


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
    """Operations / time."""
    operations: Natural
    latency: Histogram
    errors: dict[str, Natural] = {}
    error_texts: dict[str, str] = {}
    """The same keys -> the text of the first such error."""
    retries: Natural = 0
    late_operations: Natural | None = None
    """Operations that were due while their predecessor was under way; None for a closed loop."""
    freshness: Histogram | None = None
    """Ages of the data that queries saw: their start less the commit of the first transaction that
    they did not see. None where it was not measured."""
    alone_qps: Amount | None = None
    """The rate of the slice's own work without this, in a slice of the same length next to it."""
