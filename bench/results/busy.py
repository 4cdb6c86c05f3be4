"""Rules that treat blocks by how busy other programs were in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from slowdust.analysis.comparison.location import trimmed_mean

Numbers = npt.NDArray[np.float64]
Rule = Callable[[Numbers, Numbers], float]
"""Log ratios of blocks, and the share of the CPUs that other programs used in each -> estimate."""

SHARES = (0.05, 0.25, 0.5, 0.75)
"""Shares from which a rule leaves a block out."""
_FEWEST = 5
"""Blocks below which a rule takes all."""


def spread(ratios: Numbers) -> float:
    """Return the standard deviation that half the distance between quartiles stands for."""
    low, high = np.quantile(ratios, [0.25, 0.75])
    return float(high - low) / 1.349


def _all_alike(ratios: Numbers, shares: Numbers) -> float:
    del shares
    return float(trimmed_mean(ratios[:, None]).mean)


def _without(share: float, ratios: Numbers, shares: Numbers) -> float:
    calm = ratios[shares < share]
    return _all_alike(calm if len(calm) >= _FEWEST else ratios, shares)


def _weighed(ratios: Numbers, shares: Numbers) -> float:
    """Return the mean of the trimmed means of thirds, weighed by their inverse variances."""
    means, weights = [], []
    for third in np.array_split(np.argsort(shares), 3):
        if len(third) < _FEWEST:
            return _all_alike(ratios, shares)
        means.append(_all_alike(ratios[third], shares))
        weights.append(len(third) / max(spread(ratios[third]), 1e-6) ** 2)
    return float(np.average(means, weights=weights))


RULES: dict[str, Rule] = {
    "all alike": _all_alike,
    **{f"left out from {share:.0%}": partial(_without, share) for share in SHARES},
    "weights by thirds": _weighed,
}
