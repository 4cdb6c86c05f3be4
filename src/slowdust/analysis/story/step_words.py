"""Sentences of the tl;dr that only long steps need: what failed, what is not compared, stalls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from slowdust.analysis.model import Report, StepRun
from slowdust.analysis.sla import achieved
from slowdust.wording import (
    MOST_LISTED,
    first_line,
    listing,
    short_names,
    shortened,
    step_label,
)


def notes_about_steps(report: Report) -> list[str]:
    """For the head of a report of long steps: what too few incarnations leave open."""
    most = max((run.incarnation for run in report.step_runs), default=0)
    if most != 1 or len(report.contenders) < 2:
        return []
    return [
        "One incarnation: each step was measured once on each contender, so that nothing says how "
        "far a second measurement would be from it. There are relative rates, but neither "
        "intervals nor verdicts; more incarnations give them."
    ]


def tell_failed_steps(report: Report) -> list[str]:
    """A sentence for each of the first steps that a contender did not finish."""
    names = short_names(report.contenders)
    levels = _levels(report)
    sentences = [
        f"{step_label(failed.test, failed.clients, levels)} failed on {names[failed.contender]} "
        f"in incarnation {failed.incarnation}: {first_line(failed.reason)}."
        for failed in report.failed_steps[:MOST_LISTED]
    ]
    if (more := len(report.failed_steps) - MOST_LISTED) > 0:
        sentences.append(f"{more} more steps failed.")
    return sentences


def tell_writers_and_stalls(report: Report) -> list[str]:
    """What of the steps is not compared for its writers' sake, and where servers stood still."""
    names = short_names(report.contenders)
    missed = [
        f"{step_label(result.test, result.clients, _levels(report))} on {names[result.contender]} "
        f"({achieved(writers)})"
        for result in report.results
        if (writers := result.writers) is not None and not writers.sla_met
    ]
    sentences = []
    if missed:
        sentences.append(
            f"Not compared, because the writers beside the queries missed their SLA, 95% of the "
            f"rate: {shortened(missed)}."
        )
    if report.step_runs:
        sentences += _stalls(report.step_runs, names)
    return sentences


def _levels(report: Report) -> set[int]:
    measured = {result.clients for result in report.results}
    return measured | {failed.clients for failed in report.failed_steps}


def _stalls(runs: Sequence[StepRun], names: Mapping[str, str]) -> list[str]:
    """A second in which several roles stood still is one second."""
    counts: dict[str, Counter[str]] = {}
    for run in runs:
        seconds = {stall.second for stall in run.stalls}
        counts.setdefault(run.contender, Counter())[run.test] += len(seconds)
    if not any(of_steps.total() for of_steps in counts.values()):
        return []
    told = [_stalled(names[name], of_steps) for name, of_steps in counts.items()]
    return [f"Stalls, seconds under a tenth of a step's median: {listing(told)}."]


def _stalled(name: str, of_steps: Counter[str]) -> str:
    where = [f"{test} {count}" for test, count in of_steps.most_common() if count]
    return f"{of_steps.total()} on {name} ({shortened(where)})" if where else f"none on {name}"
