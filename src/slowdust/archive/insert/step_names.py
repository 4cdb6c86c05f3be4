"""The names of the steps of a file o.sum, which has none.

They follow from how many there are, which of them have queries, and how many rows were inserted
beside these; and from the files around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowdust.formats.insert.names import rate_of
from slowdust.formats.insert.tables import Row

_STEPS_2021 = (
    "l.i0", "l.x", "l.i1",
    *(f"q{rate}.{loop}" for rate in (100, 200, 400, 600, 800, 1000) for loop in (1, 2)),
)  # fmt: skip
_STEPS_2022 = ("l.i0", "l.x", "l.i1", "q100.1", "q500.1", "q1000.1")
_STEPS_2024 = (
    "l.i0", "l.x", "l.i1", "l.i2",
    "qr100.L1", "qp100.L2", "qr500.L3", "qp500.L4", "qr1000.L5", "qp1000.L6",
)  # fmt: skip
SEQUENCES = (_STEPS_2021, _STEPS_2022, _STEPS_2024)
"""The steps in the order in which they ran, of different years."""
_REACHED = 0.95
"""The part of a rate from which on it counts as reached."""

Rows = Sequence[Row | None]
"""The rows of a file; None is a damaged one."""


@dataclass(frozen=True)
class Steps:
    """The steps of the rows of a file."""

    names: tuple[str, ...]
    expected: int | None
    """Number of steps of a whole file; None where it is not known: several runs begin like this."""

    @property
    def cut_short(self) -> bool:
        """Whether the file is known to end early."""
        return self.expected not in (None, len(self.names))


def name_steps(tables: Sequence[Rows], named: tuple[str, ...]) -> list[Steps | None]:
    """Return the steps of each table; None where they are not known.

    `named` are those that have files of their own. A table is rather the beginning of these, or of
    the steps of longer tables, than a whole one of other steps, unless its insert rates differ.
    """
    steps_by_place: dict[int, Steps | None] = {}
    around = [named] if named else []
    for place in sorted(range(len(tables)), key=lambda place: -len(tables[place])):
        steps = _steps_of(tables[place], around)
        whole = steps is not None and steps.expected == len(steps.names)
        if steps is not None and whole and steps.names not in around:
            around.append(steps.names)
        steps_by_place[place] = steps
    return [steps_by_place[place] for place in range(len(tables))]


def _steps_of(rows: Rows, around: Sequence[tuple[str, ...]]) -> Steps | None:
    sequences = [steps for steps in dict.fromkeys([*around, *SEQUENCES]) if _fits(rows, steps)]
    if not sequences:
        return None

    def likeness(sequence: tuple[str, ...]) -> tuple[int, bool, bool]:
        return _reached(rows, sequence), sequence in around, len(sequence) == len(rows)

    best = max(map(likeness, sequences))
    alike = [sequence for sequence in sequences if likeness(sequence) == best]
    names = {sequence[: len(rows)] for sequence in alike}
    if len(names) > 1 and not any(best[1:]):
        return None
    expected = len(alike[0]) if len(alike) == 1 or any(best[1:]) else None
    return Steps(alike[0][: len(rows)], expected)


def _fits(rows: Rows, steps: Sequence[str]) -> bool:
    pairs = zip(rows, steps, strict=False)
    return 0 < len(rows) <= len(steps) and all(
        row is None or row.queries == (rate_of(step) is not None) for row, step in pairs
    )


def _reached(rows: Rows, steps: Sequence[str]) -> int:
    """Count the steps with queries that had the insert rate in their names.

    That is the rate of each client; there were as many as the step that did best needs.
    """
    pairs = [(row, rate_of(step)) for row, step in zip(rows, steps, strict=False)]
    parts = [
        inserts / rate
        for row, rate in pairs
        if row is not None and rate and (inserts := row.number("ips"))
    ]
    return sum(part >= _REACHED * max(parts) for part in parts)
