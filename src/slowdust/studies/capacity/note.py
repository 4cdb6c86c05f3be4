"""The outcome of a search for capacities as Markdown, ready for a mailing list."""

from __future__ import annotations

from slowdust import __version__, ratios
from slowdust.capacity.outcome import Capacity, Outcome
from slowdust.capacity.sla import format_time
from slowdust.report.markdown.table import ABSENT, escaped, table
from slowdust.studies.capacity.rungs import Rung, rungs
from slowdust.studies.capacity.words import certainty, number, summary
from slowdust.wording import share


def render(outcome: Outcome) -> str:
    """Return the whole note: the answer, the capacities, response times by rate."""
    command = outcome.command
    outcome = escaped(outcome)
    answer, *sentences = summary(outcome)
    lines = [f"# {outcome.test}: capacities", "", answer, ""]
    lines += [f"- {sentence}" for sentence in sentences]
    lines += ["", *_capacities(outcome), "", "## Response times by offered rate", ""]
    lines += [*_rungs(outcome), ""]
    lines += [f"{sentence}  " for sentence in certainty(outcome)]
    lines += [f"Measured: {outcome.conditions}  ", "", f"    {command}", ""]
    return "\n".join([*lines, f"Slowdust {__version__}", ""])


def _capacities(outcome: Outcome) -> list[str]:
    header = ["contender", outcome.unit, "95% interval", "relative", "95% interval", "verdict"]
    return table(header, [_row(each) for each in outcome.capacities], left=1)


def _row(capacity: Capacity) -> list[str]:
    low, high, ratio = capacity.low, capacity.high, capacity.ratio
    cells = [capacity.contender, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT]
    if capacity.rate is not None and low is not None and high is not None:
        cells[1:3] = [number(capacity.rate), f"{number(low)}-{number(high)}"]
    elif capacity.at_least is not None:
        cells[1] = f"at least {number(capacity.at_least)}"
    elif capacity.closest is not None:
        cells[1] = "none"
    if ratio is not None:
        cells[3:] = [
            ratios.ratio(ratio.value),
            "-".join(map(ratios.ratio, ratio.interval or ())),
            ratio.verdict or "",
        ]
    return cells


def _rungs(outcome: Outcome) -> list[str]:
    names = [term.name for term in outcome.sla.times]
    header = ["contender", "offered rate", "trials", "met the SLA", *names]
    return table(header, [_rung(rung, names) for rung in rungs(outcome)], left=1)


def _rung(rung: Rung, names: list[str]) -> list[str]:
    times = [format_time(rung.times[name]) if name in rung.times else ABSENT for name in names]
    rates = f"{number(rung.low)}-{number(rung.high)}" if rung.high > rung.low else number(rung.low)
    return [rung.contender, rates, str(rung.trials), share(rung.met / rung.trials), *times]
