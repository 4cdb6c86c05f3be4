"""Simulated pairs of long steps, for simulations of thousands of experiments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowdust.stats.blocks import BlockRatios, Step
from tests.unit.synthetic import FloatArray


@dataclass(frozen=True)
class PairNoise:
    """Noise of the ln rates of whole steps."""

    pair: float | tuple[float, ...] = 0.03
    """Standard deviation of ln rqps of one pair, restart and noise together; by step."""
    tail_freedom: float | None = None
    """Degrees of freedom of Student's t; None: normal."""
    drift: float = 0.0
    """ln of the machine's speed at the end of each incarnation / at its beginning; linear."""
    drift_spread: float = 0.0
    """Standard deviation of the same, another in each incarnation."""
    alternating: bool = True
    """Whether every other step, and incarnation, has the contenders in reverse."""


def synthetic_pairs(
    steps: int,
    incarnations: int,
    noise: PairNoise,
    rng: np.random.Generator,
    *,
    contenders: int = 2,
    log_shift: float = 0.0,
) -> list[BlockRatios]:
    """Return ratios by step, then contender; all but the base are shifted by `log_shift`.

    Base and contender have half of a pair's variance each; several contenders share their base.
    """
    shape = (steps, incarnations, contenders)
    rates = _unit_noise(shape, noise, rng) * _sizes(noise, steps) / np.sqrt(2)
    rates[:, :, 1:] += log_shift
    slopes = noise.drift + rng.normal(0, noise.drift_spread, incarnations)
    rates += slopes[None, :, None] * _places(shape, noise) / (steps * contenders)
    return [
        BlockRatios(
            step=Step("insert", f"s{step}", 1),
            contender=f"c{contender}",
            by_incarnation=tuple((of_step[:, contender] - of_step[:, 0])[:, None, None]),
            numbers=tuple(range(1, 1 + incarnations)),
            parts="steps",
        )
        for step, of_step in enumerate(rates)
        for contender in range(1, contenders)
    ]


def _unit_noise(
    shape: tuple[int, int, int], noise: PairNoise, rng: np.random.Generator
) -> FloatArray:
    freedom = noise.tail_freedom
    if freedom is None:
        return rng.normal(size=shape)
    scaled: FloatArray = np.sqrt(1 - 2 / freedom) * rng.standard_t(freedom, shape)
    return scaled


def _sizes(noise: PairNoise, steps: int) -> FloatArray:
    sizes: FloatArray = np.broadcast_to(np.asarray(noise.pair, dtype=float), (steps,))
    return sizes[:, None, None]


def _places(shape: tuple[int, int, int], noise: PairNoise) -> FloatArray:
    """Return when each contender's step ran, in steps since its incarnation began."""
    steps, incarnations, contenders = shape
    forth = np.broadcast_to(np.arange(contenders), shape)
    reverse = (np.add.outer(np.arange(steps), np.arange(incarnations)) % 2 == 1)[:, :, None]
    turn = np.where(reverse, forth[:, :, ::-1], forth) if noise.alternating else forth
    places: FloatArray = np.arange(steps)[:, None, None] * contenders + turn.astype(float)
    return places
