"""Simulated counts: seeded records of work whose true ratios are known.

counts = synthetic_counts(
    ["postgres@15.8", "postgres@17.6"],
    ["point-query", "update-index"],
    shifts={"postgres@17.6": {"point-query": 0.95}},
    seed=1,
)
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.store.count import (
    INSTRUCTIONS,
    SYSTEM_CALLS,
    Count,
    CountedRun,
    Source,
    WindowPlace,
)
from tests.unit.synthetic import Shifts

OPERATIONS = 1000
"""Operations of a run."""


@dataclass(frozen=True)
class CountNoise:
    """Noise of counts in ln instructions per operation, as standard deviations."""

    repeat: float = 0.002
    """Noise of one contender's repeat."""
    common: float = 0.005
    """Variation from repeat to repeat of all contenders alike, for example by caches that fill."""
    restart: float = 0.0005
    """Change by a restart of one contender and test, for a whole incarnation."""


def synthetic_counts(
    contenders: Sequence[str],
    tests: Sequence[str],
    *,
    shifts: Shifts | None = None,
    noise: CountNoise | None = None,
    incarnations: int = 2,
    repeats: int = 4,
    clients: int = 1,
    source: Source = "valgrind",
    benchmark: str = "micro",
    seed: int | np.random.Generator = 0,
) -> list[Count]:
    """Return the counts of one experiment, in the order of counting.

    `shifts` is contender -> true relative work, of all tests or by test; without, all are equal.
    """
    noise = noise or CountNoise()
    rng = np.random.default_rng(seed)
    counts = []
    for incarnation in range(1, incarnations + 1):
        for test in tests:
            restarts = rng.normal(0, noise.restart, len(contenders))
            for repeat in range(repeats):
                common = rng.normal(0, noise.common)
                for contender, restart in zip(contenders, restarts, strict=True):
                    level = restart + common + rng.normal(0, noise.repeat)
                    cost = _cost_of(test) * shift_of(shifts, contender, test) * np.exp(level)
                    counts.append(
                        Count(
                            place=WindowPlace(
                                benchmark=benchmark,
                                test=test,
                                clients=clients,
                                contender=contender,
                                incarnation=incarnation,
                                repeat=repeat,
                            ),
                            source=source,
                            run=_run(float(cost)),
                        )
                    )
    return counts


def shift_of(shifts: Shifts | None, contender: str, test: str) -> float:
    """Return the true relative work of a contender in a test."""
    shift = (shifts or {}).get(contender, 1.0)
    return shift.get(test, 1.0) if isinstance(shift, Mapping) else shift


def _cost_of(test: str) -> float:
    """Return the base's instructions per operation: 20,000 to 100,000, by the test's name."""
    return 20_000 + zlib.crc32(test.encode()) % 80_000


def _run(cost: float) -> CountedRun:
    return CountedRun(
        operations=OPERATIONS,
        own={INSTRUCTIONS: round(cost * OPERATIONS), SYSTEM_CALLS: 4 * OPERATIONS},
        background={INSTRUCTIONS: 500 * OPERATIONS},
    )
