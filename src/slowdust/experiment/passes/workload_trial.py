"""A trial of a workload on a real server: each transaction is executed a few times."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

import msgspec

from slowdust.benchmarks import described
from slowdust.benchmarks.described import DRIVER_BENCHMARK, Described
from slowdust.errors import UsageError
from slowdust.experiment.announced import Announced
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data, TargetError
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.loop import (
    Allows,
    Go,
    Lane,
    OpenExperiment,
    Pass,
    Starts,
    Tests,
    measure,
)
from slowdust.experiment.engine.schedule import Start
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.journal import open_journal
from slowdust.experiment.local_lab import LocalLab
from slowdust.experiment.passes.slices import make_slice_method
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.located_errors import Keys, in_options
from slowdust.sql import Dbms
from slowdust.temporary import temporary_folder
from slowdust.units import Second
from slowdust.workloads.benchmark import DescribedWorkload, OwnBenchmark
from slowdust.workloads.file import EntryTable, TestTable
from slowdust.workloads.sql import CONTROL
from slowdust.workloads.workload import Workload

OPERATIONS = 100
"""Executions of each transaction, unless they take too long."""
LONGEST: Second = 10.0
"""Time limit after which no execution of a transaction begins."""


@dataclass(frozen=True)
class Tried:
    """A transaction of a test, executed `OPERATIONS` times or for `LONGEST`."""

    test: str
    transaction: str
    operations: int
    rows: float
    """Rows returned or changed by its statements, per operation."""
    errors: dict[str, int]
    """State of the server's error, or a result's defect -> count."""


def trial_spec(benchmark: OwnBenchmark, contender: str) -> Spec:
    """Return the specification of a trial.

    Raises:
        UsageError: the contender is unknown, or the workload does not support its DBMS.
    """
    name = f"check-{datetime.now():%Y%m%d-%H%M%S}"
    return parse_spec({"name": name, "contenders": [contender], "workload": benchmark}, in_options)


def try_out(benchmark: OwnBenchmark, spec: Spec, lab: LocalLab) -> list[Tried]:
    """Load the tables, prepare each statement, and execute each transaction of each test.

    Raises:
        UsageError: the server rejects tables or statements; one line for each.
    """
    with temporary_folder() as results:
        experiment = Experiment.create(spec, results)
        with lab.servers(experiment) as (writer, contenders, view):
            journal = open_journal(spec, writer, contenders, view, make_slice_method(spec))
            opened = OpenExperiment(spec, contenders, journal, view, Announced(view))
            trial = WorkloadTrial(opened, benchmark)
            measure(opened, [trial])
            return trial.tried


class _Servers(Tests[PlannedStep], Lane[PlannedStep]):
    """Servers without tables: the pass itself loads them, to explain errors."""

    def __init__(self, contenders: Contenders) -> None:
        self._contenders = contenders

    def run(self, start: Start, go: Go[PlannedStep]) -> None:
        self._contenders.start()
        go(start, self)
        self._contenders.stop()

    @contextmanager
    def opened(self, step: PlannedStep, allows: Allows) -> Generator[PlannedStep, None, None]:
        del allows
        yield step


class WorkloadTrial(Pass[PlannedStep]):
    """Executes each transaction of a workload on the only contender."""

    def __init__(self, experiment: OpenExperiment, benchmark: OwnBenchmark) -> None:
        super().__init__(experiment)
        self.tests = _Servers(experiment.contenders)
        self.tried: list[Tried] = []
        self._driver = experiment.contenders.driver
        self._workload = benchmark.workload

    def missing(self) -> Starts:
        yield Start.of(1, self.journal.steps)

    def begin(self, start: Start) -> None:
        del start
        [contender] = self.contenders.running()
        self.view.phase(f"loading {contender.name}")
        whole = DescribedWorkload(self._workload)
        try:
            self._driver.load(contender.target, self._data(whole), self.view.progress)
        except TargetError as error:
            self._explain(error, contender, whole)
        self._refuse_unprepared(contender)

    def observe(self, test: PlannedStep) -> None:
        [contender] = self.contenders.running()
        name = test.test.name
        for place, transaction in enumerate(self._workload.transactions(name)):
            data = self._data(_OneTransaction(self._workload, place))
            self._driver.open(name, contender.target, data, test=name, clients=1)
            ran = self._driver.run(name, Stop(seconds=LONGEST, positions=[OPERATIONS]))
            self._driver.close(name)
            rows = ran.rows / max(1, ran.operations)
            (done,) = ran.positions  # including failed ones
            self.tried.append(Tried(name, transaction.name, done, rows, ran.errors))

    def _data(self, whole: Described) -> Data:
        return Data(1, 1, self.experiment.spec.seed, DRIVER_BENCHMARK, described=whole)

    def _refuse(self, wrong: list[tuple[Keys, TargetError]]) -> NoReturn:
        lines = [
            f"{self._workload.origin(keys)}: {' '.join(str(why).split())}" for keys, why in wrong
        ]
        raise UsageError("\n".join(lines)) from wrong[0][1]

    def _explain(
        self, refused: TargetError, contender: RunningContender, whole: Described
    ) -> NoReturn:
        """Raise the error of a load, with the place of the rejected table or statement."""
        if refused.kind != "server":
            raise refused
        wrong: list[tuple[Keys, TargetError]] = []
        for place, text in enumerate(whole.tables(contender.family).before):
            try:
                self._driver.sql(contender.target, [text])
            except TargetError as error:
                # Other statements fail because they were executed before.
                if str(error) == str(refused):
                    wrong.append((("before", contender.target.dbms, place), error))
        for name in [] if wrong else whole.names:
            wrong += self._wrong_in(name, contender)
        if not wrong:
            raise refused
        self._refuse(wrong)

    def _wrong_in(self, table: str, contender: RunningContender) -> list[tuple[Keys, TargetError]]:
        """Return the keys and error of the part of a table that the server rejects, if any."""

        def refused(indexes: int) -> TargetError | None:
            data = self._data(_OneTable(self._workload, table, indexes))
            try:
                self._driver.load(contender.target, data, lambda _loaded, _rate: None)
            except TargetError as error:
                return error
            return None

        count = len(self._workload.file.tables[table].indexes)
        if refused(count) is None:
            return []
        for indexes in range(count + 1):
            if (error := refused(indexes)) is not None:
                index: Keys = ("indexes", indexes - 1) if indexes else ()
                return [(("tables", table, *index), error)]
        return []

    def _refuse_unprepared(self, contender: RunningContender) -> None:
        """Refuse statements that the server cannot prepare."""
        alone = _statements_alone(self._workload)
        data = self._data(DescribedWorkload(alone))
        refused: dict[str, TargetError] = {}
        for test in alone.file.tests:
            [transaction] = alone.transactions(test)
            try:
                self._driver.open(test, contender.target, data, test=test, clients=1)
            except TargetError as error:
                refused.setdefault(transaction.entries[0].statement, error)
            else:
                self._driver.close(test)
        if refused:
            self._refuse([(("statements", name, "sql"), why) for name, why in refused.items()])


class _OneTransaction(DescribedWorkload):
    """A workload whose tests have only one of their transactions each."""

    def __init__(self, workload: Workload, place: int) -> None:
        super().__init__(workload)
        self._place = place

    def test(self, name: str, dbms: Dbms, clients: int) -> described.TestOnDbms:
        whole = super().test(name, dbms, clients)
        return msgspec.structs.replace(whole, transactions=[whole.transactions[self._place]])


class _OneTable(DescribedWorkload):
    """A workload with one of its tables, some of its indexes, and no statements before loading."""

    def __init__(self, workload: Workload, name: str, indexes: int) -> None:
        super().__init__(workload)
        self._name = name
        self._indexes = indexes

    @property
    def names(self) -> list[str]:
        return [self._name]

    def tables(self, dbms: Dbms) -> described.Tables:
        [table] = [each for each in super().tables(dbms).tables if each.name == self._name]
        alone = msgspec.structs.replace(table, after=table.after[: self._indexes])
        return described.Tables(tables=[alone], before=[])


def _statements_alone(workload: Workload) -> Workload:
    """Return the workload with one test for each statement of each transaction."""
    tests: dict[str, TestTable] = {}
    for test in workload.file.tests:
        for transaction in workload.transactions(test):
            for name in dict.fromkeys(entry.statement for entry in transaction.entries):
                if name not in CONTROL:
                    place = ".".join((*map(str, transaction.keys), name))
                    tests[place] = TestTable(
                        statements=[EntryTable(statement=name)],
                        parameters=dict(transaction.parameters),
                        mix=None,
                    )
    return Workload(workload.file.model_copy(update={"tests": tests}), "", workload.origin)
