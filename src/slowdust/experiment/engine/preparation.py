"""Preparation that is repeated until the contenders' tables are physically alike, and done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slowdust.analysis.preparation.facts import Difference, differences
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.view import View
from slowdust.store.manifest import ContenderFacts
from slowdust.store.preparation import Preparation

_REPEATS = 2
"""Preparations again, at most: what has stayed twice stays, and is reported."""


class Preparations:
    """Prepares all contenders' tables, and keeps what they are like afterwards."""

    def __init__(
        self,
        contenders: Contenders,
        facts: Sequence[ContenderFacts],
        kept: list[Preparation],
        view: View,
    ) -> None:
        """`facts` say which contenders should be alike; records are added to `kept`."""
        self._contenders = contenders
        self._facts = facts
        self._kept = kept
        self._view = view
        self._latest: list[Preparation] = []

    def until_alike(
        self, after: str, incarnation: int, prepare: Callable[[], None], rows: int
    ) -> None:
        """Prepare all contenders' tables of so many `rows`, again where they are not alike then."""
        for repeated in range(_REPEATS + 1):
            prepare()
            self._latest = self._read(after, incarnation, rows, repeated)
            apart = self._apart()
            if not apart:
                break
            what_follows = "preparing again" if repeated < _REPEATS else "it stays: reported"
            self._view.warning(f"the tables are {_worst(apart)} ({what_follows})")
        self._keep()

    def are_alike(
        self, after: str, incarnation: int, settle: Callable[[], None], rows: int
    ) -> bool:
        """Return whether tables that nothing was done to are alike; if so, keep what they are.

        Where they are not, `settle` may first finish what the servers themselves have begun.
        """
        self._latest = self._read(after, incarnation, rows, repeated=0)
        if self._apart():
            settle()
            self._latest = self._read(after, incarnation, rows, repeated=0)
        if apart := self._apart():
            self._view.warning(f"the tables are {_worst(apart)} (preparing again)")
            return False
        self._keep()
        return True

    def note_step(self, step: PlannedStep) -> None:
        """Keep that a step is measured on the tables as they were prepared last."""
        for record in self._latest:
            if step.key not in record.steps:
                record.steps.append(step.key)

    def _keep(self) -> None:
        self._kept += self._latest

    def _apart(self) -> list[Difference]:
        return differences(self._latest, self._facts)

    def _read(self, after: str, incarnation: int, rows: int, repeated: int) -> list[Preparation]:
        moment = 1 + max((record.moment for record in self._kept), default=0)
        records: list[Preparation] = []

        def read(contender: RunningContender) -> None:
            facts = self._contenders.read_facts(contender, rows)
            records.append(
                Preparation(
                    contender=contender.name,
                    incarnation=incarnation,
                    moment=moment,
                    after=after,
                    facts=facts,
                    repeated=repeated,
                )
            )

        self._contenders.for_each(read)
        return records


def _worst(apart: list[Difference]) -> str:
    worst = apart[0]
    what = "not fully prepared" if worst.beside is None else "not alike"
    return f"{what}: {worst.contender}: {worst.sentence()}"
