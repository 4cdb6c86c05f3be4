"""One line of the table that `make bench` prints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What was measured, beside what it should be."""

    what: str
    measured: str
    goal: str
    met: bool
