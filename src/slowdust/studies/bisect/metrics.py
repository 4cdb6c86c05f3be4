"""The metrics that a search can go by, as the user and the sentences name them."""

from __future__ import annotations

from slowdust.analysis.metrics import BESIDE, COMPARED, PERCENTILES
from slowdust.analysis.results.log_ratio import TIME, WORK
from slowdust.errors import UsageError
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
