"""The hardware-per-operation columns: what each is called, its unit, what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.analysis.model import PerOperation


@dataclass(frozen=True)
class Metric:
    """A column of the per-operation table; `field` is its name in `PerOperation`."""

    field: str
    label: str
    unit: str
    meaning: str

    def meaning_per(self, operation: str) -> str:
        """What it means where an operation is a row, a query, ..."""
        return f"{self.meaning} per {operation}"

    def of(self, use: PerOperation | None) -> float | None:
        """Its value in `use`; None where it was not measured."""
        if use is None:
            return None
        value: float | None = getattr(use, self.field)
        return value


ESSENTIAL = (
    Metric("server_cpu_us", "cpu/o", "µs", "CPU time of the server's processes"),
    Metric("cs", "cs/o", "", "Context switches of the server's processes"),
    Metric("reads", "r/o", "", "Storage reads of the data disk"),
    Metric("read_kb", "rKB/o", "kB", "Read from storage by the server"),
    Metric("writes", "w/o", "", "Storage writes of the data disk"),
    Metric("write_kb", "wKB/o", "kB", "Written to storage by the server"),
)
"""METHOD's columns: of what Slowdust measured always there, so that what is missing is seen."""

FURTHER = (
    Metric("server_cpu_user_us", "user", "µs", "Server CPU time in user mode"),
    Metric("server_cpu_system_us", "system", "µs", "Server CPU time in the kernel"),
    Metric("host_cpu_us", "host cpu", "µs", "CPU time of the whole host"),
    Metric("host_share_us", "whole host", "µs", "Time of all CPUs of the host"),
    Metric("client_cpu_us", "client cpu", "µs", "CPU time of the load generator"),
    Metric("host_cs", "host cs", "", "Context switches of the whole host"),
    Metric("client_cs", "client cs", "", "Context switches of the load generator"),
    Metric("host_read_kb", "host rKB", "kB", "Read from storage by the host"),
    Metric("host_write_kb", "host wKB", "kB", "Written to storage by the host"),
)


def columns_for(
    uses: Sequence[PerOperation], always: Sequence[Metric] = ESSENTIAL
) -> tuple[Metric, ...]:
    """The columns that are there `always`, and those of the others that any of `uses` has."""
    return tuple(
        metric
        for metric in (*ESSENTIAL, *FURTHER)
        if metric in always or any(metric.of(use) is not None for use in uses)
    )
