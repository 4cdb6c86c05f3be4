"""The answer as labelled lines, which every medium shows before anything else."""

from __future__ import annotations

from typing import NamedTuple

from slowdust.analysis.model import Report


class Line(NamedTuple):
    """A line of the answer."""

    label: str
    text: str


LABELS = ("Failed", "Measured", "Slower", "Faster", "The rest", "Next")


def lines(report: Report) -> list[Line]:
    """Return the lines that there are, at most six; none of a report without an answer."""
    answer = report.answer
    if answer is None:
        return []
    texts = (
        answer.failures,
        answer.conditions,
        answer.slower,
        answer.faster,
        answer.rest,
        answer.next,
    )
    return [Line(*line) for line in zip(LABELS, texts, strict=True) if line[1]]
