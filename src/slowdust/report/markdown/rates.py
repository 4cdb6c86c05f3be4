"""Throughput and response times of a report as Markdown: tests by contenders."""

from __future__ import annotations

from slowdust.analysis.model import Report, Result, TestConcurrency
from slowdust.analysis.results.results import by_step
from slowdust.analysis.sla import missed_its_sla
from slowdust.analysis.work import has_work
from slowdust.ratios import interval, ratio, work_ratio
from slowdust.report.absent import runs_of
from slowdust.report.markdown.table import ABSENT, PALE, or_absent, pale, rate, table
from slowdust.store.count import SYSTEM_CALLS
from slowdust.wording import rough_duration

WORK = (
    "Work: instructions per operation, relative to the base's, with its 95% interval; below 1 is",
    "less. It is exact on a busy machine, too. A change of at most 1% is the same.",
)


def throughput(report: Report) -> list[str]:
    """Return the rate of the base, then rqps, interval and verdict of each other contender."""
    others = report.contenders[1:]
    counted = has_work(report.results)
    rows = []
    for step, results in by_step(report.results).items():
        base = results.get(report.base)
        row = [step.test, str(step.clients), ABSENT if base is None else _rate(base)]
        if counted:
            row.append(_instructions(base))
        for name in others:
            row.append(_relative(results.get(name)))
            if counted:
                row.append(_relative_work(results.get(name)))
        rows.append(row)
    columns = [f"{name}{kind}" for name in others for kind in (["", " work"] if counted else [""])]
    of_base = [report.base, "instructions/o"] if counted else [report.base]
    header = ["test", "clients", *of_base, *columns]
    unsure = any(
        result.verdict == "unsure" or (result.work and result.work.verdict == "unsure")
        for result in report.results
    )
    explained = [*(WORK if counted else ()), *([PALE] if unsure else ())]
    head = ["## Throughput and work" if counted else "## Throughput", ""]
    head += [*runs_of(report).rates, *explained, ""]
    return [*head, *table(header, rows, left=1), *_all_time(report)]


def system_calls(report: Report) -> list[str]:
    """Return the system calls per operation of each contender, where they were counted."""
    rows = [
        [
            step.test,
            str(step.clients),
            *(or_absent(_system_calls(results.get(name)), rate) for name in report.contenders),
        ]
        for step, results in by_step(report.results).items()
        if any(_system_calls(result) is not None for result in results.values())
    ]
    if not rows:
        return []
    return [
        "## System calls per operation",
        "",
        "Counted with the instructions, which have none of the kernel's in them.",
        "",
        *table(["test", "clients", *report.contenders], rows, left=1),
    ]


def _system_calls(result: Result | None) -> float | None:
    work = None if result is None else result.work
    return None if work is None else work.events.get(SYSTEM_CALLS)


def _instructions(base: Result | None) -> str:
    return or_absent(None if base is None or base.work is None else base.work.instructions, rate)


def _relative_work(result: Result | None) -> str:
    work = None if result is None else result.work
    if work is None or work.ratio is None:
        return ABSENT
    relative = work_ratio(work.ratio)
    if work.low is not None and work.high is not None:
        relative += f" [{work_ratio(work.low)}, {work_ratio(work.high)}]"
    shown = pale(relative) if work.verdict == "unsure" else relative
    return f"{shown} {work.verdict or ''}".rstrip()


def _all_time(report: Report) -> list[str]:
    """Return what 'typical' says, where a verdict is about all time."""
    if all(result.typical_beside is None for result in report.results):
        return []
    return [
        "",
        "Where a typical ratio stands behind a verdict, stalls make all time differ from it: the",
        "ratio, interval and verdict are those of all operations over all time.",
    ]


def unsure(report: Report) -> list[str]:
    """Return what would decide the unsure results, where there is a forecast."""
    rows = [
        [
            result.test,
            str(result.clients),
            result.contender,
            f"{'more than ' if needed.more else ''}{needed.factor:g}",
            ABSENT if needed.more else or_absent(needed.extra_s, rough_duration),
        ]
        for result in report.results
        if (needed := result.needed) is not None
    ]
    if not rows:
        return []
    header = ["test", "clients", "contender", "times what was measured", "time to add"]
    return [
        "## What would decide the unsure results",
        "",
        "A forecast from noise and restarts so far: two of three such results then have a verdict.",
        "",
        *table(header, rows, left=1),
    ]


def _rate(base: Result) -> str:
    missed = " (SLA missed)" if missed_its_sla(base) else ""
    return f"{rate(base.qps)} {base.unit}{missed}"


def _relative(result: Result | None) -> str:
    if result is not None and missed_its_sla(result):
        return "SLA missed"
    if result is None or result.judged_rqps is None:
        return ABSENT
    rqps = f"{ratio(result.judged_rqps)}{interval(*result.judged_interval)}"
    typical = result.typical_beside
    beside = "" if typical is None else f", typical {ratio(typical)}"
    judged = f"{pale(rqps) if result.verdict == 'unsure' else rqps} {result.verdict or ''}".rstrip()
    return judged + beside


def response_times(report: Report) -> list[str]:
    """Return mean response times, where results are given in these."""
    rows = [
        [
            step.test,
            str(step.clients),
            *(_response_time(results.get(name), report.base) for name in report.contenders),
        ]
        for step, results in by_step(report.results).items()
        if any(result.response_time for result in results.values())
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


def _response_time(result: Result | None, base: str) -> str:
    time = None if result is None else result.response_time
    if result is None or time is None:
        return ABSENT
    if result.contender == base:
        return f"{time.mean_us:,.0f} us"
    if time.relative is None:
        return ABSENT
    return f"{ratio(time.relative)}{interval(time.low, time.high)}"


def concurrency(report: Report) -> list[str]:
    """Return each test that was measured with several numbers of clients."""
    lines = [line for test in report.concurrency for line in _by_clients(test, report)]
    return ["## By number of clients", *lines] if lines else []


def _by_clients(test: TestConcurrency, report: Report) -> list[str]:
    """Return how each contender stands at more and more clients, then the numbers."""
    others = report.contenders[1:]
    rows = [
        [str(step.clients), *(_relative(results.get(name)) for name in others)]
        for step, results in by_step(report.results).items()
        if (step.benchmark, step.test) == (test.benchmark, test.test)
    ]
    return [
        "",
        f"### {test.test}",
        "",
        *(f"- {course.contender}: {course.words}" for course in test.courses),
        "",
        *table(["clients", *others], rows, left=0),
    ]
