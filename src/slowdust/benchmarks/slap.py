"""The single-row family: ranges, and updates of one row by all clients.

Ranges come first, on freshly loaded data: all dead versions that the updates leave belong to one
row, so that ranges after the updates would measure nothing new.
"""

from __future__ import annotations

from slowdust.benchmarks.model import (
    DEFAULT_SUITE,
    Benchmark,
    Group,
    Headline,
    Phase,
    Test,
    rows_of_range,
)

_NAME = "slap"
_RANGES = ("range-pk", "range-si-covered", "range-si-notcovered")
_ROWS = (10, 1000)
_UPDATES = ("update-same-indexed", "update-same-notindexed")

_TESTS: tuple[Test, ...] = (
    *(
        Test(_NAME, name, Group.RANGE, Phase.PRE, least_rows=rows_of_range(name))
        for name in (f"{range_}.{rows}" for range_ in _RANGES for rows in _ROWS)
    ),
    *(Test(_NAME, name, Group.WRITE, Phase.WRITE) for name in _UPDATES),
)

SLAP = Benchmark(
    name=_NAME,
    tests=_TESTS,
    suites={
        DEFAULT_SUITE: tuple(test.name for test in _TESTS),
        "quick": ("range-pk.10", "range-si-notcovered.10", *_UPDATES),
    },
    headline=Headline.RESPONSE_TIME,
)
