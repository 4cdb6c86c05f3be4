"""Memory, hardware per operation, counters and response times as Markdown."""

from __future__ import annotations

from slowdust.analysis.metrics import HOST, METRICS
from slowdust.analysis.model import Memory, Report, Result
from slowdust.analysis.results.latency import shown_times
from slowdust.analysis.results.results import by_step
from slowdust.benchmarks import measured_in_steps
from slowdust.benchmarks.sysbench import SYSBENCH
from slowdust.ratios import Ratio, change, interval, ratio
from slowdust.report.markdown.table import ABSENT, PALE, or_absent, pale, table
from slowdust.units import known
from slowdust.wording import TRANSACTION_RATES, listing, operation

_ALWAYS = ("server", "client")
"""Probes whose metrics have a column even where nothing was measured."""
_QUERIES = "queries/s"
_RATIOS_OF_TIMES = (
    "Behind a time its multiple of the base's (x), with its 95% interval and verdict."
)


def memory(report: Report) -> list[str]:
    if not report.memory:
        return []
    header = ["contender", "median rqps", "peak VSZ GB", "peak RSS GB", "RSS / buffer pool"]
    return [
        "## Memory",
        "",
        "Peaks over all tests; rqps is the median over the tests, and its range. VSZ counts",
        "address space that was reserved and never touched.",
        "",
        *table(header, [_memory_row(peaks) for peaks in report.memory], left=1),
    ]


def _memory_row(peaks: Memory) -> list[str]:
    rqps = ABSENT
    if peaks.rqps_median is not None:
        ends = known((peaks.rqps_lowest, peaks.rqps_highest))
        rqps = f"{ratio(peaks.rqps_median)} ({' to '.join(map(ratio, ends))})"
    sizes = (peaks.peak_vsz_gb, peaks.peak_rss_gb, peaks.rss_per_buffer_pool)
    return [peaks.contender, rqps, *(or_absent(size, _absolute) for size in sizes)]


def per_operation(report: Report) -> list[str]:
    """Return the base's values per operation, and below them each contender relative to it."""
    columns = _columns(report)
    rows = []
    for step, results in by_step(report.results).items():
        for name, result in results.items():
            show = _of_base if name == report.base else _relative
            cells = (show(result, key) for key in columns)
            rows.append([step.test, str(step.clients), name, *cells])
    return [
        "## Hardware per operation",
        "",
        "The base's values; of the others, the multiple of the base's (x).",
        *_what_operations_are(report),
        *_explained(report, "Behind a multiple its 95% interval and verdict."),
        "",
        *table(["test", "clients", "contender", *columns.values()], rows, left=1),
    ]


def _columns(report: Report) -> dict[str, str]:
    """Return the metrics for the table: key -> title.

    The host's count only where nothing is known of the server alone.
    """
    measured = {key for result in report.results for key in result.per_op}
    titled = [(metric, metric.markdown) for metric in METRICS if metric.markdown is not None]
    of_host = {m.key: title for m, title in titled if m.probe == HOST and m.key in measured}
    if of_host and "server_cpu_us" not in measured:
        return of_host
    return {
        metric.key: title
        for metric, title in titled
        if metric.probe != HOST and (metric.probe in _ALWAYS or metric.key in measured)
    }


def _what_operations_are(report: Report) -> list[str]:
    """Return the sentence about operations, where they are what the rates count."""
    if SYSBENCH.name in report.benchmarks:
        units = {r.test: operation(r.unit) for r in report.results if r.unit != _QUERIES}
        others = [f", in {test} a {unit}" for test, unit in units.items() if unit != "operation"]
        return [f"An operation (o) is a query{''.join(others)}."]
    tests: dict[str, dict[str, None]] = {}
    for result in report.results:
        if measured_in_steps(result.benchmark):
            tests.setdefault(operation(result.unit), {})[result.test] = None
    steps = [f"{listing([*names])}: {unit}" for unit, names in tests.items()]
    return [f"An operation (o) is, in {'; '.join(steps)}."] if steps else []


def _of_base(result: Result, key: str) -> str:
    return or_absent(result.per_op.get(key), _absolute)


def _relative(result: Result, key: str) -> str:
    if (compared := result.compared.get(key)) is None:
        return or_absent((result.per_op_relative or {}).get(key), _multiple)
    return _comparison(compared)


def _comparison(compared: Ratio) -> str:
    value = f"{_multiple(compared.value)}{interval(compared)}"
    return f"{pale(value) if compared.verdict == 'unsure' else value} {compared.verdict}"


def _explained(report: Report, explanation: str) -> list[str]:
    """Return the explanation of the comparisons, and of pale ones, where there are such."""
    verdicts = {each.verdict for result in report.results for each in result.compared.values()}
    return [*([explanation] if verdicts else []), *([PALE] if "unsure" in verdicts else [])]


def _absolute(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _multiple(value: float) -> str:
    return f"{ratio(value)}x"


def counters(report: Report) -> list[str]:
    tables: list[str] = []
    for name in report.contenders[1:]:
        compared = [r for r in report.results if r.contender == name and r.counters_relative]
        values = [result.counters_relative or {} for result in compared]
        rows = [
            [counter, *(or_absent(ratios.get(counter), change) for ratios in values)]
            for counter in dict.fromkeys(key for ratios in values for key in ratios)
        ]
        if rows:
            header = ["counter", *(result.test for result in compared)]
            tables += ["", f"### {name}", "", *table(header, rows, left=1)]
    head = ["## Counters per query, relative", "", "The clock rate first."]
    return [*head, *tables] if tables else []


def latency(report: Report) -> list[str]:
    columns = shown_times(report, report.results)
    if not columns or all(result.latency_us is None for result in report.results):
        return []
    rows = []
    for step, results in by_step(report.results).items():
        for name, result in results.items():
            cells = (_response_time(result, column) for column in columns)
            rows.append([step.test, str(step.clients), name, *cells])
    header = ["test", "clients", "contender", *columns]
    explained = _explained(report, _RATIOS_OF_TIMES)
    return [
        "## Response time, microseconds",
        "",
        *([TRANSACTION_RATES, ""] if SYSBENCH.name in report.benchmarks else []),
        *([*explained, ""] if explained else []),
        *table(header, rows, left=1),
    ]


def _response_time(result: Result, column: str) -> str:
    time = or_absent(getattr(result.latency_us, column, None), "{:,.0f}".format)
    compared = result.compared.get(f"{column}_us")
    return time if compared is None else f"{time} {_comparison(compared)}"
