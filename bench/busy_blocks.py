"""Rules for blocks while other programs run, simulated: precision, and bias from a known truth.

A slice's log rate is its contender's, plus noise, plus the log of its share of the CPU: another
program is on and off for periods of exponential length, and while it is on, each of the two has
half of the CPU. There are three situations: the load affects contenders equally; the second
contender loses 5% more of its rate while disturbed; or the load depends on the contender and uses
30% more CPU during the second one, with no effect on its rate.

The table has the mean error and the root mean square error of each rule's log ratio from the blocks
of a minute. The true log ratio of undisturbed slices is 0. Measuring a block again takes its time
again, so at an equal budget it is equivalent to excluding the block.

    python -m bench.busy_blocks [--experiments 2000]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from slowdust.stats.location import trimmed_mean

SMALLEST = ("--experiments", "5")
BLOCKS = 100
"""Blocks in a minute: four slices of 0.125 s each, with probes."""
SLICE = 0.125
DUTY = 0.4
"""The share of time that the other program is on."""
LENGTHS = (0.05, 0.3, 2.0, 30.0)
"""The mean duration of the other program's on-periods, in seconds."""
NOISES = (0.03, 0.15)

Numbers = npt.NDArray[np.float64]
Rule = Callable[[Numbers, Numbers], float]
"""Log ratios of blocks, and other programs' share of the CPUs in each -> estimate."""

_SHARES = (0.05, 0.25, 0.5, 0.75)
"""Thresholds: a rule excludes blocks with at least this share."""
_FEWEST = 5
"""A rule with fewer blocks uses all of them."""


def _spread(ratios: Numbers) -> float:
    """Return the standard deviation estimated from the interquartile range."""
    low, high = np.quantile(ratios, [0.25, 0.75])
    return float(high - low) / 1.349


def _all_alike(ratios: Numbers, shares: Numbers) -> float:
    del shares
    return float(trimmed_mean(ratios[:, None]).mean)


def _without(share: float, ratios: Numbers, shares: Numbers) -> float:
    calm = ratios[shares < share]
    return _all_alike(calm if len(calm) >= _FEWEST else ratios, shares)


def _weighed(ratios: Numbers, shares: Numbers) -> float:
    """Return the mean of the trimmed means of thirds, weighted by inverse variances."""
    means, weights = [], []
    for third in np.array_split(np.argsort(shares), 3):
        if len(third) < _FEWEST:
            return _all_alike(ratios, shares)
        means.append(_all_alike(ratios[third], shares))
        weights.append(len(third) / max(_spread(ratios[third]), 1e-6) ** 2)
    return float(np.average(means, weights=weights))


RULES: dict[str, Rule] = {
    "all alike": _all_alike,
    **{f"out from {share:.0%}": partial(_without, share) for share in _SHARES},
    "weights by thirds": _weighed,
}


@dataclass(frozen=True)
class Situation:
    """The interaction of contenders and load."""

    name: str
    reaction: float = 0.0
    """Additional loss of the second contender's log rate in a slice that is always disturbed."""
    follows: float = 1.0
    """CPU time of others during the second contender's slices, relative to the first's."""


SITUATIONS = (
    Situation("alike"),
    Situation("reacts 5% more", reaction=0.05),
    Situation("others follow", follows=1.3),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=2000)
    options = parser.parse_args(arguments)
    head = f"{'situation':<16}{'noise':>6}{'on for':>8}"
    print(head + "".join(f"{name:>19}" for name in RULES))
    for situation in SITUATIONS:
        for noise in NOISES:
            for length in LENGTHS:
                rng = np.random.default_rng(1)
                blocks = [
                    _blocks(situation, noise, length, rng) for _ in range(options.experiments)
                ]
                cells = [
                    _error([rule(ratios, shares) for ratios, shares in blocks])
                    for rule in RULES.values()
                ]
                row = f"{situation.name:<16}{noise:>6.0%}{length:>7}s"
                print(row + "".join(f"{cell:>19}" for cell in cells))
    return 0


def _error(estimates: Sequence[float]) -> str:
    errors = np.array(estimates)
    return f"{errors.mean():+.1%} {np.sqrt(np.mean(errors**2)):.1%}"


def _blocks(
    situation: Situation, noise: float, length: float, rng: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """Return the log ratios of an experiment's blocks, and the CPU shares of others in them."""
    on = _on(length, rng).reshape(BLOCKS, 4)
    first_at_ends = rng.random(BLOCKS) < 0.5
    second = np.where(first_at_ends[:, None], [0, 1, 1, 0], [1, 0, 0, 1])
    logs = np.log1p(-on / 2) - situation.reaction * on * second + noise * rng.normal(size=on.shape)
    ratios = (logs * np.where(second, 0.5, -0.5)).sum(axis=1)
    shares = on * np.where(second, min(1.0, situation.follows), 1.0) / 2
    shares *= np.where(second, max(1.0, situation.follows), 1.0)
    return ratios, shares.mean(axis=1)


def _on(length: float, rng: np.random.Generator) -> Numbers:
    """Return, for each slice, the share of its time that the other program is on."""
    duration = 4 * BLOCKS * SLICE
    pause = length * (1 - DUTY) / DUTY
    count = 20 + round(4 * duration / (length + pause))
    turns = np.empty(2 * count)
    turns[0::2], turns[1::2] = rng.exponential(length, count), rng.exponential(pause, count)
    if rng.random() > DUTY:
        turns = np.roll(turns, 1)
        is_on = np.arange(2 * count) % 2 == 1
    else:
        is_on = np.arange(2 * count) % 2 == 0
    ends = np.cumsum(turns)
    used = np.concatenate([[0.0], np.cumsum(turns * is_on)])
    edges = np.arange(4 * BLOCKS + 1) * SLICE
    on: Numbers = np.diff(np.interp(edges, np.concatenate([[0.0], ends]), used)) / SLICE
    return on


if __name__ == "__main__":
    sys.exit(main())
