"""The classic files of an Insert Benchmark that was measured here: o.sum, mrg, rel, the summary.

The columns mean what they did there (`tables.COLUMNS`). Rates are those of the report: the median
of the incarnations, but of the rows inserted beside queries the worst, as for the SLA. Hardware
and sizes are of all incarnations together, per second of exactly the measured windows. What was
not measured is NA: the directory with logs (dbgb2), the longest statement of an index creation
as its client saw it, and percentiles of seconds where a step had no whole one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

from slowdust.analysis.model import Report, Result
from slowdust.benchmarks.insert import INSERT
from slowdust.formats.insert.names import main_role
from slowdust.formats.insert.tables import MERGED_TABLES, RUN_TABLE, rate_kept, row_of_values
from slowdust.report.classic.insert import Rows, files_of
from slowdust.store.manifest import ArchivedTable, Manifest
from slowdust.store.slice import Slice
from slowdust.store.step import RoleUse, name_with_hold, split_hold
from slowdust.units import known

_NS_PER_S = 1e9
_BYTES_PER_MB = 1 << 20
_BYTES_PER_GB = 1 << 30
_KB_PER_BYTE = 1 / 1024


def measured_files(manifest: Manifest, report: Report, slices: Sequence[Slice]) -> dict[Path, str]:
    """Return path and content of each file; several numbers of clients have a directory each.

    So has each time for which a transaction was held open: `hold60`, `c8.hold60`.
    """
    files: dict[Path, str] = {}
    numbers = sorted({result.clients for result in report.results})
    holds = sorted({split_hold(test)[1] for test in manifest.tests})
    for clients, hold in product(numbers, holds):
        of_clients = f"c{clients}" if len(numbers) > 1 else ""
        folder = name_with_hold(of_clients, hold).removeprefix(".")
        steps = _classic_names([test for test in manifest.tests if split_hold(test)[1] == hold])
        rows = _rows(report, slices, clients, steps)
        tags = [_tag(name) for name in report.contenders]
        names = list(steps.values())
        tables = [
            *(
                ArchivedTable(kind=RUN_TABLE, tag=tag, runs=[tag], rows=names, folder=folder)
                for tag in tags
            ),
            ArchivedTable(kind=MERGED_TABLES, tag="", runs=tags, rows=names, folder=folder),
        ]
        files |= files_of(tables, rows, clients, _unsure(report, clients, steps))
    return files


def _unsure(report: Report, clients: int, steps: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return classic step and tag of the unsure results."""
    return {
        (steps[result.test], _tag(result.contender))
        for result in report.results
        if result.clients == clients and result.test in steps and result.verdict == "unsure"
    }


def _classic_names(tests: Sequence[str]) -> dict[str, str]:
    """Return the classic name of each step: those with queries are numbered."""
    names: dict[str, str] = {}
    for test in tests:
        step = INSERT.test(test)
        loops = sum(1 for name in names.values() if ".L" in name)
        plain = split_hold(test)[0]
        names[test] = f"{plain}.L{loops + 1}" if step is not None and step.rate else plain
    return names


def _tag(contender: str) -> str:
    """Return the contender as part of a file's name."""
    return contender.replace(" ", "_").replace("/", "_")


def _rows(report: Report, slices: Sequence[Slice], clients: int, steps: dict[str, str]) -> Rows:
    """Return the row of every step and contender; all NA where it was not measured."""
    results = {
        (result.test, result.contender): result
        for result in report.results
        if result.clients == clients
    }
    of_step: dict[tuple[str, str], list[Slice]] = {}
    for record in slices:
        if record.place.clients == clients:
            of_step.setdefault((record.place.test, record.place.contender), []).append(record)
    rows: Rows = {}
    for test, name in steps.items():
        for contender in report.contenders:
            result = results.get((test, contender))
            values = {} if result is None else _values(result, of_step[test, contender])
            rows.setdefault(name, {})[_tag(contender)] = row_of_values(values, _tag(contender))
    return rows


def _values(result: Result, slices: Sequence[Slice]) -> dict[str, float | None]:
    main = main_role(split_hold(result.test)[0])
    queries = main == "query"
    inserts = result.writers.inserts if result.writers else None
    inserted = _inserted(slices, main)
    use = result.per_op
    return {
        "ips": inserts if queries else result.qps,
        "qps": result.qps if queries else 0.0,
        "rps": _per_second(slices, "reads"),
        "rmbps": _per_second(slices, "read_bytes", 1 / _BYTES_PER_MB),
        "wps": _per_second(slices, "writes"),
        "wmbps": _per_second(slices, "write_bytes", 1 / _BYTES_PER_MB),
        "rpq": use.get("reads"),
        "rkbpq": use.get("host_read_kb"),
        "wpi": _per_insert(slices, inserted, "writes"),
        "wkbpi": _per_insert(slices, inserted, "write_bytes", _KB_PER_BYTE),
        "csps": _per_second(slices, "context_switches"),
        "cpups": _busy_percent(slices),
        "cspq": use.get("host_cs"),
        "cpupq": use.get("host_cpu_us"),
        "dbgb1": _largest_gb(record.step.data_bytes for record in slices if record.step),
        "rss": _largest_gb(record.measured.used("server", "rss_bytes") for record in slices),
        "maxop": None if main == "index" else _longest(slices, main),
        "p50": _rate_kept(slices, main, 0.50),
        "p99": _rate_kept(slices, main, 0.99),
    }


def _roles(slices: Iterable[Slice], name: str) -> list[RoleUse]:
    return known(record.step.roles.get(name) for record in slices if record.step)


def _inserted(slices: Sequence[Slice], main: str) -> int | None:
    """Return the rows inserted, or indexed, in all windows."""
    rows = [role.rows for role in _roles(slices, "index" if main == "index" else "insert")]
    return None if len(rows) < len(slices) or None in rows else sum(known(rows))


def _total(slices: Sequence[Slice], *quantities: str) -> float | None:
    """Return the host's use over all windows; None unless the probe saw it in each."""
    amounts = known(record.measured.used("host", *quantities) for record in slices)
    return sum(amounts) if len(amounts) == len(slices) else None


def _per_second(slices: Sequence[Slice], quantity: str, factor: float = 1.0) -> float | None:
    lengths = known(record.measured.probe_seconds or record.measured.seconds for record in slices)
    total = _total(slices, quantity)
    return None if total is None or not sum(lengths) else total * factor / sum(lengths)


def _per_insert(
    slices: Sequence[Slice], inserted: int | None, quantity: str, factor: float = 1.0
) -> float | None:
    total = _total(slices, quantity)
    return total * factor / inserted if total is not None and inserted else None


def _busy_percent(slices: Sequence[Slice]) -> float | None:
    """Return the CPU time at work in percent of all there was."""
    busy = _total(slices, "cpu_user_s", "cpu_system_s")
    idle = _total(slices, "cpu_idle_s", "cpu_iowait_s", "cpu_steal_s")
    if busy is None or idle is None or not busy + idle:
        return None
    return 100 * busy / (busy + idle)


def _largest_gb(sizes: Iterable[float | None]) -> float | None:
    largest = max(known(sizes), default=None)
    return None if largest is None else largest / _BYTES_PER_GB


def _longest(slices: Sequence[Slice], main: str) -> float | None:
    """Return the seconds of the longest statement."""
    longest = [role.latency.max_ns for role in _roles(slices, main) if role.latency]
    return max(longest) / _NS_PER_S if longest else None


def _rate_kept(slices: Sequence[Slice], main: str, share: float) -> float | None:
    """Return the rate that a share of the whole seconds reached; the classic p99 is that of 99%."""
    if main == "index":
        return None
    rates = [
        second.statements if main == "query" else second.rows
        for role in _roles(slices, main)
        for second in role.per_second[: int(role.seconds or 0)]
    ]
    return rate_kept(rates, share)
