"""Verdicts between any two contenders, not only beside the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowdust.analysis.comparison.hosts import Hosts
from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.comparison.verdict import judge, relative_of
from slowdust.analysis.model import Verdict
from slowdust.store.slice import Slice


class PairVerdicts:
    """Judges contenders beside any of them; the verdicts beside one are kept for the next pair."""

    def __init__(
        self, slices: Sequence[Slice], contenders: Sequence[str], margin: float, hosts: Hosts
    ) -> None:
        # A single run says nothing of how far another would be from it.
        self._slices = [record for record in slices if record.printed is None]
        self._contenders = contenders
        self._margin = margin
        self._hosts = hosts
        self._verdicts: dict[str, dict[str, dict[Step, Verdict]]] = {}

    def verdicts(self, base: str, contender: str) -> Mapping[Step, Verdict]:
        """Return the verdict of each step on how `contender` differs from `base`."""
        if base not in self._verdicts:
            self._verdicts[base] = self._beside(base)
        return self._verdicts[base].get(contender, {})

    def _beside(self, base: str) -> dict[str, dict[Step, Verdict]]:
        verdicts: dict[str, dict[Step, Verdict]] = {}
        for judgement in judge(self._slices, self._contenders, self._margin, base, self._hosts):
            estimate = judgement.estimate
            if relative_of(estimate, self._margin).interval is not None:
                verdicts.setdefault(estimate.contender, {})[estimate.step] = judgement.verdict
        return verdicts
