"""Judging after every block compared with judging once at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.coverage.experiments import (
    CALM,
    MARGIN,
    Layout,
    experiments,
    print_header,
    print_row,
)
from slowdust.ratios import Verdict
from slowdust.stats.blocks import BlockRatios
from slowdust.stats.estimate import estimate_all
from slowdust.stats.verdict import DIFFERENT, FEWEST_INCARNATIONS, Judgement, judge_estimates
from tests.unit.synthetic import Noise, shortened


@dataclass(frozen=True)
class Stopped:
    """An experiment whose tests stopped when they were decided."""

    judgements: list[Judgement]
    """The judgements at the end."""
    stopped: list[bool]
    """Whether a test stopped before the end."""
    blocks: int

    @property
    def lost(self) -> int:
        """The number of tests that stopped and are `unsure` at the end."""
        ends = zip(self.judgements, self.stopped, strict=True)
        return sum(stopped and judgement.verdict == "unsure" for judgement, stopped in ends)


def stop_early(cells: Sequence[BlockRatios]) -> Stopped:
    """Measure the tests in turn in each start; judge after each block."""
    measured: list[list[int]] = [[] for _ in cells]
    done = [False] * len(cells)
    for incarnation in range(len(cells[0].by_incarnation)):
        for index, cell in enumerate(cells):
            if done[index]:
                continue
            measured[index].append(0)
            for _ in cell.by_incarnation[incarnation]:
                measured[index][-1] += 1
                if incarnation + 1 < FEWEST_INCARNATIONS:
                    continue
                if _so_far(cells, measured)[index].settled:
                    done[index] = True
                    break
    return Stopped(_so_far(cells, measured), done, sum(map(sum, measured)))


def _so_far(cells: Sequence[BlockRatios], measured: Sequence[Sequence[int]]) -> list[Judgement]:
    so_far = [shortened(cell, blocks) for cell, blocks in zip(cells, measured, strict=True)]
    return judge_estimates(estimate_all(so_far), MARGIN)


_OUTCOMES: dict[float, tuple[Verdict, tuple[Verdict, ...]]] = {
    1.0: ("same", DIFFERENT),
    1.03: ("faster", ("same", "slower")),
    0.95: ("slower", ("same", "faster")),
}
"""True rqps -> the right verdict and the wrong ones; `unsure` is neither."""


def early_stop(count: int) -> None:
    """Print the errors and savings of judging after each block."""
    print_header(
        "layout",
        "restart",
        "true rqps",
        "wrong, one look",
        "wrong, every block",
        "right, one look",
        "right, every block",
        "blocks measured",
        "stopped",
        "of these unsure at the end",
    )
    for layout in (Layout(3, 4, 15), Layout(8, 6, 8)):
        for restart in (0.005, 0.01):
            for truth in _OUTCOMES:
                _look_both_ways(count, layout, replace(CALM, restart=restart), truth)


def _look_both_ways(count: int, layout: Layout, noise: Noise, truth: float) -> None:
    right, wrong = _OUTCOMES[truth]
    one_look: list[Verdict] = []
    many_looks: list[Verdict] = []
    blocks = stopped = lost = 0
    for cells in experiments(count, layout, noise, float(np.log(truth))):
        one_look += [judged.verdict for judged in judge_estimates(estimate_all(cells), MARGIN)]
        early = stop_early(cells)
        many_looks += [judged.verdict for judged in early.judgements]
        blocks += early.blocks
        stopped += sum(early.stopped)
        lost += early.lost
    share = blocks / (layout.tests * layout.incarnations * layout.blocks * count)
    print_row(
        *(layout, f"{noise.restart:.1%}", f"{truth:.2f}"),
        *(
            f"{sum(verdict in wrong for verdict in verdicts) / len(verdicts):.1%}"
            for verdicts in (one_look, many_looks)
        ),
        *(f"{verdicts.count(right) / len(verdicts):.0%}" for verdicts in (one_look, many_looks)),
        *(f"{share:.0%}", stopped, lost),
    )
