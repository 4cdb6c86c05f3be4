"""Sentences about what is unsure: what would decide it, and why a host decides little."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from slowdust.analysis import advised
from slowdust.analysis.advised import typed_name
from slowdust.analysis.model import Noise, Report, Result
from slowdust.analysis.results.needed import time_to_decide
from slowdust.benchmarks import measured_in_steps
from slowdust.units import known
from slowdust.wording import counted, listing, number, rough_duration, shortened

MOST = 0.75
"""Share of results that have a verdict, below which the tl;dr begins with the reason."""
_TOLD_RESTARTS = 0.003
_TOLD_CPU = 0.02
_TOLD_STEAL = 0.01
"""Shares from which what restarts, other programs and other machines do is told."""
_CALIBRATE = "`slowdust calibrate` says how many minutes a test needs here."


def what_decides(result: Result) -> str:
    """Write what would decide a result: 'about 20 minutes more would decide it'.

    Empty where there is no forecast.
    """
    needed = result.needed
    if needed is None:
        return ""
    if needed.more:
        return f"more than {needed.factor:g} times what was measured would decide it"
    if needed.extra_s is None:
        return f"about {needed.factor:g} times what was measured would decide it"
    return f"about {rough_duration(needed.extra_s)} more would decide it"


def sentence_about_unsure(experiment: str, unsure: Mapping[str, Result]) -> str:
    """Return one sentence about unsure results by label, those that need least first."""
    groups: dict[tuple[bool, float], dict[str, Result]] = {}
    others = []
    for label, result in unsure.items():
        if result.needed is None:
            others.append(label)
        else:
            need = result.needed.more, result.needed.factor
            groups.setdefault(need, {})[label] = result
    parts = [
        _part(group, command_for(experiment, group.values()) if place == 0 else "")
        for place, group in enumerate(sorted(groups.values(), key=_most_to_add))
    ]
    if others:
        in_steps = any(measured_in_steps(unsure[label].benchmark) for label in others)
        more = "incarnations" if in_steps else "slices"
        if any(unsure[label].hosts for label in others):
            more = f"hosts, or {more} on these hosts,"
        parts.append(f"{shortened(others)} (more {more} tell)")
    return f"Unsure: {'; '.join(parts)}.{_doubts(unsure)}"


def _doubts(unsure: Mapping[str, Result]) -> str:
    """Return a sentence for each reason for which results are unsure whose intervals exclude 1."""
    reasons: dict[str, list[str]] = {}
    for label, result in unsure.items():
        if result.doubt is not None:
            reasons.setdefault(result.doubt, []).append(label)
    return "".join(
        f" The interval{'s' if len(labels) > 1 else ''} of {shortened(labels)} "
        f"exclude{'' if len(labels) > 1 else 's'} 1: {doubt}."
        for doubt, labels in reasons.items()
    )


def _most_to_add(group: Mapping[str, Result]) -> tuple[bool, float]:
    """Return the most time that one of the group needs, behind whether it is foreseen."""
    needs = known(result.needed for result in group.values())
    extras = known(need.extra_s for need in needs)
    return not extras, max(extras, default=max(need.factor for need in needs))


def _part(group: Mapping[str, Result], command: str) -> str:
    """Return 'scan and insert (about 10 minutes more would decide them: `slowdust more ...`)'."""
    first = next(iter(group.values())).needed
    assert first is not None
    times = f"{first.factor:g} times what was measured"
    extra = time_to_decide(group.values())
    if first.more:
        amount = f"more than {times}"
    elif extra is None:
        amount = f"about {times}"
    else:
        amount = f"about {rough_duration(extra)} more"
    them = "it" if len(group) == 1 else "them"
    decide = f" would decide {them}: {command}" if command else ""
    return f"{shortened([*group])} ({amount}{decide})"


def command_for(experiment: str, unsure: Iterable[Result]) -> str:
    """Return '`slowdust more NAME --tests scan --budget 10m`', which decides all of `unsure`.

    Empty where that is not foreseen.
    """
    results = list(unsure)
    extra = time_to_decide(results)
    if extra is None:
        return ""
    return f"`{advised.more(experiment, [result.test for result in results], extra)}`"


def why_so_little(report: Report) -> list[str]:
    """Return a sentence if fewer than `MOST` of the results of slices have a verdict.

    It says what noise was seen and what would help, as far as either was measured, and what to
    type. That the host cannot tell more is said only where nothing is decided, by time or work.
    """
    judged = [result for result in report.results if result.verdict is not None]
    unsure = [result for result in judged if result.verdict == "unsure"]
    decided = len(judged) - len(unsure)
    widths = known(result.ratio and result.ratio.half_width for result in unsure)
    if report.noise is None or report.hosts or decided >= MOST * len(judged):
        return []
    count = f"{number(decided)} of {counted(len(judged), 'result')}"
    has = f"{'has' if decided < 2 else 'have'} a verdict"
    wide = "no result has an interval"
    if widths:
        whose = "the intervals of the others" if decided else "intervals"
        wide = f"{whose} reach {_percent(median(widths))} to each side"
    counts = known(result.work for result in report.results if result.contender != report.base)
    certain = decided > 0 or any(work.verdict not in (None, "unsure") for work in counts)
    head = _capitalised(count) if certain else f"This host cannot tell more today: {count}"
    head += f" {has}, and {wide}."
    seen = f" {_capitalised(listing(facts))}." if (facts := _facts(report.noise)) else ""
    return [f"{head}{seen}{_remedies(report, judged, decided, report.noise)}"]


def _facts(noise: Noise) -> list[str]:
    facts = []
    if noise.slices is not None:
        apart = "" if noise.slices_apart_s is None else f" {noise.slices_apart_s:.2g} s apart"
        facts.append(f"two slices of one server{apart} differ by {_percent(noise.slices)}")
    if noise.restarts is not None and noise.restarts >= _TOLD_RESTARTS:
        facts.append(f"a restart moves a ratio by {_percent(noise.restarts)}")
    if noise.other_cpu is not None and noise.other_cpu >= _TOLD_CPU:
        facts.append(f"other programs used {_percent(noise.other_cpu)} of the CPUs")
    if noise.steal is not None and noise.steal >= _TOLD_STEAL:
        facts.append(f"other virtual machines took {_percent(noise.steal)} of them")
    return facts


def _remedies(report: Report, judged: Sequence[Result], decided: int, noise: Noise) -> str:
    """Return what would decide most results, and what to type, as sentences that follow others."""
    missing = math.ceil(MOST * len(judged)) - decided
    unsure = [result for result in judged if result.verdict == "unsure"]
    busy = max(noise.other_cpu or 0.0, noise.steal or 0.0) >= _TOLD_CPU
    quieter = " On a quieter host less is needed." if busy else ""
    extra = time_to_decide(unsure, missing / len(unsure))
    if extra is None:
        return f"{quieter} `{advised.more(typed_name(report))}` goes on; {_CALIBRATE}"
    command = advised.more(typed_name(report), budget=extra)
    return f" About {rough_duration(extra)} more would decide most: `{command}`.{quieter}"


def _percent(share: float) -> str:
    percent = share * 100
    return f"{percent:.0f}%" if percent >= 10 else f"{percent:.2g}%"


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
