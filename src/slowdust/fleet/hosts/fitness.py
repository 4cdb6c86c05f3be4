"""Which hosts take part, and which are alike."""

from __future__ import annotations

from enum import StrEnum

from slowdust.fleet.model import HostFacts
from slowdust.store.finding import Severity

UNKNOWN = "unknown CPU"
"""The group of hosts whose CPU has no name."""


def group_of(facts: HostFacts | None) -> str:
    """Return the group of a host: its CPU's model."""
    return (facts.cpu if facts else None) or UNKNOWN


class Unfit(StrEnum):
    """What becomes of hosts with problems."""

    LEAVE_OUT = "leave out"
    USE = "use"
    """They measure all the same; their findings are in the report."""


def unfit(facts: HostFacts, version: str, of_problems: Unfit) -> str | None:
    """Say why a host cannot measure, in few words; None where it can.

    `version` is that of the head's Slowdust.
    """
    if facts.slowdust != version:
        return f"it has Slowdust {facts.slowdust}, and the head {version}"
    problems = [each for each in facts.findings if each.severity is Severity.PROBLEM]
    if problems and of_problems is Unfit.LEAVE_OUT:
        return f"{problems[0].check}: {problems[0].state}"
    return None
