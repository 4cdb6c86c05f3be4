"""The outcome of a search in sentences, which all formats share."""

from __future__ import annotations

from slowdust.bisection.metrics import words_for
from slowdust.bisection.outcome import Change, Contradicted, Outcome, Ratio
from slowdust.bisection.words import cost_in_words, place_in_words, sureness
from slowdust.ratios import with_interval, work_in_words
from slowdust.wording import counted, listing, share


def summary(outcome: Outcome) -> list[str]:
    """Return the answer: what changed where, and how sure that is."""
    range_ = f"{outcome.first.name} to {outcome.last.name}"
    what = f"{outcome.test}, {words_for(outcome.metric)}"
    if not outcome.changes:
        found = f"No change of {share(outcome.margin)} or more was found from {range_} ({what})."
    else:
        number = counted(len(outcome.changes), "change")
        found = f"{number} found from {range_} ({what}):"
    return [found, *(in_words(change, outcome.metric) for change in outcome.changes)]


def in_words(change: Change, metric: str) -> str:
    """Return a change as a sentence."""
    cost = _with_interval(change.cost, metric)
    return f"{name_of(change)}: {cost}, {sureness(change.probability)}."


def _with_interval(cost: Ratio, metric: str) -> str:
    """Write a cost: '3.1% less work, 0.969 [0.968, 0.970]'."""
    words = cost_in_words(cost.ratio, metric)
    return f"{words}, {with_interval(cost.ratio, cost.low, cost.high, decimals=3)}"


def name_of(change: Change) -> str:
    """Return the change itself, or the candidates of which it is one."""
    return place_in_words(change.candidates)


def contradiction(contradicted: Contradicted, metric: str) -> str:
    """Return why a change that the search suggests is not reported, as a sentence."""
    suggested, measured = (
        _with_interval(each, metric) for each in (contradicted.suggested, contradicted.measured)
    )
    work = "" if contradicted.work is None else f", with {work_in_words(contradicted.work.ratio)}"
    return (
        f"{place_in_words(contradicted.candidates)} is not reported as a change: the search "
        f"suggests {suggested}; measured directly beside {contradicted.before.name}: "
        f"{measured}{work}."
    )


def certainty(outcome: Outcome) -> list[str]:
    """Return what was measured, and what the search cannot exclude."""
    lines = [
        f"{outcome.measured} of {counted(outcome.candidates, 'candidate')} were measured. No other "
        f"interval between two of them has a change: {sureness(outcome.complete)}. Changes that "
        "cancel each other within an interval cannot be seen."
    ]
    lines += [contradiction(each, outcome.metric) for each in outcome.contradicted]
    if outcome.doubtful:
        lines.append(f"Not sure: {listing(outcome.doubtful, 'and')}.")
    lines += [
        f"{change.candidate.name} could not be measured beside {change.before.name}: "
        f"{change.unconfirmed}"
        for change in outcome.changes
        if change.unconfirmed is not None
    ]
    lines += [f"{name} could not be measured: {reason}" for name, reason in outcome.skipped.items()]
    return lines
