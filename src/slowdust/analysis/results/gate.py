"""Gates: conditions under which a report fails a check (significantly slower, or more work)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from slowdust.analysis.model import Report, Result
from slowdust.errors import UsageError
from slowdust.ratios import at_least
from slowdust.units import parse_percentage
from slowdust.wording import shortened, step_label


class Kind(StrEnum):
    """A kind of verdict that can fail a check."""

    SLOWER = "slower"
    MORE_WORK = "more-work"


@dataclass(frozen=True)
class Gate:
    """A kind of verdict, and the least certain difference."""

    kind: Kind
    threshold: float = 0.0
    """Share of the base: 0.05 for 5%."""

    def __str__(self) -> str:
        """Return the gate as typed: 'slower:5%'."""
        return f"{self.kind}:{self.threshold * 100:g}%" if self.threshold else str(self.kind)

    def catches(self, result: Result) -> bool:
        """Return whether the bound nearer 1 is beyond the threshold."""
        if self.kind is Kind.MORE_WORK:
            work = result.work
            more = work is not None and work.verdict == "more"
            return more and work is not None and (work.bound or 1.0) >= 1 + self.threshold
        return result.verdict == "slower" and (result.bound or 1.0) <= 1 - self.threshold


def parse_gate(text: str) -> Gate:
    """Parse `slower`, `slower:5%`, `more-work` or `more-work:1%`.

    Raises:
        UsageError: it is anything else.
    """
    kind, colon, percentage = text.strip().partition(":")
    if kind not in set(Kind):
        raise UsageError(f"--fail-on {text}: write slower, slower:5%, more-work or more-work:1%")
    try:
        threshold = parse_percentage(percentage) if colon else 0.0
    except ValueError as error:
        raise UsageError(f"--fail-on {text}: {error}") from None
    if kind == Kind.SLOWER and threshold >= 1:
        raise UsageError(f"--fail-on {text}: a slowdown is below 100%; write a smaller percentage")
    return Gate(Kind(kind), threshold)


def caught_by(gate: Gate, report: Report) -> str:
    """Return a sentence naming the results that a gate catches; empty without any.

    'slower:5%: scan (at least 12%) and insert (at least 7%)'
    """
    levels = {result.clients for result in report.results}
    names = report.short_names
    several = len(report.contenders) > 2
    caught = [result for result in report.results if gate.catches(result)]
    if not caught:
        return ""
    texts = []
    for result in caught:
        label = step_label(result.test, result.clients, levels)
        whose = f" on {names[result.contender]}" if several else ""
        texts.append(f"{label}{whose} ({_size(gate, result)})")
    return f"{gate}: {shortened(texts)}"


def _size(gate: Gate, result: Result) -> str:
    if gate.kind is Kind.MORE_WORK:
        assert result.work is not None
        return at_least(result.work.bound or 1.0)
    return at_least(result.bound or 1.0)
