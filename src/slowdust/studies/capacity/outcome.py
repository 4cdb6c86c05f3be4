"""The outcome of a search for capacities, for reports."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import msgspec

from slowdust.analysis.story.answer import conditions_of
from slowdust.benchmarks import measured_in_steps
from slowdust.experiment.passes.trials import USUAL_OF_STEPS
from slowdust.ratios import Ratio
from slowdust.stats.relative import CONFIDENCE, EQUIVALENCE, Interval
from slowdust.stats.verdict import verdict_of
from slowdust.store.manifest import Manifest
from slowdust.store.trial import Trial
from slowdust.studies.capacity.curve import SHARE, Curve, Mixed
from slowdust.studies.capacity.record import Record
from slowdust.studies.capacity.search import Search
from slowdust.studies.capacity.sla import KEPT_UP, Sla, meets, missed
from slowdust.units import Second, known

SCHEMA = 1
OFFERED = "rate"
"""Name of the implied term: the offered rate has to be completed."""
_NEARLY = 1.2
"""Largest ratio of rates that count as the same."""
_LAPSES = 0.03
"""Share of lapses at which they are reported."""
BUSY = 0.9
"""CPU time of the load generator's busiest thread, as a share of the time, at which the load
generator was the limit and not the server."""


class Closest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The trials at the lowest rate of a contender without a capacity."""

    rate: float
    trials: int
    met: int
    """Number of trials that met the SLA: too few."""
    term: str
    """The term that was missed by the largest factor."""
    value: float | None = None
    """The median of its values; absent if most of the trials have none."""


class Capacity(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The capacity of one contender."""

    contender: str
    trials: int
    starts: int
    rate: float | None = None
    """The highest rate that meets the SLA; absent if no rate does, or only a bound is known."""
    low: float | None = None
    """Ends of the 95% interval."""
    high: float | None = None
    at_least: float | None = None
    """The highest rate tried, if no trial missed the SLA."""
    closest: Closest | None = None
    """The missed term, if too few trials met the SLA at the lowest rate."""
    missed: dict[str, int] = {}
    """Term, or `rate` -> number of trials that missed it."""
    spread: float | None = None
    """Overlap of the rates that meet and that miss the SLA, in ln rate."""
    busiest_client: float | None = None
    """Median CPU share of the load generator's busiest thread, in trials that missed the SLA."""
    ratio: Ratio | None = None
    failed: str | None = None
    """Why it dropped out."""


class Outcome(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A finished search, as `slowdust capacity --json` writes it (docs/capacity.schema.json)."""

    schema: int = SCHEMA
    name: str
    sla: Sla
    test: str
    clients: int
    unit: str
    length: Second
    """Length of a trial."""
    share: float
    """Share of the trials that meet the SLA at the capacity."""
    lapse: float | None = None
    """Share of the trials that missed the SLA at any rate; absent unless it is certainly a few
    percent, or if no contender has a capacity."""
    precision: float
    ended: str
    """`precision` or `budget`."""
    budget: Second
    spent: Second
    base: str
    margin: float
    capacities: list[Capacity]
    trials: list[Trial]
    conditions: str
    """Load and host, as in a report's first line."""
    command: str
    """The command that repeats the search."""


def summarize_search(
    name: str,
    record: Record,
    search: Search,
    manifest: Manifest,
    command: str,
) -> Outcome:
    """Return the outcome of a search from its trials."""
    question, margin = record.question, manifest.method.margin
    curve = search.curve() if any(True in search.met(each) for each in search.names) else None
    bracketed = [each for each in search.names if curve and _is_bracketed(search, curve, each)]
    capacities = [_capacity(search, curve, each, bracketed, margin) for each in search.names]
    for capacity, facts in zip(capacities, manifest.contenders, strict=True):
        capacity.failed = facts.failed
    in_steps = measured_in_steps(question.options.get("benchmark", ""))
    length = search.trials[0].seconds if search.trials else 0.0
    return Outcome(
        name=name,
        sla=search.sla,
        test=question.test,
        clients=manifest.clients[0],
        unit="rows/s of each client's writers" if in_steps else "operations/s",
        length=(question.trial or USUAL_OF_STEPS) if in_steps else length,
        share=SHARE,
        lapse=curve.lapse if curve and bracketed and curve.least_lapse >= _LAPSES else None,
        precision=question.precision,
        ended=record.ended or "",
        budget=manifest.method.budget_s or 0.0,
        spent=search.spent,
        base=search.names[0],
        margin=margin,
        capacities=capacities,
        trials=search.trials,
        conditions=conditions_of(manifest, None),
        command=command,
    )


def _is_bracketed(search: Search, curve: Curve, name: str) -> bool:
    """Return whether a contender's capacity is within the rates that were tried."""
    rates = [trial.rate for trial in search.trials if trial.contender == name]
    if search.met(name) != {True, False}:
        return False
    middle = curve.capacity(search.names.index(name)).quantile(0.5)
    return middle >= math.log(min(rates))


def _capacity(
    search: Search, curve: Curve | None, name: str, bracketed: Sequence[str], margin: float
) -> Capacity:
    own = [trial for trial in search.trials if trial.contender == name]
    found = Capacity(contender=name, trials=len(own), starts=len({trial.start for trial in own}))
    failed = [trial for trial in own if not meets(search.sla, trial)]
    busy = sorted(known(trial.busiest_client for trial in failed))
    found.busiest_client = busy[len(busy) // 2] if busy else None
    found.missed = _missed_terms(failed, search.sla)
    if not own:
        return found
    if not failed:
        found.at_least = max(trial.rate for trial in own)
    elif name not in bracketed:
        found.closest = _closest(own, search.sla)
    elif curve is not None:
        _add_interval(found, curve, search, bracketed, margin)
    return found


def _missed_terms(trials: Sequence[Trial], sla: Sla) -> dict[str, int]:
    """Return how many trials missed each term, and how many the offered rate."""
    counts: Counter[str] = Counter()
    for trial in trials:
        counts.update(term.name for term in missed(sla, trial.values))
        if trial.kept_up < KEPT_UP:
            counts[OFFERED] += 1
    return dict(counts)


def _closest(trials: Sequence[Trial], sla: Sla) -> Closest:
    lowest = min(trial.rate for trial in trials)
    there = [trial for trial in trials if trial.rate <= lowest * _NEARLY]
    values = {
        term: median(trial.values.get(term.name, math.inf) for trial in there)
        for term in sla.judged
    }
    term = max(values, key=lambda each: each.distance(values[each]))
    name, value = term.name, values[term]
    if term.distance(value) < 1:  # the medians meet all terms, so the rate was missed
        name, value = OFFERED, median(trial.kept_up for trial in there)
    met = sum(meets(sla, trial) for trial in there)
    found = value if math.isfinite(value) else None
    return Closest(rate=lowest, trials=len(there), met=met, term=name, value=found)


def _add_interval(
    found: Capacity, curve: Curve, search: Search, bracketed: Sequence[str], margin: float
) -> None:
    names = search.names
    number = names.index(found.contender)
    capacity = curve.capacity(number)
    found.rate = math.exp(capacity.quantile(0.5))
    found.low, found.high = _interval(capacity, CONFIDENCE)
    found.spread = curve.spread(number)
    if number and names[0] in bracketed:
        ratio = curve.log_ratio(number, 0)
        low, high = map(math.exp, search.ratio(curve, number, CONFIDENCE))
        same = Interval(*map(math.exp, search.ratio(curve, number, EQUIVALENCE)))
        verdict = verdict_of(Interval(low, high), same, margin)
        found.ratio = Ratio(math.exp(ratio.quantile(0.5)), low, high, verdict, margin)


def _interval(known: Mixed, confidence: float) -> tuple[float, float]:
    low, high = known.interval(confidence)
    return math.exp(low), math.exp(high)


_PER_DOUBLING = 4
"""Groups per doubling of the rate."""


@dataclass(frozen=True)
class Rung:
    """The trials of a contender at nearly the same rate."""

    contender: str
    low: float
    """Lowest rate of the trials."""
    high: float
    rate: float
    """Geometric mean of the rates."""
    trials: int
    met: int
    """Number of trials that met the SLA."""
    times: dict[str, Second]
    """Percentile -> median of the trials."""


def rungs(outcome: Outcome) -> list[Rung]:
    """Return the trials of each contender grouped by rate, the lowest first."""
    return [
        _rung(outcome, capacity.contender, trials)
        for capacity in outcome.capacities
        for trials in _grouped(outcome, capacity.contender)
    ]


def _grouped(outcome: Outcome, contender: str) -> list[list[Trial]]:
    groups: dict[int, list[Trial]] = defaultdict(list)
    for trial in outcome.trials:
        if trial.contender == contender:
            groups[math.floor(math.log2(trial.rate) * _PER_DOUBLING)].append(trial)
    return [groups[place] for place in sorted(groups)]


def _rung(outcome: Outcome, contender: str, trials: list[Trial]) -> Rung:
    rates = [trial.rate for trial in trials]
    names = [term.name for term in outcome.sla.times]
    values = {
        name: [trial.times[name] for trial in trials if name in trial.times] for name in names
    }
    return Rung(
        contender,
        low=min(rates),
        high=max(rates),
        rate=math.exp(sum(map(math.log, rates)) / len(rates)),
        trials=len(trials),
        met=sum(meets(outcome.sla, trial) for trial in trials),
        times={name: median(times) for name, times in values.items() if times},
    )
