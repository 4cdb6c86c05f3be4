"""The record of a search, `bisection.json` in its folder: the question, and the steps so far.

The experiments of the search are in its own results folder, `steps/`.
"""

from __future__ import annotations

import msgspec

from slowdust.analysis.metrics import BESIDE, COMPARED, PERCENTILES
from slowdust.analysis.results.log_ratio import TIME, WORK
from slowdust.errors import UsageError
from slowdust.studies.candidates import Candidates
from slowdust.studies.engine import Asked
from slowdust.units import Second
from slowdust.wording import no_such

AUTO = "auto"
_PLAIN_NAMES = {
    **{percentile.field: percentile.key for percentile in PERCENTILES},
    "context_switches": "cs",
}
"""Name in `--metric` -> key of the metric."""
_COSTS = {each.key: each for each in COMPARED if each not in BESIDE}
"""Metrics that are costs of the test itself: less is better."""


def parse_metric(name: str) -> str:
    """Return `auto`, `work`, `time` or the key of the metric of that name.

    Raises UsageError for any other name.
    """
    key = _PLAIN_NAMES.get(name, name)
    if key in (AUTO, WORK, TIME) or key in _COSTS:
        return key
    choices = [WORK, TIME, *_PLAIN_NAMES, *(k for k in _COSTS if k not in _PLAIN_NAMES.values())]
    raise UsageError(f"--metric: {no_such('metric', name, choices)}")


def describe_metric(metric: str) -> str:
    """Return a metric in words: 'instructions per operation', 'response time of 99%'."""
    if metric == WORK:
        return "instructions per operation"
    if metric == TIME:
        return "time per operation"
    row = _COSTS[metric]
    meaning = row.meaning[0].lower() + row.meaning[1:]
    return meaning if row in PERCENTILES else f"{meaning} per operation"


SCHEMA = 1


class Question(Asked, kw_only=True, frozen=True):
    """The question of a search."""

    range: str
    """The candidates as the user wrote them."""
    metric: str
    """The metric, or `auto`."""
    margin: float | None
    """Smallest change to look for, as a fraction; None for the metric's default."""
    most_candidates: int
    """Number of measured candidates up to which intervals without a change are halved."""
    good: str | None
    bad: str | None


class Step(msgspec.Struct, kw_only=True):
    """One experiment of a search."""

    places: list[int]
    """Places of its candidates."""
    extensions: int = 0
    """Number of extensions wanted."""
    done: int = -1
    """Number of extensions done; -1 before the first measurement."""
    budget_s: Second | None = None
    """The budget of its experiment at that time; None in records of earlier versions."""


class Record(msgspec.Struct, kw_only=True):
    """A search in progress."""

    schema: int = SCHEMA
    question: Question
    candidates: Candidates
    metric: str
    """The metric that decides."""
    margin: float
    """Smallest change to look for, as a fraction."""
    steps: list[Step] = []
    skipped: dict[int, str] = {}
    """Place -> why the candidate could not be measured."""
    unconfirmed: dict[int, str] = {}
    """Place of a change -> why it could not be compared with the candidate before it."""
    finished: bool = False
