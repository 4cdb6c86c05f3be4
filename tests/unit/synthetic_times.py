"""Slices with response times and CPU time whose true ratios are known, in the driver's buckets.

Throughput comes from `synthetic_rates`. Response times are lognormal with a tail whose share varies
from slice to slice; CPU time per operation moves with the speed of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowdust.store.latency import Histogram
from slowdust.store.measured import Measured, Use
from slowdust.store.slice import Place, Slice
from tests.unit.synthetic import FloatArray, Noise, synthetic_rates

SPREAD = 0.25
"""Standard deviation of the ln of a response time."""
TAIL_SHARE = 0.02
TAIL = 4.0
"""Response time of the tail / response time of the others, before its own spread."""
WITH_SPEED = 0.9
"""Change of ln CPU time per operation for one of ln of the machine's speed."""
CPU_NOISE = 0.01
CPU_NS = 50_000.0


@dataclass(frozen=True)
class Truth:
    """Ratios of a contender to the base."""

    times: float = 1.0
    """The ratio of all response times, and of CPU time per operation."""
    tail: float = 1.0
    """The ratio of the times of the tail, which comes on top."""


def timed_slices(
    truth: Truth,
    *,
    operations: int,
    noise: Noise,
    tests: int,
    incarnations: int,
    blocks: int,
    rng: np.random.Generator,
) -> list[Slice]:
    """Draw the slices of an experiment of `a` and `b`, with `operations` in a slice of the base."""
    shifts = np.zeros((tests, 2))
    rates = synthetic_rates(shifts, noise=noise, incarnations=incarnations, blocks=blocks, rng=rng)
    slices = []
    for place in np.ndindex(rates.log_qps.shape):
        test, incarnation, block, slot = place
        is_base = rates.contender[place] == 0
        speed = float(np.exp(rates.log_qps[place]))
        ratio = Truth() if is_base else truth
        times = _times(round(operations * speed / ratio.times), ratio, rng) / speed
        cpu_ns = CPU_NS * ratio.times * speed**-WITH_SPEED * np.exp(CPU_NOISE * rng.normal())
        slices.append(
            Slice(
                place=Place(
                    benchmark="micro",
                    test=f"t{test}",
                    clients=1,
                    contender="a" if is_base else "b",
                    incarnation=incarnation + 1,
                    block=block,
                    slot=slot,
                ),
                qps=float(1e9 / times.mean()),
                measured=Measured(
                    operations=len(times),
                    latency=histogram_of(times),
                    uses={"server": Use(cpu_s=cpu_ns * 1e-9 * len(times))},
                ),
            )
        )
    return slices


def _times(count: int, truth: Truth, rng: np.random.Generator) -> FloatArray:
    """Return response times in ns at a speed of 1."""
    count = max(1, count)
    in_tail = rng.random(count) < TAIL_SHARE * rng.gamma(4.0, 0.25)
    times: FloatArray = rng.lognormal(np.log(100_000 * truth.times), SPREAD, count)
    times[in_tail] *= TAIL * truth.tail
    return times


def histogram_of(times_ns: FloatArray) -> Histogram:
    """Return times in the buckets of the driver: 128 for each doubling, as their middles."""
    whole = times_ns.astype(np.int64)
    width = 1 << np.maximum(0, np.frexp(whole)[1] - 8)
    values, counts = np.unique(whole // width * width + width // 2, return_counts=True)
    return Histogram(
        values_ns=values.tolist(),
        counts=counts.tolist(),
        max_ns=int(whole.max()),
        mean_ns=float(times_ns.mean()),
    )
