"""Sentences about a contender that is alone: absolute numbers, with nothing to compare."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from slowdust.analysis.model.result import Result
from slowdust.wording import amount, counted, operation, step_label

_MOST_TESTS = 8
_PERCENTILES = (("p50", "in the median"), ("p95", "at p95"), ("p99", "at p99"))


def describe_alone(name: str, results: Sequence[Result]) -> list[str]:
    """Return that it is an absolute measurement, and the rates, response times and costs."""
    levels = {result.clients for result in results}
    sentences = [
        f"{name} alone: an absolute measurement, with nothing to compare. Another machine, or the "
        "same on another day, has other numbers."
    ]
    sentences += [_sentence(result, levels) for result in results[:_MOST_TESTS]]
    if len(results) > _MOST_TESTS:
        more = counted(len(results) - _MOST_TESTS, "more result")
        sentences.append(f"The tables have {more}.")
    return sentences


def _sentence(result: Result, levels: Collection[int]) -> str:
    """Return 'point-query: 59,318 operations/s; 16 us in the median, 28 us at p99; ...'."""
    parts = [f"{amount(result.qps)} {result.unit}"]
    if (latency := result.latency_us) is not None:
        times = ((getattr(latency, name), where) for name, where in _PERCENTILES)
        known = [f"{amount(time)} us {where}" for time, where in times if time is not None]
        if known:
            parts.append(f"response times {', '.join(known)}")
    what = operation(result.unit)
    for metric, unit in (
        ("server_cpu_us", "us of the server's CPU"),
        ("write_kb", "KB written by it"),
    ):
        if used := result.per_op.get(metric):
            parts.append(f"{amount(used)} {unit} per {what}")
    return f"{step_label(result.test, result.clients, levels)}: {'; '.join(parts)}."
