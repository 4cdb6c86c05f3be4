"""The record of a search, `bisection.json` in its folder: what is looked for, and what was done.

Beside it are the experiments of the search, in a results folder of their own, `steps/`.
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
"""Name that a user would write -> key of the metric."""
_COSTS = {each.key: each for each in COMPARED if each not in BESIDE}
"""What is a cost of the test itself: less is better."""


def metric_called(name: str) -> str:
    """Return `auto`, `work`, `time` or the key of a metric that is called so.

    Raises UsageError for anything else.
    """
    key = _PLAIN_NAMES.get(name, name)
    if key in (AUTO, WORK, TIME) or key in _COSTS:
        return key
    choices = [WORK, TIME, *_PLAIN_NAMES, *(k for k in _COSTS if k not in _PLAIN_NAMES.values())]
    raise UsageError(f"--metric: {no_such('metric', name, choices)}")


def words_for(metric: str) -> str:
    """Return what is compared: 'instructions per operation', 'response time of 99%'."""
    if metric == WORK:
        return "instructions per operation"
    if metric == TIME:
        return "time per operation"
    row = _COSTS[metric]
    meaning = row.meaning[0].lower() + row.meaning[1:]
    return meaning if row in PERCENTILES else f"{meaning} per operation"


SCHEMA = 1


class Question(Asked, kw_only=True, frozen=True):
    """What a search looks for."""

    range: str
    """The candidates as the user wrote them."""
    metric: str
    """The metric, or `auto`."""
    margin: float | None
    """Smallest change to look for, a share of 1; None for that of the metric."""
    most_candidates: int
    """Number of candidates up to which intervals without a change are halved."""
    good: str | None
    bad: str | None


class Step(msgspec.Struct, kw_only=True):
    """One experiment of a search."""

    places: list[int]
    """Places of its candidates."""
    extensions: int = 0
    """How often it is to be extended."""
    done: int = -1
    """How often it was; -1 before it was measured for the first time."""
    budget_s: Second | None = None
    """The budget of its experiment by then; None in records of earlier versions."""


class Record(msgspec.Struct, kw_only=True):
    """A search, as far as it has come."""

    schema: int = SCHEMA
    question: Question
    candidates: Candidates
    metric: str
    """The metric that decides."""
    margin: float
    """Smallest change that is looked for, a share of 1."""
    steps: list[Step] = []
    skipped: dict[int, str] = {}
    """Place -> why the candidate could not be measured."""
    unconfirmed: dict[int, str] = {}
    """Place of a change -> why it could not be measured beside the candidate before it."""
    finished: bool = False
