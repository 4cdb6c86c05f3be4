"""The terms of a report's page."""

from __future__ import annotations

from slowdust.analysis.metrics import PERCENTILES
from slowdust.analysis.model import Report
from slowdust.analysis.work import WORK_MARGIN, has_work
from slowdust.benchmarks import BENCHMARKS
from slowdust.benchmarks.steps import StepBenchmark
from slowdust.benchmarks.sysbench import SYSBENCH
from slowdust.report.document import Section, glossary
from slowdust.report.numbers import percent
from slowdust.wording import listing

_STALL = (
    "A whole second with less than a tenth of the median second of a role. A role with fewer than "
    "ten statements in its median second stalls only in a second without a finished statement, "
    "during a statement of a second or more."
)


def reading(report: Report) -> Section:
    """Return the terms that a page of the report uses."""
    steps = step_benchmarks(report)
    words = {
        **_comparisons(report, in_steps=bool(steps)),
        **_units(report),
        **(_of_steps(report, steps) if steps else {}),
        **(_of_starts(in_steps=bool(steps)) if report.repeated else {}),
        **_metrics(report),
        "\N{EN DASH}": "Not measured. Never zero.",
    }
    return glossary(words)


def step_benchmarks(report: Report) -> list[StepBenchmark]:
    """Return the benchmarks of the long steps of a report."""
    known = map(BENCHMARKS.get, report.benchmarks)
    return [benchmark for benchmark in known if isinstance(benchmark, StepBenchmark)]


def _comparisons(report: Report, *, in_steps: bool) -> dict[str, str]:
    rate = (
        "Relative rate: operations per second of the contender / operations per second of the "
        "base. Above 1 is faster, below 1 slower. "
    )
    if not report.repeated:
        return {"rqps": f"{rate}One run of each, so the spread of repeated runs is unknown."}
    pairs = (
        "steps that contenders take in turn, one pair in each start"
        if in_steps
        else "slices that contenders take in turn"
    )
    spread = (
        "the pairs of a step vary between starts of the servers. A dash: too few starts"
        if in_steps
        else "slices vary within a start of the servers and between starts. A dash: too few slices"
    )
    words = {
        "rqps": f"{rate}It comes from {pairs}, so a slowdown of the machine affects both.",
        "interval": f"95% confidence interval of rqps, from how much {spread}.",
        "verdict": (
            "`same`: the 90% interval is inside the margin of "
            f"{percent(report.margin)}. `slower`, `faster`: otherwise, if the 95% interval is on "
            "one side of 1, even after a correction for the number of tests. `unsure`: too few or "
            "too noisy measurements. The section of an unsure test has the multiple of the budget "
            "that would decide it; two of three such tests have a verdict after that. Colours "
            "follow rqps, in the classic bands, and are pale if the verdict is unsure."
        ),
    }
    if not in_steps:
        words["typical, all time"] = (
            "rqps is the ratio of typical slices: outliers are trimmed, and stalls with them. `All "
            "time` is the ratio of all operations over all time, silent slices included. If the "
            "two differ significantly by more than the margin, or if too few slices are typical, "
            "then ratio, interval, colour and verdict are about all time, and `typical 1.00` has "
            "the ratio of typical slices."
        )
    words["2.1% to 6.3%"] = (
        "The bounds of the 95% interval of a difference. Differences are ranked by the smaller one."
    )
    return words


def _units(report: Report) -> dict[str, str]:
    words = {}
    if SYSBENCH.name in report.benchmarks:
        words["queries/s"] = (
            "The unit of rates; thousands of rows for scan, rows for load. Values per "
            "operation are per one of these. Response times are of transactions: "
            "transactions of read-only, read-write and write-only tests have many queries."
        )
    if any(result.response_time for result in report.results):
        words["time"] = (
            "Mean response time of the contender / mean response time of the base, with its 95% "
            "interval, from the same pairs of slices as rqps. Above 1 is slower. If every client "
            "waits for its answer, it is 1 / rqps; in an open loop it is the only comparison."
        )
    if has_work(report.results):
        words["work"] = (
            "Instructions per operation of the contender / instructions per operation of the base, "
            "counted while both execute the same operations, in separate starts without timing. "
            "Other programs and the clock rate do not affect it. `same`: the 90% interval is "
            f"inside the margin of {percent(WORK_MARGIN)}. `more`, `less`: otherwise, if the 95% "
            "interval is on one side of 1, even after a correction for the number of tests."
        )
        words["time and work"] = (
            "Slower with the same work: waiting, the kernel, background threads, the clock "
            "rate, caches or other load on the machine. More work in the same time: the time "
            "grew by less than the margin on this machine. If time is unsure, work shows "
            "what the code does, but not how long it takes."
        )
    if report.concurrency:
        words["overtakes, falls behind"] = (
            "The contender is faster (or slower) from this number of clients, after the reverse "
            "with fewer clients. Levels with the verdict same or unsure do not count."
        )
    return words


def _of_steps(report: Report, benchmarks: list[StepBenchmark]) -> dict[str, str]:
    words = {}
    repeated = "runs once in every start and " if report.repeated else ""
    turns = (
        " Contenders take turns step by step, in alternating order, and are compared within a "
        "start: its two rates are a pair."
        if report.repeated
        else ""
    )
    for benchmark in benchmarks:
        own = [result for result in report.results if result.benchmark == benchmark.name]
        units = ", ".join(dict.fromkeys(result.unit for result in own))
        by_step = f": {benchmark.counted_by_step}" if benchmark.counted_by_step else ""
        words["step"] = (
            f"A long part of {benchmark.title}. It {repeated}needs the tables of the steps before "
            f"it.{turns}"
        )
        words[units] = (
            f"The units of the rates of steps{by_step}. Values per operation are per one of these."
        )
    anywhere = " in any start" if report.repeated else ""
    words["SLA"] = (
        "Concurrently with the queries, inserters and deleters keep to a rate on an absolute "
        f"schedule. If either achieved less than 95% of it{anywhere}, the query rate of the step "
        "is grey and is not compared."
    )
    if report.repeated:
        words["backlog, lag"] = (
            "Rows that were due by the end and not written, and the delay of the start of a write "
            "after its scheduled time. Response times of writes count from their start."
        )
    words["stall"] = _STALL
    return words


def _of_starts(*, in_steps: bool) -> dict[str, str]:
    if in_steps:
        return {"start": "One start of the servers, with new data. It has every step once."}
    return {
        "slice, block, start": (
            "A slice is one short timed measurement of one test on one contender. A block is a "
            "series of slices, equally many of each contender, that are compared with each other. "
            "A start is one start of the servers."
        )
    }


def _metrics(report: Report) -> dict[str, str]:
    if not report.repeated:
        words = {
            "host cpu, host cs": (
                "CPU time (in microseconds) and context switches of the whole host, including the "
                "client / operations."
            ),
            "r/o, w/o, host rKB, host wKB": (
                "Storage reads, storage writes, kilobytes read and kilobytes written by the host / "
                "operations. Up: more IO."
            ),
        }
        if any(result.counters_relative for result in report.results):
            words["counters"] = (
                "Counters of the CPU, read by perf, relative to the base. Clock rate (GHz), "
                "ipc and -pct are ratios; all others are divided by operations."
            )
        return words | {"\N{MULTIPLICATION SIGN} 1.20": _MULTIPLE}
    fields: dict[float, list[str]] = {}
    for percentile in PERCENTILES:
        fields.setdefault(percentile.margin, []).append(percentile.field)
    margins = ", ".join(
        f"{percent(margin)} for {listing(names)}" for margin, names in fields.items()
    )
    return {
        "cpu/o": (
            "CPU time of the server / operations, in microseconds. Up with flat cs/o: more "
            "work per operation, the usual regression, or a slower machine at the time; "
            "alone it is not called a cause."
        ),
        "cs/o": "Context switches / operations. Up: lock contention, or more waiting.",
        "r/o, rKB/o, w/o, wKB/o": (
            "Storage reads, kilobytes read, storage writes and kilobytes written / operations. Up: "
            "more IO."
        ),
        "\N{MULTIPLICATION SIGN} 1.20": _MULTIPLE,
        "less, more": (
            "Verdict on server CPU, context switches and IO per operation and on percentiles of "
            "response times, from the same pairs as rqps, with 95% intervals. `same`: within the "
            f"margin, {percent(report.margin)} per operation, {margins}. Each metric has its own "
            "correction for the number of tests."
        ),
    }


_MULTIPLE = "After a value per operation: the value / the value of the base. Above 1 costs more."
