"""The parts of ratios that a test expects to exist."""

from __future__ import annotations

from slowdust.ratios import Ratio


def value_of(ratio: Ratio | None) -> float:
    assert ratio is not None
    return ratio.value


def interval_of(ratio: Ratio | None) -> tuple[float, float]:
    assert ratio is not None
    assert ratio.interval is not None
    return ratio.interval
