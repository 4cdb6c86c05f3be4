"""Sentences about the outcome of a search for capacities, for all formats."""

from __future__ import annotations

from slowdust.analysis.results.failures import MOST_FAILING
from slowdust.ratios import Ratio, change, with_interval
from slowdust.studies.capacity.outcome import BUSY, OFFERED, Capacity, Closest, Outcome
from slowdust.studies.capacity.search import PRECISION
from slowdust.studies.capacity.sla import KEPT_UP, SHARES, format_time
from slowdust.units import format_duration
from slowdust.wording import counted, listing, share


def summary(outcome: Outcome) -> list[str]:
    """Return a heading, then a sentence about the capacity of each contender."""
    head = (
        f"Highest rate of {outcome.test} at which {share(outcome.share)} of the trials of "
        f"{format_duration(outcome.length)} meet {outcome.sla.text} ({outcome.unit}):"
    )
    return [head, *(in_words(outcome, capacity) for capacity in outcome.capacities)]


def in_words(outcome: Outcome, capacity: Capacity) -> str:
    """Return the capacity of a contender as a sentence."""
    words = f"{capacity.contender}: {_rate(capacity)}"
    if capacity.ratio is not None:
        words += f"; {relative(outcome, capacity.ratio)}"
    return f"{words}."


def _rate(capacity: Capacity) -> str:
    if capacity.rate is not None and capacity.low is not None and capacity.high is not None:
        return f"{number(capacity.rate)} [{number(capacity.low)}, {number(capacity.high)}]"
    if capacity.at_least is not None:
        return f"at least {number(capacity.at_least)}, the highest rate tried"
    if capacity.closest is not None:
        closest = capacity.closest
        return (
            f"none: {closest.met} of {counted(closest.trials, 'trial')} at the lowest rate, "
            f"{number(closest.rate)}, met the SLA; {_median(closest)}"
        )
    return "no trial"


def _median(closest: Closest) -> str:
    if closest.value is None:
        return f"most of them have no {closest.term}"
    term = "the completed share of the rate" if closest.term == OFFERED else closest.term
    return f"the median of {term} was {format_value(closest.term, closest.value)}"


def format_value(term: str, value: float | None) -> str:
    """Return the value of a term as text: '7.2ms', '0.5%', 'unknown'."""
    if value is None:
        return "unknown"
    return share(value) if term in (*SHARES, OFFERED) else format_time(value)


def relative(outcome: Outcome, ratio: Ratio) -> str:
    """Return a ratio in words: '1.12 [1.04, 1.21] times postgres@15.8, faster (up 12%)'."""
    exact = with_interval(ratio)
    return f"{exact} times {outcome.base}, {ratio.verdict} ({change(ratio.value)})"


def number(rate: float) -> str:
    """Return a rate with three digits: '12,300'."""
    return f"{float(f'{rate:.3g}'):,.0f}" if rate >= 100 else f"{rate:.3g}"


def certainty(outcome: Outcome) -> list[str]:
    """Return why the search ended, and which trials it does not explain."""
    spent = format_duration(outcome.spent)
    wanted = f"{outcome.precision * 100:g}%"
    if outcome.ended == PRECISION:
        why = f"every interval is within +/- {wanted}"
    else:
        why = f"the budget of {format_duration(outcome.budget)} was spent"
        if wide := _widest(outcome):
            why += f"; the widest interval is +/- {wide}, the goal was +/- {wanted}"
    starts = max((capacity.starts for capacity in outcome.capacities), default=0)
    lines = [
        f"{counted(len(outcome.trials), 'trial')} in {counted(starts, 'start')} of the servers, "
        f"{spent}: {why}."
    ]
    implied = outcome.sla.judged != outcome.sla.terms
    failing = f", or {share(MOST_FAILING)} of the operations failed" if implied else ""
    lines.append(
        f"A trial also misses the SLA if less than {share(KEPT_UP)} of the offered rate was "
        f"completed{failing}."
    )
    if outcome.lapse is not None:
        stalls = (
            f"About {share(outcome.lapse)} of the trials missed the SLA at any rate, because of "
            "stalls; they do not count."
        )
        if outcome.lapse > 1 - outcome.share:
            stalls += (
                f" If they counted, no rate would meet the SLA in {share(outcome.share)} of the "
                "trials: use a quieter machine or a higher limit."
            )
        lines.append(stalls)
    lines += [_missed(each) for each in outcome.capacities if each.missed]
    lines += [_limited(each) for each in outcome.capacities if (each.busiest_client or 0) >= BUSY]
    lines += [
        f"{each.contender} dropped out: {each.failed}" for each in outcome.capacities if each.failed
    ]
    return lines


def _missed(capacity: Capacity) -> str:
    terms = [
        f"{'the offered rate' if term == OFFERED else term} in {count}"
        for term, count in sorted(capacity.missed.items(), key=lambda each: -each[1])
    ]
    return f"{capacity.contender} missed {listing(terms, 'and')} of {capacity.trials} trials."


def _limited(capacity: Capacity) -> str:
    return (
        f"The load generator may be the limit of {capacity.contender}: its busiest thread used "
        f"{share(capacity.busiest_client or 0)} of a CPU in the trials that missed the SLA."
    )


def _widest(outcome: Outcome) -> str:
    """Return half the width of the widest interval, as a percentage; '' without intervals."""
    known = [(each.low, each.high) for each in outcome.capacities]
    known += [(each.ratio.low, each.ratio.high) for each in outcome.capacities if each.ratio]
    widths = [(high / low) ** 0.5 - 1 for low, high in known if low and high]
    return share(max(widths)) if widths else ""
