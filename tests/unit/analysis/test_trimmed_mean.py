from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from slowdust.stats.location import trimmed_mean


@pytest.mark.parametrize("count", [1, 2, 4, 5, 9, 10, 23])
def test_agrees_with_scipy(count: int) -> None:
    values = np.random.default_rng(count).standard_t(2, count)

    location = trimmed_mean(values[:, None])

    assert location.mean == pytest.approx(stats.trim_mean(values, 0.2))
    winsorized = np.asarray(stats.mstats.winsorize(values, (0.2, 0.2)))
    assert location.squares == pytest.approx(((winsorized - winsorized.mean()) ** 2).sum())
    assert location.size == count - 2 * int(0.2 * count)


def test_one_outlier_of_five_does_not_matter() -> None:
    calm = trimmed_mean(np.array([1.0, 2.0, 3.0, 4.0, 5.0])[:, None])
    spiked = trimmed_mean(np.array([1.0, 2.0, 3.0, 4.0, 5000.0])[:, None])

    assert (spiked.mean, spiked.squares) == (calm.mean, calm.squares)
