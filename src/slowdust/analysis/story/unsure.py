"""Sentences about what is unsure: what would decide it, and why a host decides little."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from slowdust.analysis.model import Needed, Noise, Report, Result
from slowdust.benchmarks import measured_in_steps
from slowdust.units import known
from slowdust.wording import counted, listing, number, rough_duration, shortened

MOST = 0.75
"""Share of results that have a verdict, below which the tl;dr begins with the reason."""
_TOLD_RESTARTS = 0.003
_TOLD_CPU = 0.02
_TOLD_STEAL = 0.01
"""Shares from which what restarts, other programs and other machines do is told."""
_FOR_MORE = (
    " Type the same command with a longer --budget; `slowdust calibrate` says how many minutes a "
    "test needs here."
)
_NEARLY_ALL = 0.8
"""Share of the time from which 'without the other tests' saves nothing worth telling."""


def what_decides(result: Result) -> str:
    """Write what would decide a result; empty where there is no forecast.

    'about 8 times the budget, --budget 20m --incarnations 24, would decide it'
    """
    if result.needed is None:
        return ""
    return f"{_amount(result.needed, _of_what(result))}{_comma(result.needed)} would decide it"


def sentence_about_unsure(unsure: Mapping[str, Result]) -> str:
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
        _part(group, "first" if place == 0 else "later")
        for place, (_, group) in enumerate(sorted(groups.items(), key=lambda item: item[0]))
    ]
    if others:
        in_steps = any(measured_in_steps(unsure[label].benchmark) for label in others)
        parts.append(f"{shortened(others)} (more {'incarnations' if in_steps else 'slices'} tell)")
    return f"Unsure: {'; '.join(parts)}."


def _part(group: Mapping[str, Result], place: str) -> str:
    """Return 'scan and insert (about 2 times the budget, 10 minutes, would decide them)'."""
    results = list(group.values())
    first = results[0]
    needed = first.needed
    assert needed is not None
    what = _of_what(first) if place == "first" else ""
    them = "it" if len(group) == 1 else "them"
    decide = f"{_comma(needed)} would decide {them}" if place == "first" else ""
    alone = known(result.needed.alone_s for result in results if result.needed)
    saved = ""
    if alone and needed.seconds and not needed.more and sum(alone) < _NEARLY_ALL * needed.seconds:
        without = "without the other tests" if place == "first" else "alone"
        saved = f"; {rough_duration(sum(alone))} {without}"
    return f"{shortened([*group])} ({_amount(needed, what)}{decide}{saved})"


def _of_what(result: Result) -> str:
    return "the incarnations" if measured_in_steps(result.benchmark) else "the budget"


def _amount(needed: Needed, what: str) -> str:
    """Return 'about 8 times the budget, --budget 20m --incarnations 24', 'more than 20 times'."""
    times = f"{needed.factor:g} times{f' {what}' if what else ''}"
    if needed.more:
        return f"more than {times}"
    if not needed.seconds:
        return f"about {times}"
    return f"about {times}, {needed.options}"


def _comma(needed: Needed) -> str:
    """Return the comma behind an amount that ends with a time."""
    return "," if needed.seconds and not needed.more else ""


def why_so_little(report: Report) -> list[str]:
    """Return a sentence if fewer than `MOST` of the results of slices have a verdict.

    It says what noise was seen and what would help, as far as either was measured, and what to
    type.
    """
    judged = [result for result in report.results if result.verdict is not None]
    decided = sum(result.verdict != "unsure" for result in judged)
    widths = [
        math.log(high / low) / 2
        for low, high in (result.judged_interval for result in judged)
        if low is not None and high is not None
    ]
    if report.noise is None or decided >= MOST * len(judged):
        return []
    count = f"{number(decided)} of {counted(len(judged), 'result')}"
    has = f"{'has' if decided < 2 else 'have'} a verdict"
    wide = "no result has an interval"
    if widths:
        wide = f"intervals reach {_percent(median(widths))} to each side"
    head = f"This host cannot tell more today: {count} {has}, and {wide}."
    seen = f" {_capitalised(listing(facts))}." if (facts := _facts(report.noise)) else ""
    return [f"{head}{seen}{_remedies(judged, decided, report.noise)}"]


def _facts(noise: Noise) -> list[str]:
    """Return what was seen of the noise."""
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


def _remedies(judged: Sequence[Result], decided: int, noise: Noise) -> str:
    """Return what would decide most results, and what to type, as sentences that follow others."""
    missing = math.ceil(MOST * len(judged)) - decided
    needs = sorted(
        (known(result.needed for result in judged)),
        key=lambda needed: (needed.more, needed.factor),
    )
    busy = max(noise.other_cpu or 0.0, noise.steal or 0.0) >= _TOLD_CPU
    quieter = " On a quieter host less is needed." if busy else ""
    if len(needs) < missing:
        return f"{quieter}{_FOR_MORE}"
    enough = needs[missing - 1]
    amount = _capitalised(_amount(enough, "the budget"))
    fewer = int(len({result.test for result in judged}) / enough.factor)
    tests = "one test" if fewer == 1 else f"{fewer} tests"
    instead = f", or the same budget for {tests}" if fewer and not enough.more else ""
    decide = f" {amount}{instead}{',' if instead else _comma(enough)} would decide most."
    typed = "" if enough.seconds and not enough.more else _FOR_MORE
    return f"{decide}{quieter}{typed}"


def _percent(share: float) -> str:
    percent = share * 100
    return f"{percent:.0f}%" if percent >= 10 else f"{percent:.2g}%"


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
