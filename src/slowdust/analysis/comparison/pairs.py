"""Verdicts between any two contenders, not only beside the base."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.comparison.verdict import judge, relative_of
from slowdust.store.slice import Slice


class PairVerdicts:
    """Judges contenders beside any of them; the verdicts beside one are kept for the next pair."""

    def __init__(self, slices: Sequence[Slice], contenders: Sequence[str], margin: float) -> None:
        # A single archived run says nothing of how far another would be from it.
        self._slices = [record for record in slices if record.archived is None]
        self._contenders = contenders
        self._margin = margin
        self._unsure: dict[str, dict[str, set[Step]]] = {}

    def unsure(self, base: str, contender: str) -> set[Step]:
        """Return the steps of which it is unsure how `contender` differs from `base`."""
        if base not in self._unsure:
            self._unsure[base] = self._beside(base)
        return self._unsure[base].get(contender, set())

    def _beside(self, base: str) -> dict[str, set[Step]]:
        unsure: dict[str, set[Step]] = {}
        for judgement in judge(self._slices, self._contenders, self._margin, base):
            estimate = judgement.estimate
            interval = relative_of(estimate, self._margin).interval
            if judgement.verdict == "unsure" and interval is not None:
                unsure.setdefault(estimate.contender, set()).add(estimate.step)
        return unsure
