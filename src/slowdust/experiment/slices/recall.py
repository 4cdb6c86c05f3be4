"""What approximate searches find on each contender, beside the exact answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowdust.benchmarks.answers import Answered, Questions
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data
from slowdust.experiment.driver.protocol import ResultSet
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.view import View
from slowdust.store.search import IndexSize, Recall

_AT_ONCE = 100
"""Questions of one command, which the driver asks in one session."""


class Recalls:
    """Asks the questions of a step, outside of all slices, and keeps how many answers are right."""

    def __init__(self, contenders: Contenders, journal: Journal, data: Data, view: View) -> None:
        self._contenders = contenders
        self._manifest = journal.manifest
        self._answered = data.described if isinstance(data.described, Answered) else None
        self._view = view

    def measure(self, step: PlannedStep, incarnation: int) -> None:
        """Ask every contender that has the step's test what it finds, once in an incarnation."""
        if self._answered is None or step.test.effort is None:
            return
        for contender in self._contenders.having(step.test):
            with self._contenders.guard(contender):
                self._measure(self._answered, contender, step.test.name, incarnation)

    def _measure(
        self, answered: Answered, contender: RunningContender, test: str, incarnation: int
    ) -> None:
        known = self._manifest.recalls
        place = (test, contender.name, incarnation)
        if any((each.test, each.contender, each.incarnation) == place for each in known):
            return  # at another number of clients
        dbms = contender.family
        questions = answered.questions(test, dbms)
        if questions is None:
            return
        self._view.phase(f"recall of {test} on {contender.name}")
        answers = [_numbers(answer) for answer in self._answers(contender, questions)]
        known.append(
            Recall(
                test=test,
                contender=contender.name,
                incarnation=incarnation,
                queries=len(answers),
                k=questions.k,
                recall=questions.recall(answers),
            )
        )
        if kind := answered.index_of(test):
            self._keep_size(contender, kind, answered.index_bytes(kind, dbms), incarnation)

    def _answers(self, contender: RunningContender, questions: Questions) -> Iterator[ResultSet]:
        for begin in range(0, len(questions.statements), _AT_ONCE):
            part = questions.statements[begin : begin + _AT_ONCE]
            statements = [*questions.session, *part]
            results = self._contenders.driver.sql(contender.target, statements)
            yield from results[len(questions.session) :]

    def _keep_size(
        self, contender: RunningContender, kind: str, statement: str, incarnation: int
    ) -> None:
        sizes = self._manifest.index_sizes
        place = (kind, contender.name, incarnation)
        if any((size.index, size.contender, size.incarnation) == place for size in sizes):
            return
        (answer,) = self._contenders.driver.sql(contender.target, [statement])
        if answer.rows and answer.rows[0][0] is not None:
            sizes.append(
                IndexSize(
                    index=kind,
                    contender=contender.name,
                    incarnation=incarnation,
                    bytes=int(float(answer.rows[0][0])),
                )
            )


def _numbers(answer: ResultSet) -> Sequence[int]:
    return [int(row[0]) for row in answer.rows if row[0] is not None]
