"""Verdicts while an experiment runs: the same analysis as the report's, kept quick."""

from __future__ import annotations

from slowdust.analysis.comparison.estimate import estimate_all
from slowdust.analysis.comparison.relative import BlockRatios, block_ratios
from slowdust.analysis.comparison.verdict import Judgement, judge_estimates
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.view import InterimVerdict, Status
from slowdust.units import Second


class Judge:
    """Judges a step, with restarts as all steps of the experiment show them.

    The block ratios of steps that do not change are kept; only the running step's are new.
    """

    def __init__(self, contenders: list[str], margin: float, journal: Journal) -> None:
        self._contenders = contenders
        self._margin = margin
        self._steps = journal.steps
        self._ratios: dict[str, tuple[int, list[BlockRatios]]] = {}

    def status(
        self, step: PlannedStep, extent: str, measured: Second, budget: Second, settled: int | None
    ) -> Status:
        """Return the experiment's status in a step; `measured` seconds of `budget` are used."""
        return Status(
            test=step.test.name,
            clients=step.clients,
            step_number=self._steps.index(step) + 1,
            steps=len(self._steps),
            extent=extent,
            verdicts=self._verdicts(step),
            measured=measured,
            budget=budget,
            settled=settled,
        )

    def _verdicts(self, step: PlannedStep) -> list[InterimVerdict]:
        cells = [cell for other in self._steps for cell in self._cells(other)]
        judged = judge_estimates(estimate_all(cells), self._margin)
        own = {id(cell) for cell in self._cells(step)}
        return [_verdict(j) for cell, j in zip(cells, judged, strict=True) if id(cell) in own]

    def _cells(self, step: PlannedStep) -> list[BlockRatios]:
        count, cells = self._ratios.get(step.key, (0, []))
        if count != len(step.slices):
            cells = block_ratios(step.slices, self._contenders[0], self._contenders)
            self._ratios[step.key] = (len(step.slices), cells)
        return cells


def _verdict(judgement: Judgement) -> InterimVerdict:
    estimate = judgement.estimate
    interval = estimate.interval
    return InterimVerdict(
        contender=estimate.contender,
        rqps=estimate.ratio,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        verdict=judgement.verdict,
        settled=judgement.settled,
    )
