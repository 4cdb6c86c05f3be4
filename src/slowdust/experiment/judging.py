"""Verdicts while an experiment runs: the same analysis as the report's, made incremental."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from importlib import import_module
from statistics import median

from slowdust.analysis.comparison import block_ratios
from slowdust.analysis.results.failures import count_failures, error_in_words
from slowdust.experiment.engine.schedule import MOST_ROUNDS, fewest_rounds
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.view import InterimVerdict, Status
from slowdust.ratios import Margins
from slowdust.stats.blocks import BlockRatios
from slowdust.stats.common_shift import find_common_shifts
from slowdust.stats.estimate import estimate_all
from slowdust.stats.verdict import FEWEST_INCARNATIONS, Judgement, judge_estimates
from slowdust.store.slice import Slice
from slowdust.units import Second
from slowdust.wording import amount


class Judge:
    """Judges a step, with the variation between restarts estimated from all steps.

    Block ratios of unchanged steps are cached; only the running step's are recomputed.
    """

    def __init__(self, contenders: list[str], margins: Margins, journal: Journal) -> None:
        self._contenders = contenders
        self._margins = margins
        self._journal = journal
        self._steps = journal.steps
        self._fewest = fewest_rounds(len(journal.steps))
        self._ratios: dict[str, tuple[int, list[BlockRatios]]] = {}
        # The first verdict would import it between two slices, and the servers would idle for a
        # second meanwhile.
        import_module("scipy.special")

    def status(
        self, step: PlannedStep, extent: str, measured: Second, budget: Second, settled: int | None
    ) -> Status:
        """Return the experiment's status in a step, after `measured` seconds of `budget`."""
        rate = None
        if len(self._contenders) == 1 and step.slices:
            typical = median(record.qps for record in step.slices)
            rate = f"{amount(typical)} {step.slices[0].unit}"
        return Status(
            test=step.test.name,
            clients=step.clients,
            step_number=self._steps.index(step) + 1,
            steps=len(self._steps),
            extent=extent,
            verdicts=self._all_verdicts()[step.key],
            measured=measured,
            budget=budget,
            settled=settled,
            rate=rate,
        )

    def settled(self, others: Callable[[PlannedStep], Collection[str]]) -> set[str]:
        """Return the keys of the steps whose verdicts on all `others` need no more slices."""
        verdicts = self._all_verdicts()
        return {step.key for step in self._steps if all_settled(verdicts[step.key], others(step))}

    def _all_verdicts(self) -> dict[str, list[InterimVerdict]]:
        """Return step -> its verdicts. Results of one step may change the verdicts of others."""
        cells: list[tuple[str, BlockRatios]] = []
        for step in self._steps:
            count, known = self._ratios.get(step.key, (0, []))
            if count != len(step.slices):
                known = block_ratios(step.slices, self._contenders[0], self._contenders)
                self._ratios[step.key] = (len(step.slices), known)
            cells += [(step.key, cell) for cell in known]
        judged = judge_estimates(estimate_all([cell for _, cell in cells]), self._margins)
        moves = find_common_shifts([cell for _, cell in cells], self._margins.usual)
        moved = {move.contender for move in moves}
        verdicts: dict[str, list[InterimVerdict]] = {step.key: [] for step in self._steps}
        for (key, _), judgement in zip(cells, judged, strict=True):
            # If a restart moves all tests alike, other tests add no information about restarts.
            fewest = MOST_ROUNDS if judgement.estimate.contender in moved else self._fewest
            verdicts[key].append(self._verdict(judgement, fewest))
        return {step.key: self._without_failed(step, verdicts[step.key]) for step in self._steps}

    def _without_failed(
        self, step: PlannedStep, verdicts: list[InterimVerdict]
    ) -> list[InterimVerdict]:
        """Mark contenders as decided if all their operations, or all of the base's, fail."""
        by_contender: dict[str, list[Slice]] = defaultdict(list)
        for record in step.slices:
            by_contender[record.place.contender].append(record)
        failing = {
            name: error_in_words(failures)
            for name, slices in by_contender.items()
            if (failures := count_failures(slices)) is not None and failures.wholly
        }
        of_base = failing.get(self._contenders[0], "")
        return [
            replace(verdict, ratio=None, settled=True, fails=fails)
            if (fails := failing.get(verdict.contender, of_base))
            else verdict
            for verdict in verdicts
        ]

    def _verdict(self, judgement: Judgement, fewest: int) -> InterimVerdict:
        estimate = judgement.estimate
        if judgement.far:  # beyond the effect of any restart
            fewest = FEWEST_INCARNATIONS
        return InterimVerdict(
            contender=estimate.contender,
            ratio=judgement.ratio,
            settled=judgement.settled and estimate.incarnations >= fewest,
            far=judgement.far,
            typical=estimate.ratio if judgement.basis == "all time" else None,
        )


def all_settled(verdicts: Iterable[InterimVerdict], others: Collection[str]) -> bool:
    """Return whether each of `others` has a verdict that needs no more slices."""
    settled = {verdict.contender for verdict in verdicts if verdict.settled}
    return settled >= set(others)


def all_far(verdicts: Iterable[InterimVerdict], others: Collection[str]) -> bool:
    """Return whether all of `others`, at least one, are far from the base."""
    far = {verdict.contender for verdict in verdicts if verdict.far}
    return bool(others) and far >= set(others)
