"""Queries around the tests of timed passes, outside of all slices.

Round trips: the network between a client and a server by URL is part of every response. A minimal
statement (`SELECT 1`, `ping`) shows its share; METHOD's verdicts are about the whole time.
Counters: the servers' own counts of their work for one step. Recall: the results of approximate
searches, compared with the exact answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

from slowdust.analysis.results.latency import percentile_ns
from slowdust.benchmarks.described import Answered, Questions
from slowdust.benchmarks.model import Test
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data
from slowdust.experiment.driver.protocol import ResultSet, Stop
from slowdust.experiment.engine.loop import Companion
from slowdust.experiment.engine.open_test import OpenTest
from slowdust.experiment.engine.schedule import in_turn
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.view import View
from slowdust.store.preparation import WRITTEN_BYTES, IndexSize, Recall, ServerCounters

_TEST = "round-trip"
_DATA = Data(tables=1, rows=1, seed=1)
"""Tables that the statement does not read, and that need not exist."""
_LOOK = Stop(seconds=0.1)
_NS = 1e-9


class RoundTrips:
    """Measures round trips before a test or a sequence of steps, in turn and back: A B B A."""

    def __init__(self, contenders: Contenders, journal: Journal) -> None:
        self._contenders = contenders
        self._journal = journal
        self._medians: dict[str, list[float]] = {}
        """Contender -> the median of each measurement, in seconds."""

    def measure(self) -> None:
        """Measure all contenders' round trips with one client, if one is a running server."""
        running = self._contenders.running()
        if not any(contender.is_remote for contender in running):
            return
        for contender in [*in_turn(running, 0), *in_turn(running, 1)]:
            with self._contenders.guard(contender):
                self._look(contender)
        for contender in self._contenders.running():
            self._journal.facts(contender.name).round_trip_s = median(self._medians[contender.name])

    def _look(self, contender: RunningContender) -> None:
        driver = self._contenders.driver
        session = f"{contender.name} {_TEST}"
        driver.open(session, contender.target, _DATA, test=_TEST, clients=1)
        try:
            ran = driver.run(session, _LOOK)
        finally:
            driver.close(session)
        half = percentile_ns([ran.latency], 0.5)
        if half is not None:
            self._medians.setdefault(contender.name, []).append(half * _NS)


Totals = Mapping[str, Mapping[str, float]]
"""Contender -> quantity -> total since some moment of its server's life."""


class Counters(Companion[OpenTest]):
    """Reads the servers' totals before a step's sessions are opened and after they are closed."""

    def __init__(self, contenders: Contenders, journal: Journal) -> None:
        self._contenders = contenders
        self._journal = journal
        self._before: Totals = {}

    def before(self, step: PlannedStep) -> None:
        self._before = self._totals(step.test)

    def _totals(self, test: Test) -> Totals:
        """Return every server's totals, including the work of the sessions before.

        For a writing test beyond the page caches they include the bytes that the servers wrote, and
        pages that would be written later are written first.
        """
        totals: dict[str, Mapping[str, float]] = {}
        counts_writes = test.beyond_pool and test.writes

        def read(contender: RunningContender) -> None:
            if counts_writes:
                stages = contender.family.write_out(contender.server.site)
                self._contenders.maintain(contender, stages, rows=0)
            totals[contender.name] = self._contenders.read_counters(contender)
            written = contender.written_bytes() if counts_writes else None
            if written is not None:
                totals[contender.name] = {**totals[contender.name], WRITTEN_BYTES: written}

        self._contenders.for_each(read)
        return totals

    def after(self, test: OpenTest) -> None:
        """Record the counted work of each contender's operations."""
        step, operations, before = test.step, test.operations, self._before
        after = self._totals(step.test)
        for name in after.keys() & before.keys() & operations.keys():
            amounts = {
                quantity: total - before[name][quantity]
                for quantity, total in after[name].items()
                if quantity in before[name]
            }
            if amounts:
                self._journal.manifest.counters.append(
                    ServerCounters(
                        step=step.key,
                        contender=name,
                        incarnation=test.start,
                        operations=operations[name],
                        amounts=amounts,
                    )
                )


_AT_ONCE = 100
"""Queries per command; the driver executes them in one session."""


class Recalls(Companion[OpenTest]):
    """Executes the queries of a step outside of all slices, and records their recall."""

    def __init__(self, contenders: Contenders, journal: Journal, data: Data, view: View) -> None:
        self._contenders = contenders
        self._manifest = journal.manifest
        self._answered = data.described if isinstance(data.described, Answered) else None
        self._view = view

    def after(self, test: OpenTest) -> None:
        """Measure the recall of every contender that supports the test, once per start."""
        step = test.step
        if self._answered is None or step.test.effort is None:
            return
        for contender in self._contenders.supporting(step.test):
            with self._contenders.guard(contender):
                self._measure(self._answered, contender, step.test.name, test.start)

    def _measure(
        self, answered: Answered, contender: RunningContender, test: str, start: int
    ) -> None:
        known = self._manifest.recalls
        place = (test, contender.name, start)
        if any((each.test, each.contender, each.incarnation) == place for each in known):
            return  # measured at another number of clients
        dbms = contender.family
        questions = answered.questions(test, dbms)
        if questions is None:
            return
        self._view.phase(f"recall of {test} on {contender.name}")
        answers = [
            [int(row[0]) for row in answer.rows if row[0] is not None]
            for answer in self._answers(contender, questions)
        ]
        known.append(
            Recall(
                test=test,
                contender=contender.name,
                incarnation=start,
                queries=len(answers),
                k=questions.k,
                recall=questions.recall(answers),
            )
        )
        if kind := answered.index_of(test):
            self._keep_size(contender, kind, answered.index_bytes(kind, dbms), start)

    def _answers(self, contender: RunningContender, questions: Questions) -> Iterator[ResultSet]:
        for begin in range(0, len(questions.statements), _AT_ONCE):
            part = questions.statements[begin : begin + _AT_ONCE]
            statements = [*questions.session, *part]
            results = self._contenders.driver.sql(contender.target, statements)
            yield from results[len(questions.session) :]

    def _keep_size(
        self, contender: RunningContender, kind: str, statement: str, start: int
    ) -> None:
        sizes = self._manifest.index_sizes
        place = (kind, contender.name, start)
        if any((size.index, size.contender, size.incarnation) == place for size in sizes):
            return
        (answer,) = self._contenders.driver.sql(contender.target, [statement])
        if answer.rows and answer.rows[0][0] is not None:
            sizes.append(
                IndexSize(
                    index=kind,
                    contender=contender.name,
                    incarnation=start,
                    bytes=int(float(answer.rows[0][0])),
                )
            )
