"""Long steps in chunks of 0.25 s, whose ratios are those of totals; 10 steps, 3 incarnations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.coverage.experiments import (
    Layout,
    Tally,
    Verdicts,
    experiments,
    print_header,
    print_row,
)
from slowdust.analysis.comparison.estimate import estimate_all
from tests.unit.synthetic import Noise

STEPS = 10
TRUTH = 0.90
_CALM = Noise(slice=0.03, restart=0.01)
_NOISE = {
    "chunks of 3%, restarts of 1%": _CALM,
    "the same, restarts of 3%": replace(_CALM, restart=0.03),
    "chunks of 10%": replace(_CALM, slice=0.10),
    "a machine at half its speed for 1 s at a time": replace(_CALM, regime_s=1.0),
    "the same, 5 s": replace(_CALM, regime_s=5.0),
    "the same, 30 s": replace(_CALM, regime_s=30.0),
    "drift of 30% within 20 s": replace(_CALM, drift=0.3, drift_time_s=20.0),
}


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
            tally, verdicts, slower = Tally(), Verdicts(), Verdicts()
            for log_shift, judged in ((0.0, verdicts), (float(np.log(TRUTH)), slower)):
                for cells in experiments(count, layout, noise, log_shift):
                    estimates = estimate_all([replace(cell, parts="chunks") for cell in cells])
                    judged.add(estimates)
                    for estimate in estimates if not log_shift else ():
                        tally.add(estimate.interval)
            print_row(
                blocks,
                name,
                tally,
                f"{verdicts.share('faster', 'slower'):.1%}",
                f"{verdicts.experiments_with_a_difference():.1%}",
                f"{slower.share('slower'):.0%}",
            )
