"""The report as Markdown that also reads well in a terminal: its tables are aligned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from slowdust.analysis.metrics import HOST, METRICS, PerOperation
from slowdust.analysis.model import Memory, Report, Result, TestConcurrency
from slowdust.analysis.results.latency import columns_of_latency
from slowdust.analysis.sla import missed_its_sla
from slowdust.benchmarks import measured_in_steps
from slowdust.benchmarks.archived import SYSBENCH
from slowdust.report.markdown.changes import changes_section, told_changes
from slowdust.report.markdown.contenders import contenders_section
from slowdust.report.markdown.steps import details_of_steps, summaries
from slowdust.report.markdown.table import ABSENT, rate, ratio, table
from slowdust.report.tldr import passages
from slowdust.store.latency import LatencyUs
from slowdust.store.slice import Slice
from slowdust.wording import (
    MOST_LISTED,
    OF_TRANSACTIONS,
    change,
    clients,
    listing,
    operation,
)

_ALWAYS = ("server", "client")
"""Probes whose metrics have a column even where nothing was measured."""
_QUERIES = "queries/s"


def render(report: Report, _slices: Sequence[Slice] = ()) -> str:
    """tl;dr, throughput and what belongs to it, warnings, plans, contenders, method and host."""
    sections = [
        [f"# {report.experiment}", "", f"{_when(report)}he base is {report.base}."],
        *([f"> {note}"] for note in report.notes),
        ["## tl;dr", "", *_tldr(report)],
        *summaries(report),
        _throughput(report),
        changes_section(report),
        _response_times(report),
        _concurrency(report),
        _memory(report),
        _hardware(report),
        _counters(report),
        _latency(report),
        *details_of_steps(report),
        _warnings(report),
        _plans(report),
        contenders_section(report),
        ["## Method", "", *_facts(report.method)] if report.method else [],
        ["## Host", "", *_facts(report.host)] if report.host else [],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _tldr(report: Report) -> list[str]:
    told = []
    for passage in passages(report):
        told += [f"- {passage}"] if isinstance(passage, str) else told_changes(passage)
    return told


def _when(report: Report) -> str:
    """The beginning of the sentence."""
    return f"Measured {report.started}; t" if report.started else "T"


def _throughput(report: Report) -> list[str]:
    """Tests by contenders: QPS of the base, then rqps, interval and verdict of each other."""
    others = report.contenders[1:]
    rows = []
    for steps in _by_step(report.results):
        base = steps.get(report.base)
        row = [*_label(steps), ABSENT if base is None else _rate(base)]
        rows.append(row + [_relative(steps.get(name)) for name in others])
    header = ["test", "clients", report.base, *others]
    return [
        "## Throughput",
        "",
        *_what_rates_are(report),
        "",
        *table(header, rows, left=1),
    ]


def _what_rates_are(report: Report) -> list[str]:
    if report.imported:
        return ["Rate of the base, then relative rate: one run of each, so without intervals."]
    if not any(measured_in_steps(result.benchmark) for result in report.results):
        return ["QPS of the base (median of the slices), then relative QPS with its 95% interval."]
    return [
        "Rate of the base (median of the incarnations), then relative rate with its 95% interval:",
        "an incarnation has one pair of each step.",
    ]


def _rate(base: Result) -> str:
    missed = " (SLA missed)" if missed_its_sla(base) else ""
    return f"{rate(base.qps)} {base.unit}{missed}"


def _relative(result: Result | None) -> str:
    if result is not None and missed_its_sla(result):
        return "SLA missed"
    if result is None or result.rqps is None:
        return ABSENT
    interval = _interval(result.low, result.high)
    return f"{ratio(result.rqps)}{interval} {result.verdict or ''}".rstrip()


def _interval(low: float | None, high: float | None) -> str:
    """Behind a ratio, where there is one."""
    return "" if low is None or high is None else f" [{ratio(low)}, {ratio(high)}]"


def _response_times(report: Report) -> list[str]:
    """Tests by contenders where results are told in response times."""
    rows = [
        [*_label(steps), *(_response(steps.get(name), report.base) for name in report.contenders)]
        for steps in _by_step(report.results)
        if any(result.response_time for result in steps.values())
    ]
    if not rows:
        return []
    return [
        "## Mean response time",
        "",
        "Of the base in microseconds; of the others relative to it (above 1 is slower), with its",
        "95% interval.",
        "",
        *table(["test", "clients", *report.contenders], rows, left=1),
    ]


def _response(result: Result | None, base: str) -> str:
    time = None if result is None else result.response_time
    if result is None or time is None:
        return ABSENT
    if result.contender == base:
        return f"{time.mean_us:,.0f} us"
    if time.relative is None:
        return ABSENT
    return f"{ratio(time.relative)}{_interval(time.low, time.high)}"


def _concurrency(report: Report) -> list[str]:
    if not report.concurrency:
        return []
    return [
        "## By number of clients",
        *(line for t in report.concurrency for line in _test(t, report)),
    ]


def _test(one: TestConcurrency, report: Report) -> list[str]:
    """One test: how each contender stands at more and more clients, then the numbers."""
    others = report.contenders[1:]
    levels = [
        steps
        for steps in _by_step(report.results)
        if (first := next(iter(steps.values()))).test == one.test
        and first.benchmark == one.benchmark
    ]
    rows = [
        [_label(steps)[1], *(_relative(steps.get(name)) for name in others)] for steps in levels
    ]
    return [
        "",
        f"### {one.test}",
        "",
        *(f"- {course.contender}: {course.words}" for course in one.courses),
        "",
        *table(["clients", *others], rows, left=0),
    ]


def _memory(report: Report) -> list[str]:
    if not report.memory:
        return []
    header = ["contender", "median rqps", "peak VSZ GB", "peak RSS GB", "RSS / buffer pool"]
    return [
        "## Memory",
        "",
        "Peaks over all tests; rqps is the median over the tests, and its range. VSZ counts",
        "address space that was reserved and never touched.",
        "",
        *table(header, [_memory_row(one) for one in report.memory], left=1),
    ]


def _memory_row(one: Memory) -> list[str]:
    rqps = ABSENT
    if one.rqps_median is not None:
        rqps = f"{one.rqps_median:.2f} ({one.rqps_lowest:.2f} to {one.rqps_highest:.2f})"
    sizes = (one.peak_vsz_gb, one.peak_rss_gb, one.rss_per_buffer_pool)
    return [one.contender, rqps, *(ABSENT if s is None else _absolute(s) for s in sizes)]


def _hardware(report: Report) -> list[str]:
    """The base's values per operation, and below it each contender relative to it."""
    rows = []
    columns = _columns(report)
    for steps in _by_step(report.results):
        for name, result in steps.items():
            values = result.per_op if name == report.base else result.per_op_relative
            show = _absolute if name == report.base else _multiple
            rows.append([*_label(steps), name, *_per_operation(values, show, columns)])
    header = ["test", "clients", "contender", *columns.values()]
    return [
        "## Hardware per operation",
        "",
        "The base's values; of the others, the multiple of the base's (x).",
        *_what_operations_are(report),
        "",
        *table(header, rows, left=1),
    ]


def _columns(report: Report) -> dict[str, str]:
    """Return the metrics for the table: key -> title.

    The host's count only where nothing is known of the server alone, as of archived runs.
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
    """Of long steps and archived runs, whose operations are what their rates count."""
    tests: dict[str, dict[str, None]] = {}
    if report.imported == SYSBENCH.name:
        others = {r.test: operation(r.unit) for r in report.results if r.unit != _QUERIES}
        told = [f", in {test} a {what}" for test, what in others.items() if what != "operation"]
        return [f"An operation (o) is a query{''.join(told)}."]
    for result in report.results:
        if measured_in_steps(result.benchmark):
            tests.setdefault(operation(result.unit), {})[result.test] = None
    told = [f"{listing([*names])}: {one}" for one, names in tests.items()]
    return [f"An operation (o) is, in {'; '.join(told)}."] if told else []


def _per_operation(
    values: PerOperation | None, show: Callable[[float], str], keys: Iterable[str]
) -> list[str]:
    shown = [(values or {}).get(key) for key in keys]
    return [ABSENT if value is None else show(value) for value in shown]


def _absolute(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _multiple(value: float) -> str:
    return f"{ratio(value)}x"


def _counters(report: Report) -> list[str]:
    """Tests by counters, for each contender that has them."""
    sections: list[str] = []
    for name in report.contenders[1:]:
        found = [r for r in report.results if r.contender == name and r.counters_relative]
        names = dict.fromkeys(one for r in found for one in r.counters_relative or {})
        rows = [
            [counter, *(_change((r.counters_relative or {}).get(counter)) for r in found)]
            for counter in names
        ]
        if rows:
            header = ["counter", *(result.test for result in found)]
            sections += ["", f"### {name}", "", *table(header, rows, left=1)]
    if not sections:
        return []
    return ["## Counters per query, relative", "", "The clock rate first.", *sections]


def _change(ratio: float | None) -> str:
    return ABSENT if ratio is None else change(ratio)


def _latency(report: Report) -> list[str]:
    columns = columns_of_latency(report.results, report.imported)
    if not columns or all(result.latency_us is None for result in report.results):
        return []
    rows = [
        [*_label(steps), name, *_percentiles(result.latency_us, columns)]
        for steps in _by_step(report.results)
        for name, result in steps.items()
    ]
    header = ["test", "clients", "contender", *columns]
    return [
        "## Response time, microseconds",
        "",
        *([OF_TRANSACTIONS, ""] if report.imported == SYSBENCH.name else []),
        *table(header, rows, left=1),
    ]


def _percentiles(latency: LatencyUs | None, columns: Sequence[str]) -> list[str]:
    values = [None if latency is None else getattr(latency, name) for name in columns]
    return [ABSENT if value is None else f"{value:,.0f}" for value in values]


def _warnings(report: Report) -> list[str]:
    lines = [f"- {warning}" for warning in report.warnings]
    places: dict[str, list[str]] = {}
    for result in report.results:
        place = f"{result.test}, {clients(result.clients)}, {result.contender}"
        for note in result.notes:
            places.setdefault(note, []).append(place)
    for note, raised in places.items():
        if len(raised) > MOST_LISTED:
            lines.append(f"- {len(raised)} results: {note}")
        else:
            lines += [f"- {place}: {note}" for place in raised]
    return ["## Warnings", "", *lines] if lines else []


def _plans(report: Report) -> list[str]:
    lines: list[str] = []
    for difference in report.plan_differences:
        lines += ["", f"{difference.test}: `{difference.statement}`"]
        for name, plan in difference.plans.items():
            lines += ["", name, "", *(f"    {line}" for line in plan.splitlines())]
    return ["## Plans that differ", *lines] if lines else []


def _facts(facts: dict[str, str]) -> list[str]:
    return table(["", ""], [[label, value] for label, value in facts.items()], left=2)


def _by_step(results: Sequence[Result]) -> list[dict[str, Result]]:
    """Results by contender, one dict for each test and number of clients."""
    steps: dict[tuple[str, str, int], dict[str, Result]] = {}
    for result in results:
        key = (result.benchmark, result.test, result.clients)
        steps.setdefault(key, {})[result.contender] = result
    return list(steps.values())


def _label(steps: dict[str, Result]) -> list[str]:
    first = next(iter(steps.values()))
    return [first.test, str(first.clients)]
