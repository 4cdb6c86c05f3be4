"""The table of metrics: hardware per operation, one row each, and the compared metrics.

Everything that lists metrics reads this table: the values per operation, the report's tables, CSV
and JSON with its schema, and the explanations. A new probe's metric is one more row. Percentiles of
response times, which have no totals, have a table of their own. `COMPARED` lists everything that
is compared with the base.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from slowdust.store.measured import STORAGE, Measured
from slowdust.units import Microsecond

PerOperation = dict[str, float]
"""Hardware per operation: key of a metric -> value; unmeasured metrics are absent."""


class Cause(StrEnum):
    """Reason for a change of throughput."""

    CPU = "CPU overhead"
    CONTENTION = "contention"
    WAITING = "waiting"
    """Contention with a single client, which competes only with the server itself."""
    IO = "IO"


@dataclass(frozen=True)
class Indication:
    """The cause that a metric indicates if it moves with the throughput."""

    cause: Cause
    words: str
    """The metric in a sentence, before 'per operation': 'context switches'."""
    highest_cost: Microsecond
    """Longest time that a unit can cost: a KB of small reads or writes on a slow disk, a
    switch that wakes another CPU of a virtual machine."""
    moves_with_speed: bool = False
    """Whether it is a time, which moves with the speed of a shared machine as throughput does and
    cannot prove a cause alone."""


@dataclass(frozen=True)
class Metric:
    """One metric: total of a probe's quantities over slices / operations."""

    key: str
    """Name in JSON (`per_op`) and CSV."""
    label: str
    """Title of its column on the page."""
    meaning: str
    probe: str
    """The probe that reads it."""
    quantities: tuple[str, ...]
    """Quantities of that probe, which are added up."""
    unit: str = ""
    factor: float = 1.0
    """Multiplier from the quantities' unit to the metric's."""
    indicates: Indication | None = None
    markdown: str | None = None
    """Title of its column in Markdown; None if only the page and the data formats show it."""

    def total(self, measured: Measured) -> float | None:
        return measured.used(self.probe, *self.quantities) if self.quantities else None

    def meaning_per(self, operation: str) -> str:
        return f"{self.meaning} per {operation}"


HOST = "host"
"""The probe of the whole host."""
_US_PER_S = 1e6
_KB_PER_BYTE = 1 / 1024
_CPU = ("cpu_user_s", "cpu_system_s")
_SWITCHES = ("voluntary_switches", "involuntary_switches")

METRICS = (
    Metric("server_cpu_us", "cpu/o", "CPU time of the server's processes", "server", ("cpu_s",),
        "µs", _US_PER_S, Indication(Cause.CPU, "server CPU", 1.0, moves_with_speed=True),
        "server cpu/o us"),
    Metric("server_cpu_user_us", "user", "Server CPU time in user mode", "server",
        ("cpu_user_s",), "µs", _US_PER_S),
    Metric("server_cpu_system_us", "system", "Server CPU time in the kernel", "server",
        ("cpu_system_s",), "µs", _US_PER_S),
    Metric("host_cpu_us", "host cpu", "CPU time of the whole host", HOST, _CPU,
        "µs", _US_PER_S, Indication(Cause.CPU, "host CPU", 1.0, moves_with_speed=True),
        "host cpu/o us"),
    Metric("host_share_us", "whole host", "Time of all CPUs of the host", HOST, (),
        "µs", _US_PER_S, Indication(Cause.CPU, "host CPU", 100.0, moves_with_speed=True),
        "whole host/o us"),
    Metric("client_cpu_us", "client cpu", "CPU time of the load generator", "client", _CPU,
        "µs", _US_PER_S, markdown="client cpu/o us"),
    Metric("cs", "cs/o", "Context switches of the server's processes", "server",
        ("context_switches",), indicates=Indication(Cause.CONTENTION, "context switches", 50.0),
        markdown="cs/o"),
    Metric("host_cs", "host cs", "Context switches of the whole host", HOST,
        ("context_switches",), indicates=Indication(Cause.CONTENTION, "context switches", 50.0),
        markdown="host cs/o"),
    Metric("client_cs", "client cs", "Context switches of the load generator", "client",
        _SWITCHES),
    Metric("reads", "r/o", "Storage reads of the data disk", HOST, ("reads",),
        markdown="r/o"),
    Metric("writes", "w/o", "Storage writes of the data disk", HOST, ("writes",)),
    Metric("read_kb", "rKB/o", "Read from storage by the server", "server", ("read_bytes",),
        "kB", _KB_PER_BYTE, Indication(Cause.IO, "KB read", 50.0), "rKB/o"),
    Metric("write_kb", "wKB/o", "Written to storage by the server", "server", ("write_bytes",),
        "kB", _KB_PER_BYTE, Indication(Cause.IO, "KB written", 20.0), "wKB/o"),
    Metric("pages_read", "pages/o", "Pages read from storage by the server", STORAGE,
        ("pages_read",), markdown="pages/o"),
    Metric("read_amplification", "read amp.", "Bytes read from storage for each byte of the row",
        STORAGE, ("rows_read",), markdown="read amp."),
    Metric("host_read_kb", "host rKB", "Read from storage by the host", HOST, ("read_bytes",),
        "kB", _KB_PER_BYTE, Indication(Cause.IO, "KB read", 50.0), "host rKB/o"),
    Metric("host_write_kb", "host wKB", "Written to storage by the host", HOST,
        ("write_bytes",), "kB", _KB_PER_BYTE, Indication(Cause.IO, "KB written", 20.0),
        "host wKB/o"),
)  # fmt: skip
"""All metrics. The time of the whole host has no quantity: only archives have it, for hosts whose
number of CPUs is unknown."""

_BY_KEY = {metric.key: metric for metric in METRICS}
ESSENTIAL = tuple(
    _BY_KEY[key] for key in ("server_cpu_us", "cs", "reads", "read_kb", "writes", "write_kb")
)
"""The metrics that are always shown, in order, so that a missing one is noticed."""


@dataclass(frozen=True)
class Percentile:
    """One percentile of response times."""

    field: str
    """The field of `LatencyUs`."""
    share: float
    """Share of the operations that take no longer."""
    margin: float
    """Relative difference up to which it is considered the same."""

    @property
    def key(self) -> str:
        """Name in JSON (`compared`) and CSV."""
        return f"{self.field}_us"

    @property
    def meaning(self) -> str:
        return f"Response time not exceeded by {self.share:.0%} of the operations"


PERCENTILES = (
    Percentile("p50", 0.50, 0.10),
    Percentile("p75", 0.75, 0.10),
    Percentile("p95", 0.95, 0.10),
    Percentile("p99", 0.99, 0.25),
)


@dataclass(frozen=True)
class BesideRate:
    """The rate of the background load."""

    key: str = "beside_rate"
    label: str = "background/s"
    meaning: str = "Operations per second of the background load"


@dataclass(frozen=True)
class BesidePercentile:
    """One percentile of the response times of the background load."""

    percentile: Percentile

    @property
    def key(self) -> str:
        """Name in JSON (`compared`) and CSV."""
        return f"beside_{self.percentile.key}"

    @property
    def label(self) -> str:
        return f"background {self.percentile.field}"

    @property
    def meaning(self) -> str:
        return f"{self.percentile.meaning} of the background load"


Compared = Metric | Percentile | BesideRate | BesidePercentile

BESIDE: tuple[BesideRate | BesidePercentile, ...] = (
    BesideRate(),
    *(BesidePercentile(each) for each in PERCENTILES if each.field in {"p50", "p95"}),
)

COMPARED: tuple[Compared, ...] = (
    *(
        metric
        for metric in METRICS
        if metric.probe == STORAGE or (metric.indicates is not None and metric.probe != HOST)
    ),
    *PERCENTILES,
    *BESIDE,
)
"""Quantities compared with the base with an interval and a verdict: metrics that indicate a cause
(with the experiment's margin), metrics of storage, percentiles, and the background load. The host's
metrics are excluded: they include the client, and servers that should be idle."""


def shown_metrics(
    uses: Iterable[PerOperation], always: Collection[Metric] = ESSENTIAL
) -> list[Metric]:
    """Return the metrics that are `always` shown or in any of `uses`, the essential first."""
    measured = {key for use in uses for key in use}
    others = [metric for metric in METRICS if metric not in ESSENTIAL]
    return [m for m in (*ESSENTIAL, *others) if m in always or m.key in measured]
