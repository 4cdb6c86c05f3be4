"""The report's results as CSV: one row each, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import msgspec

from slowdust.analysis.metrics import COMPARED, METRICS
from slowdust.analysis.model import (
    BesideResult,
    ContenderWaits,
    Failures,
    Needed,
    Report,
    ResponseTime,
    Result,
    StorageUse,
    Work,
    Writers,
)
from slowdust.ratios import PLAIN, Ratio
from slowdust.report.json import flat, keys_of
from slowdust.store.count import KERNEL_INSTRUCTIONS, SIMULATED, SYSTEM_CALLS
from slowdust.store.latency import LatencyUs
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.store.waits import WaitKind

_NESTED = {
    *("errors_by_state", "all_time", "latency_us", "response_time", "per_op", "per_op_relative"),
    *("compared", "work", "counters", "counters_relative", "writers", "needed", "notes"),
    *("amounts", "amount_differences", "evidence", "explanation", "silent_incarnations", "beside"),
    *("storage", "hosts", "groups", "failures"),
}
"""Fields of a result that are not one column."""
_PLAIN = [key for key in keys_of(Result) if key not in _NESTED]
_PARTS: dict[str, type[msgspec.Struct]] = {
    "failures": Failures,
    "all_time": Ratio,
    "latency_us": LatencyUs,
    "response_time": ResponseTime,
    "writers": Writers,
    "beside": BesideResult,
    "needed": Needed,
    "work": Work,
    "storage": StorageUse,
}
_FIELDS = [
    (part, key)
    for part, kind in _PARTS.items()
    for key in (("rqps", "low", "high") if kind is Ratio else keys_of(kind))
    if (part, key) not in {("work", "events"), ("work", "differing")}
]
"""Parts of a result, and their fields, which are columns each."""
_EVENTS = (KERNEL_INSTRUCTIONS, SYSTEM_CALLS, *SIMULATED)
_METRICS = tuple(metric.key for metric in METRICS)
_COMPARED = [(quantity.key, key) for quantity in COMPARED for key in PLAIN.named(None)]
_WAITS: tuple[WaitKind, ...] = ("lock", "latch", "io", "sync", "commit", "other")
_SYNCS = ("syncs_per_operation", "syncs_us")

COLUMNS = (
    "experiment",
    "date",
    "host",
    "base",
    "version",
    "config",
    *_PLAIN,
    "silent_incarnations",
    *(f"{part}_{name}" for part, name in _FIELDS),
    *(f"work_{event}" for event in _EVENTS),
    *(f"per_op_{key}" for key in _METRICS),
    *(f"per_op_relative_{key}" for key in _METRICS),
    *(f"compared_{key}_{field}" for key, field in _COMPARED),
    "waits_time_us",
    *(f"waits_{kind}_us" for kind in _WAITS),
    *_SYNCS,
    "notes",
)
"""All columns (docs/csv.md). Every file has them, so files of several experiments can be
concatenated."""


def render(report: Report, _slices: Sequence[Slice] = (), _profiles: Sequence[Profile] = ()) -> str:
    """Return a header and one row per result, with empty fields for values not measured."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    observed = {
        (each.benchmark, each.test, each.clients, each.contender): each for each in report.waits
    }
    infos = {info.name: info for info in report.contender_info}
    host = _host(report)
    for result in report.results:
        info = infos[result.contender]
        experiment = (report.experiment, report.started, host or None, report.base)
        waits = observed.get((result.benchmark, result.test, result.clients, result.contender))
        writer.writerow([*experiment, info.version, info.config, *_row(result, waits)])
    return text.getvalue()


def _host(report: Report) -> str | None:
    """Return 'AMD EPYC; 2 logical, 2 physical; 23.5 GiB', or hosts; None where none is known."""
    if report.hosts:
        return "; ".join(f"{host.name} ({host.group})" for host in report.hosts)
    facts = report.host
    memory, unit, _ = facts.get("Memory", "").partition(" GiB")
    parts = (facts.get("CPU"), facts.get("Cores"), memory + unit)
    return "; ".join(filter(None, parts)) or None


def _row(result: Result, waits: ContenderWaits | None) -> list[object]:
    values = flat(result)
    parts = {
        part: flat(values[part]) if isinstance(values[part], msgspec.Struct) else values[part] or {}
        for part in _PARTS
    }
    return [
        *(values[key] for key in _PLAIN),
        " ".join(map(str, result.silent_incarnations)) or None,
        *(parts[part].get(key) for part, key in _FIELDS),
        *((result.work.events if result.work else {}).get(event) for event in _EVENTS),
        *(result.per_op.get(key) for key in _METRICS),
        *((result.per_op_relative or {}).get(key) for key in _METRICS),
        *(PLAIN.named(result.compared.get(key))[part] for key, part in _COMPARED),
        *_waits(waits),
        "; ".join(result.notes),
    ]


def _waits(waits: ContenderWaits | None) -> list[object]:
    if waits is None:
        return [None] * (1 + len(_WAITS) + len(_SYNCS))
    return [
        waits.time_us,
        *(waits.kinds.get(kind) for kind in _WAITS),
        waits.syncs.per_operation if waits.syncs else None,
        waits.syncs.us if waits.syncs else None,
    ]
