"""The classic tables of an experiment that was measured here.

A rate is what Slowdust calls one: transactions/s, and for scan thousands of rows/s of all clients.
Hardware per operation is that of the whole host, as in the classic tables, over exactly the
measured windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.analysis.model import Report, Result
from slowdust.formats.sysbench import met_tables
from slowdust.formats.sysbench.met_tables import MetRow
from slowdust.formats.sysbench.names import block_name
from slowdust.formats.sysbench.rate_tables import RateTable
from slowdust.report.classic.sysbench import rate_files
from slowdust.store.slice import Slice

_CPU = ("cpu_user_s", "cpu_system_s", "cpu_iowait_s", "cpu_steal_s", "cpu_idle_s")
_ROWS = "rows/s"
_PERCENT_S_PER_US = 100 / 1e6


def measured_files(report: Report, slices: Sequence[Slice]) -> dict[Path, str]:
    """Return path and content of qps.abs, qps.rel and o.met for each number of clients."""
    files: dict[Path, str] = {}
    levels = sorted({result.clients for result in report.results})
    cpus = _cpus(slices)
    for clients in levels:
        tag = f"c{clients}" if len(levels) > 1 else ""
        by_test: dict[str, dict[str, Result]] = {}
        for result in report.results:
            if result.clients == clients:
                by_test.setdefault(result.test, {})[result.contender] = result
        files |= rate_files(_rates(report, by_test), tag, Path())
        text = "".join(
            met_tables.block(block_name(test, clients), rows) + "\n"
            for test, results in by_test.items()
            if (rows := _hardware(report, results, slices, cpus))
        )
        files[Path(f"o.met.{tag}" if tag else "o.met")] = text
    return files


def _rates(report: Report, by_test: dict[str, dict[str, Result]]) -> RateTable:
    return RateTable(
        tuple(map(_column, report.contenders)),
        {
            test: tuple(
                f"{_rate(results[name]):.0f}" if name in results else ""
                for name in report.contenders
            )
            for test, results in by_test.items()
        },
    )


def _column(contender: str) -> str:
    """Return the contender as the name of a column, without blanks."""
    return contender.replace(" ", "_")


def _rate(result: Result) -> float:
    return result.qps / 1000 if result.unit == _ROWS else result.qps


def _hardware(
    report: Report, results: Mapping[str, Result], slices: Sequence[Slice], cpus: float | None
) -> list[MetRow]:
    """Return one row for each contender, the base first; none without the base."""
    if report.base not in results:
        return []
    measured = [results[name] for name in report.contenders if name in results]
    return [_row(result, _operations(result, slices), cpus) for result in measured]


def _row(result: Result, operations: float, cpus: float | None) -> MetRow:
    """Return a row; `operations` is the number of Slowdust's in one of the rate's unit."""
    use = result.per_op
    percent = None
    if "host_cpu_us" in use and cpus is not None:
        percent = use["host_cpu_us"] * _PERCENT_S_PER_US / cpus

    def text(value: float | None, form: str) -> str:
        return "" if value is None else f"{value * operations:{form}}"

    metrics = ("host_cs", "reads", "host_read_kb", "host_write_kb")
    cells = (text(percent, ".6f"), *(text(use.get(metric), ".3f") for metric in metrics))
    return MetRow(_column(result.contender), (*cells, f"{_rate(result):.0f}"))


def _operations(result: Result, slices: Sequence[Slice]) -> float:
    """Return 1, but for scan the operations in a thousand rows: its operation is a whole table."""
    if result.unit != _ROWS:
        return 1.0
    operations = rows = 0.0
    for record in slices:
        mine = (record.place.test, record.place.clients, record.place.contender)
        if mine == (result.test, result.clients, result.contender):
            operations += record.measured.operations or 0
            rows += record.qps * (record.measured.seconds or 0.0)
    return 1000 * operations / rows if rows else 1.0


def _cpus(slices: Sequence[Slice]) -> float | None:
    """Return the CPUs of the host, from their time in the windows, busy and idle."""
    time = window = 0.0
    for record in slices:
        length = record.measured.probe_seconds or record.measured.seconds
        cpu_s = record.measured.used("host", *_CPU)
        if cpu_s is not None and length is not None:
            time += cpu_s
            window += length
    return float(round(time / window)) or None if window else None
