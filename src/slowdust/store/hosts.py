"""Records of the hosts of a joined experiment (`slowdust merge`).

A slice's host follows from its incarnation, whose number is of one host only: that of a count, of a
window of waits and of everything else that has an incarnation, too.
"""

from __future__ import annotations

import msgspec

from slowdust.store.bounds import Amount, Ordinal
from slowdust.store.finding import Finding

JOINED_SCHEMA = 3
"""Schema of a manifest with hosts: an earlier Slowdust would take all of it for one host's."""


class JoinedPart(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An experiment that was joined with others."""

    experiment: str
    path: str
    """The path of its folder, or bundle, when it was joined, as text."""
    incarnations: list[Ordinal]
    """Numbers that its incarnations have here, in their order."""


class HostFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A host of a joined experiment, and what of the experiment was measured on it."""

    name: str
    group: str
    """The model of its CPU: hosts of one model are a group."""
    host: dict[str, str] = {}
    """Label -> value, ready to print, of its last part."""
    findings: list[Finding] = []
    """What the checks of the host found before its last part."""
    cpus: list[int] = []
    """CPUs that clients and servers could use."""
    slowdust: str
    driver: str | None = None
    started: str | None = None
    """The earliest start of its parts, in ISO 8601, UTC."""
    finished: str | None = None
    """The latest end of its parts; absent until all have ended."""
    spent_s: Amount = 0.0
    """Seconds of the budgets of its parts that were spent."""
    parts: list[JoinedPart]

    @property
    def incarnations(self) -> list[int]:
        return [number for part in self.parts for number in part.incarnations]
