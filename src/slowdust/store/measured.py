"""Measurements of one window, and values that another program printed about its run.

All numbers measured belong to the same window: the driver is idle before it and after it, and the
probes read their counters at those two moments. Printed values have no window.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from slowdust.store.bounds import Amount, Duration, Natural, Rate
from slowdust.store.latency import Histogram, LatencyUs
from slowdust.units import Second

PRINTED_SCHEMA = 4
"""Schema of a manifest of such runs: an earlier Slowdust would take each for measured slices."""


class Counters(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Hardware counters of a slice; those that the machine does not have are absent."""

    per_operation: dict[str, float] = {}
    """Events per operation, which is one of what the rate's unit counts, by counter."""
    ratios: dict[str, float] = {}
    """Values that are ratios by themselves: GHz, ipc, percentages."""
    of_one_process: bool = False
    """Whether one process of many was counted, while the operations are those of all: then
    `per_operation` has a meaning only relative to another contender's."""
    relative_to: str | None = None
    """The run whose counters are 1, if only counters relative to these are known."""


class PrintedRole(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Printed values of a role in a step, whose totals are not known."""

    rate: Amount
    response: LatencyUs | None = None
    buckets: list[Natural] | None = None
    """Statements by response time, in the buckets of `BUCKETS_US`."""


class Printed(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Printed values of a slice, which is a single run: it has neither interval nor verdict."""

    response: LatencyUs | None = None
    per_operation: dict[str, float] = {}
    """Metric of analysis/metrics.py -> its mean per operation."""
    counters: Counters | None = None
    notes: list[str] = []
    """Notes about the run's numbers for a reader."""
    texts: dict[str, Any] = msgspec.field(default_factory=dict, name="classic")
    """What the run's files are written again from; only their importer knows its keys."""


Use = dict[str, Natural | Amount]
"""Quantities that a probe measured in a window, by name; its module documents them, and one that it
could not measure is absent."""


def total_of(uses: Mapping[str, Use], probe: str, quantities: Collection[str]) -> float | None:
    """Return the sum of a probe's quantities; None if one of them was not measured."""
    use = uses.get(probe, {})
    try:
        return sum(map(use.__getitem__, quantities))
    except KeyError:
        return None


IDLE = "idle."
"""Beginning of the names of probes of contenders that should be idle."""
DELAY = "delay"
"""Name of the probe of a server that waits before its replies, in a calibration."""
SERVER = "server"
DISK = "disk"
"""Name of the use of direct reads of a server's data beside its slice."""
STORAGE = "storage"
"""Name of the use that has what a server read, in pages and in rows."""
OTHERS = "others"


class PerSecond(msgspec.Struct, array_like=True):
    """One second of a slice: operations finished in it, and its largest response time."""

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
    """CPU time of the busiest thread / length of the window: near 1 the client is the limit."""


class Schedule(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Lag of an open-loop slice (`--rate`) behind its schedule."""

    rate: Rate
    arrivals: str
    late_operations: Natural
    max_lag_ns: Natural
    mean_lag_ns: Amount


class Measured(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Everything that was measured in one window; what was not measured is absent."""

    started: float | None = None
    seconds: Duration | None = None
    operations: Natural | None = None
    """Operations of a long step are in the unit of its rate: rows inserted or indexed, queries."""
    statements: Natural | None = None
    rows: Natural | None = None
    bytes_sent: Natural | None = None
    bytes_received: Natural | None = None
    latency: Histogram | None = None
    """Response times of operations; of a long step, those of its main role's statements."""
    per_second: list[PerSecond] = []
    errors: dict[str, Natural] = {}
    """SQLSTATE, or `wrong-row-count`, -> operations that ended with it. Those of a wrong row count
    are among `operations`, and those that were repeated are among `retries`."""
    error_texts: dict[str, str] = {}
    """The same keys -> the text of the first such error; earlier versions did not store it."""
    retries: Natural = 0
    schedule: Schedule | None = None
    uses: dict[str, Use] = {}
    """Probe -> its use: `server`, `host`, `others`, `client` (the driver about itself), and
    `idle.CONTENDER` of each contender that should have been idle."""
    probe_seconds: Duration | None = None
    """Time between the probes' two readings; never shorter than `seconds`."""
    skipped_probes: list[str] = []
    """Probes, and parts of their uses (`server.io`), that could not be measured."""

    def used(self, probe: str, *quantities: str) -> float | None:
        """Return the sum of a probe's quantities; None if one of them was not measured."""
        return total_of(self.uses, probe, quantities)
