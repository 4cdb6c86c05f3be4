"""Values that another program printed about its run: there is no window that they are totals of."""

from __future__ import annotations

from typing import Any

import msgspec

from slowdust.store.bounds import Amount, Natural
from slowdust.store.latency import LatencyUs

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
    """Rows, or queries, per second."""
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
