"""Long steps in chunks of 0.25 s, with ratios of totals; 10 steps, 3 starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bench.coverage.experiments import (
    Layout,
    experiments,
    judge,
    print_header,
    print_row,
)
from slowdust.stats.blocks import BlockRatios
from tests.unit.synthetic import Noise

STEPS = 10
TRUTH = 0.90
CALM = Noise(slice=0.03, restart=0.01)
_NOISE = {
    "chunks of 3%, restarts of 1%": CALM,
    "the same, restarts of 3%": replace(CALM, restart=0.03),
    "chunks of 10%": replace(CALM, slice=0.10),
    "a machine at half its speed for 1 s at a time": replace(CALM, regime_s=1.0),
    "the same, 5 s": replace(CALM, regime_s=5.0),
    "the same, 30 s": replace(CALM, regime_s=30.0),
    "drift of 30% within 20 s": replace(CALM, drift=0.3, drift_time_s=20.0),
}


def in_chunks(
    count: int, layout: Layout, noise: Noise, truth: float = 1.0
) -> Iterator[list[BlockRatios]]:
    """Make seeded experiments of long steps; the contender's true rqps is `truth`."""
    for cells in experiments(count, layout, noise, float(np.log(truth))):
        yield [replace(cell, parts="chunks") for cell in cells]


def chunks(count: int) -> None:
    """Print how often the intervals and verdicts of long steps in chunks are right."""
    print_header(
        "blocks of a step",
        "noise",
        "covers",
        "half-width",
        "false faster or slower",
        "experiments with one",
        f"slower, of a true {TRUTH:.2f}",
    )
    for blocks in (2, 4, 12):
        layout = Layout(STEPS, 3, blocks)
        for name, noise in _NOISE.items():
            tally, verdicts = judge(in_chunks(count, layout, noise))
            _, slower = judge(in_chunks(count, layout, noise, TRUTH), TRUTH)
            print_row(
                blocks,
                name,
                tally,
                f"{verdicts.share('faster', 'slower'):.1%}",
                f"{verdicts.experiments_with_a_difference():.1%}",
                f"{slower.share('slower'):.0%}",
            )
