"""The part of a slice that only an imported run has."""

from __future__ import annotations

import msgspec

from slowdust.store.bounds import Amount, Natural
from slowdust.store.latency import LatencyUs


class Counters(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Hardware counters of a slice; what the machine does not have is absent."""

    per_operation: dict[str, float] = {}
    """Events per operation, which is one of what the rate's unit counts, by counter."""
    ratios: dict[str, float] = {}
    """Values that are ratios by themselves: GHz, ipc, percentages."""
    of_one_process: bool = False
    """Whether one process of many was counted, beside the operations of all: then
    `per_operation` has a meaning only relative to another contender's."""
    relative_to: str | None = None
    """The archived run whose counters are 1, if only counters relative to these were published;
    None if counters are what was counted."""


class Classic(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Texts and sums from which the classic files are written again, to the last digit."""

    run: str
    """The run directory, or the name of the table's column."""
    file: str | None = None
    """The test in names of files: `hot-points.range100.pk1`."""
    rate: str | None = None
    """Rate by which the published numbers per operation were divided, in its printed form."""
    whole_rate: str | None = None
    """The rate of the published tables: an integer, with the text behind it after a tab."""
    storage: list[float] | None = None
    """Samples, and sums over them: reads/s, KB read/s, writes/s, KB written/s."""
    cpu: list[float] | None = None
    """Samples by the published rule, and sums over them: context switches/s, percent of CPU."""
    met: list[str] | None = None
    """The fourteen numbers of a file sb.met as printed, if nothing else is left of it."""
    table_row: list[str] | None = None
    """The numbers of a row of a table as printed, if the run directory is missing."""
    counters: dict[str, dict[str, str]] = {}
    """Iteration -> counter -> value as printed."""


class ArchivedRole(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Part of a role that only an imported step has, of which no totals are known."""

    rate: Amount
    """Rows, or queries, per second."""
    response: LatencyUs | None = None
    buckets: list[Natural] | None = None
    """Statements by response time, in the classic buckets."""


class Archived(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Part of a slice that only an imported run has: it ran once, and has no interval."""

    classic: Classic
    response: LatencyUs | None = None
    per_operation: dict[str, float] = {}
    """Metric of analysis/metrics.py -> its value: the files have means per operation, no totals."""
    counters: Counters | None = None
    notes: list[str] = []
    """Notes about the run's numbers for a reader."""
