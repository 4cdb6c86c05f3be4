"""Sentences about unsure results: the time to decide them, and what makes a host noisy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from slowdust.analysis import advised
from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.needed import time_to_decide
from slowdust.benchmarks import measured_in_steps
from slowdust.units import known
from slowdust.wording import counted, listing, rough_duration, shortened

MOST = 0.75
"""Share of results that have a verdict, below which the noise of the host is reported."""
ENOUGH_STARTS = 6
"""Starts of the servers for long steps; with fewer, more are advised if nothing was decided."""
_LEAST_RESTARTS = 0.003
_LEAST_CPU = 0.02
"""The smallest effects of restarts and CPU use of others that are reported."""
_CALIBRATE = "`slowdust calibrate` measures how many minutes a test needs on this host."


def what_decides(result: Result) -> str:
    """Write 'about 20 minutes more would decide it'; empty without a forecast."""
    needed = result.needed
    if needed is None:
        return ""
    if needed.more:
        return f"more than {needed.factor:g} times what was measured would decide it"
    if needed.extra_s is None:
        return f"about {needed.factor:g} times what was measured would decide it"
    return f"about {rough_duration(needed.extra_s)} more would decide it"


def doubts(unsure: Mapping[str, Result]) -> list[str]:
    """Return a sentence for each reason that leaves results unsure whose intervals exclude 1.

    `unsure` is label -> result.
    """
    reasons: dict[str, list[str]] = {}
    for label, result in unsure.items():
        if result.doubt is not None:
            reasons.setdefault(result.doubt, []).append(label)
    return [
        f"The interval{'s' if len(labels) > 1 else ''} of {shortened(labels)} "
        f"exclude{'' if len(labels) > 1 else 's'} 1: {doubt}."
        for doubt, labels in reasons.items()
    ]


def too_few_starts(compared: Sequence[Result]) -> list[str]:
    """Return advice if long steps ran in so few starts that none of them is decided."""
    steps = [r for r in compared if measured_in_steps(r.benchmark) and r.verdict is not None]
    if not steps or any(result.verdict != "unsure" for result in steps):
        return []
    fewest = min(result.incarnations for result in steps)
    if fewest >= ENOUGH_STARTS:
        return []
    decides = "decides nothing" if fewest == 1 else "decide only large differences"
    return [
        f"{counted(fewest, 'start')} {decides}: {ENOUGH_STARTS} starts (--incarnations) narrow the "
        "intervals, and longer steps (--rows, --seconds) may, too."
    ]


def command_for(experiment: str, unsure: Iterable[Result]) -> str:
    """Return '`slowdust more NAME --tests scan --budget 10m`', which would decide all of `unsure`.

    Empty without a forecast.
    """
    results = list(unsure)
    extra = time_to_decide(results)
    if extra is None:
        return ""
    return f"`{advised.more(experiment, [result.test for result in results], extra)}`"


def why_so_little(report: Report) -> list[str]:
    """Return the noise of the host if fewer than `MOST` of the results of slices have a verdict.

    The programs that used the CPUs are in the line of conditions.
    """
    judged = [result for result in report.results if result.verdict is not None]
    unsure = [result for result in judged if result.verdict == "unsure"]
    noise = report.noise
    if noise is None or report.hosts or len(judged) - len(unsure) >= MOST * len(judged):
        return []
    widths = known(result.ratio and result.ratio.half_width for result in unsure)
    facts = []
    if widths:
        facts.append(f"intervals reach {_percent(median(widths))} to each side")
    if noise.slices is not None:
        apart = "" if noise.slices_apart_s is None else f" {noise.slices_apart_s:.2g} s apart"
        facts.append(f"two slices of one server{apart} differ by {_percent(noise.slices)}")
    if noise.restarts is not None and noise.restarts >= _LEAST_RESTARTS:
        facts.append(f"a restart moves a ratio by {_percent(noise.restarts)}")
    sentences = [f"{_capitalised(listing(facts))}."] if facts else []
    if max(noise.other_cpu or 0.0, noise.steal or 0.0) >= _LEAST_CPU:
        sentences.append("A host without other programs needs less time.")
    if time_to_decide(unsure, MOST) is None:
        sentences.append(_CALIBRATE)
    return sentences


def _percent(share: float) -> str:
    percent = share * 100
    return f"{percent:.0f}%" if percent >= 10 else f"{percent:.2g}%"


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
