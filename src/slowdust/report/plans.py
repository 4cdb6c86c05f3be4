"""Plans that differ, as all formats show them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

MARK = "> "
"""Stands before a line that differs, in formats of plain text; blanks stand before the others."""
EXPLAINED = f"Lines with {MARK.strip()} differ."


def marked_lines(plan: str, differing: Collection[int]) -> Iterator[tuple[str, bool]]:
    """Yield each line of a plan and whether it differs."""
    for place, line in enumerate(plan.splitlines()):
        yield line, place in differing


def plain_lines(plan: str, differing: Collection[int]) -> list[str]:
    """Return the lines of a plan, those that differ marked."""
    blank = " " * len(MARK)
    return [
        f"{MARK if differs else blank}{line}" for line, differs in marked_lines(plan, differing)
    ]


def differences_in_words(differences: Sequence[str]) -> str:
    """Return the differences of a plan as one sentence."""
    return f"{'; '.join(differences)}."
