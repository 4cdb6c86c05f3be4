"""Measurements of one window, and values that another program printed about its run.

All measured numbers belong to the same window: the driver is idle before and after it, and the
probes read their counters at these two moments. Printed values have no window.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from slowdust.store.bounds import Amount, Duration, Natural, Rate
from slowdust.store.latency import Histogram, LatencyUs
from slowdust.units import Second

PRINTED_SCHEMA = 4
"""Schema of a manifest of printed runs, which an earlier Slowdust would read as measured slices."""


class Counters(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Hardware counters of a slice; counters that the machine does not have are absent."""

    per_operation: dict[str, float] = {}
    """Counter -> events per operation, in the unit of the rate."""
    ratios: dict[str, float] = {}
    """Counters that are ratios: GHz, ipc, percentages."""
    of_one_process: bool = False
    """Whether only one of many processes was counted, but the operations of all. Then
    `per_operation` is meaningful only relative to another contender."""
    relative_to: str | None = None
    """The run whose counters are 1, if only relative counters are known."""


class PrintedRole(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Printed values of a role in a step with unknown totals."""

    rate: Amount
    response: LatencyUs | None = None
    buckets: list[Natural] | None = None
    """Statements by response time, in the buckets of `BUCKETS_US`."""


class Printed(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Printed values of a single run, which has neither interval nor verdict."""

    response: LatencyUs | None = None
    per_operation: dict[str, float] = {}
    """Metric of analysis/metrics.py -> its mean per operation."""
    counters: Counters | None = None
    notes: list[str] = []
    """Notes for readers about the run's numbers."""
    texts: dict[str, Any] = msgspec.field(default_factory=dict, name="classic")
    """Content to write the run's files again; only the importer knows its keys."""


Use = dict[str, Natural | Amount]
"""Quantity of a probe -> value in a window. The probe's module documents the quantities; a quantity
that could not be measured is absent."""


def sum_quantities(
    uses: Mapping[str, Use], probe: str, quantities: Collection[str]
) -> float | None:
    """Return the sum of a probe's quantities; None if one of them was not measured."""
    use = uses.get(probe, {})
    try:
        return sum(map(use.__getitem__, quantities))
    except KeyError:
        return None


IDLE = "idle."
"""Prefix of the names of probes of contenders that should be idle."""
DELAY = "delay"
"""Name of the probe of a server with delayed replies, in a calibration."""
SERVER = "server"
DISK = "disk"
"""Name of the use of direct reads of a server's data, measured next to its slice."""
STORAGE = "storage"
"""Name under which the pages and rows that a server read are recorded."""
OTHERS = "others"


class PerSecond(msgspec.Struct, array_like=True):
    """One second of a slice: finished operations, and the largest response time."""

    operations: Natural
    max_ns: Natural


class ClientUse(msgspec.Struct, kw_only=True):
    """Resources that the driver's own threads used in the window."""

    cpu_user_s: Second
    cpu_system_s: Second
    voluntary_switches: int
    involuntary_switches: int
    threads: int
    busiest_thread: float
    """CPU time of the busiest thread / length of the window; near 1, the client is the limit."""


class Schedule(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Lag of an open-loop slice (`--rate`) relative to its schedule."""

    rate: Rate
    arrivals: str
    late_operations: Natural
    max_lag_ns: Natural
    mean_lag_ns: Amount


class Measured(msgspec.Struct, kw_only=True, omit_defaults=True):
    """All measurements of one window; unmeasured values are absent."""

    started: float | None = None
    seconds: Duration | None = None
    operations: Natural | None = None
    """Number of operations; of a long step, in the unit of its rate: inserted rows, queries."""
    statements: Natural | None = None
    rows: Natural | None = None
    bytes_sent: Natural | None = None
    bytes_received: Natural | None = None
    latency: Histogram | None = None
    """Response times of operations; for a long step, of its main role's statements."""
    per_second: list[PerSecond] = []
    errors: dict[str, Natural] = {}
    """SQLSTATE, or `wrong-row-count` -> number of operations. Operations with a wrong row count are
    included in `operations`, repeated operations in `retries`."""
    error_texts: dict[str, str] = {}
    """The same keys -> text of the first such error; absent in records of earlier versions."""
    retries: Natural = 0
    schedule: Schedule | None = None
    uses: dict[str, Use] = {}
    """Probe -> its use: `server`, `host`, `others`, `client` (the driver), and `idle.CONTENDER` for
    each contender that should have been idle."""
    probe_seconds: Duration | None = None
    """Time between the probes' two readings, at least `seconds`."""
    skipped_probes: list[str] = []
    """Probes, and parts of their uses (`server.io`), that could not be measured."""

    def used(self, probe: str, *quantities: str) -> float | None:
        """Return the sum of a probe's quantities; None if one of them was not measured."""
        return sum_quantities(self.uses, probe, quantities)
