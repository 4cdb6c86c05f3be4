"""Hardware per operation, hardware counters and response times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowdust.analysis.metrics import ESSENTIAL, HOST, METRICS, Metric, shown_metrics
from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.latency import shown_times
from slowdust.benchmarks import measured_in_steps
from slowdust.benchmarks.sysbench import SYSBENCH
from slowdust.ratios import change, ratio
from slowdust.report.document import (
    STEP_OF_TEST,
    Cell,
    Cells,
    Column,
    Heads,
    Medium,
    Section,
    judged,
    named,
    table,
    text,
)
from slowdust.report.markdown.table import PALE, or_absent
from slowdust.report.sections.hosts import absolute
from slowdust.wording import TRANSACTION_RATES, listing, operation

_ALWAYS = ("server", "client")
"""Probes whose metrics always have a column."""
_QUERIES = "queries/s"


def per_operation(report: Report, results: Sequence[Result]) -> Section:
    """Return the values of the base per operation, and each contender relative to it."""
    columns = _columns(report, results)
    rows: list[Cells] = [
        [
            *(result.test, str(result.clients), named(result.contender)),
            *(_metric(result, metric.key, report.base) for metric, _ in columns),
        ]
        for result in results
    ]
    heads: Heads = [
        Column(metric.markdown or metric.label, hint=metric.meaning, media=media)
        for metric, media in columns
    ]
    about = [
        "Values of the base; for the others, the multiple of the base (x).",
        *_what_operations_are(report, results),
        *_explained(results, "A multiple has its 95% interval and its verdict."),
    ]
    shown = table([*STEP_OF_TEST, *heads], rows, left=1, name="Hardware per operation")
    on_page = any(Medium.HTML in media for _, media in columns)
    return Section(
        "Hardware per operation",
        [text(*about, role="lead"), shown],
        media=Medium.ALL if on_page else Medium.TEXT,
    )


def _columns(report: Report, results: Sequence[Result]) -> list[tuple[Metric, Medium]]:
    """Return the metrics of the table; a page has more than Markdown has room for.

    Markdown has metrics of the host only if the server was not measured.
    """
    measured = {key for result in report.results for key in result.per_op}
    titled = [metric for metric in METRICS if metric.markdown is not None]
    of_host = [each for each in titled if each.probe == HOST and each.key in measured]
    if not of_host or "server_cpu_us" in measured:
        in_text = [
            each
            for each in titled
            if each.probe != HOST and (each.probe in _ALWAYS or each.key in measured)
        ]
    else:
        in_text = of_host
    essential = ESSENTIAL if report.repeated else ()
    on_page = shown_metrics((result.per_op for result in results), essential)
    columns = []
    for metric in METRICS:
        in_texts = Medium.TEXT if metric in in_text else Medium(0)
        if media := in_texts | (Medium.HTML if metric in on_page else Medium(0)):
            columns.append((metric, media))
    return columns


def _what_operations_are(report: Report, results: Sequence[Result]) -> list[str]:
    """Return the sentence that defines an operation."""
    if SYSBENCH.name in report.benchmarks:
        units = {r.test: operation(r.unit) for r in results if r.unit != _QUERIES}
        others = [f", in {test} a {unit}" for test, unit in units.items() if unit != "operation"]
        return [f"An operation (o) is a query{''.join(others)}."]
    tests: dict[str, dict[str, None]] = {}
    for result in results:
        if measured_in_steps(result.benchmark):
            tests.setdefault(operation(result.unit), {})[result.test] = None
    steps = [f"{listing([*names])}: {unit}" for unit, names in tests.items()]
    return [f"An operation (o) is, in {'; '.join(steps)}."] if steps else []


def _metric(result: Result, key: str, base: str) -> Cell:
    value = result.per_op.get(key)
    if result.contender == base:
        return Cell(or_absent(value, absolute))
    note = "" if value is None else absolute(value)
    if (compared := result.compared.get(key)) is None:
        multiple = (result.per_op_relative or {}).get(key)
        return Cell(or_absent(multiple, _multiple), note=note)
    return replace(judged(compared), text=_multiple(compared.value), note=note)


def _multiple(value: float) -> str:
    return f"{ratio(value)}x"


def _explained(results: Sequence[Result], explanation: str) -> list[str]:
    """Return the explanation of comparisons, if there are any."""
    verdicts = {each.verdict for result in results for each in result.compared.values()}
    return [*([explanation] if verdicts else []), *([PALE] if "unsure" in verdicts else [])]


def counters(report: Report, results: Sequence[Result]) -> Section | None:
    """Return the hardware counters of each contender relative to the base."""
    parts = []
    for name in report.contenders[1:]:
        compared = [r for r in results if r.contender == name and r.counters_relative]
        values = [result.counters_relative or {} for result in compared]
        rows: list[Cells] = [
            [counter, *(or_absent(ratios.get(counter), change) for ratios in values)]
            for counter in dict.fromkeys(key for ratios in values for key in ratios)
        ]
        if rows:
            heads = ["counter", *(result.test for result in compared)]
            parts.append(Section(name, [table(heads, rows, left=1, name=f"Counters of {name}")]))
    about = text("Changes relative to the base; the clock rate is first.", role="lead")
    return Section("Counters per query, relative", [about, *parts]) if parts else None


def latency(report: Report, results: Sequence[Result]) -> Section | None:
    """Return percentiles of response times, with their ratios to the base."""
    times = shown_times(report, results)
    if not times or all(result.latency_us is None for result in results):
        return None
    rows: list[Cells] = [
        [
            *(result.test, str(result.clients), named(result.contender)),
            *(_response_time(result, time) for time in times),
        ]
        for result in results
    ]
    ratios = "Times, each with its multiple of the base (x), the 95% interval and the verdict."
    explained = _explained(results, ratios)
    return Section(
        "Response time, microseconds",
        [
            *([text(TRANSACTION_RATES, role="lead")] if SYSBENCH.name in report.benchmarks else []),
            *([text(*explained, role="lead")] if explained else []),
            table([*STEP_OF_TEST, *times], rows, left=1, name="Response times"),
        ],
    )


def _response_time(result: Result, column: str) -> Cell:
    time = or_absent(getattr(result.latency_us, column, None), "{:,.0f}".format)
    compared = result.compared.get(f"{column}_us")
    if compared is None:
        return Cell(time)
    return replace(judged(compared), text=time, multiple=_multiple(compared.value))
