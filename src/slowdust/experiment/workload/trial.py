"""A workload tried out on a real server: each transaction is executed a few times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

import msgspec

from slowdust.benchmarks import described
from slowdust.benchmarks.described import DRIVER_BENCHMARK, Described
from slowdust.errors import UsageError
from slowdust.experiment.contender import ResolvedContender, RunningContender
from slowdust.experiment.driver.process import Data, Driver, TargetError
from slowdust.experiment.driver.protocol import Ran, Stop
from slowdust.experiment.setup import create_contenders, resolve_contenders
from slowdust.experiment.spec.errors import Keys, Options
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.experiment.view import View
from slowdust.experiment.workload.benchmark import OwnBenchmark
from slowdust.experiment.workload.described import DescribedWorkload
from slowdust.experiment.workload.file import EntryTable, TestTable
from slowdust.experiment.workload.sql import CONTROL
from slowdust.experiment.workload.workload import Workload
from slowdust.sql import Dbms
from slowdust.store.folder import Folder
from slowdust.temporary import temporary_folder
from slowdust.units import Second

OPERATIONS = 100
"""Executions of each transaction, unless they take too long."""
LONGEST: Second = 10.0
"""Time after which no execution of a transaction begins."""


@dataclass(frozen=True)
class Tried:
    """A transaction of a test, executed `OPERATIONS` times or for `LONGEST`."""

    test: str
    transaction: str
    operations: int
    rows: float
    """Rows that its statements returned or changed, per operation."""
    errors: dict[str, int]
    """State of the server's error, or what was wrong with a result -> how often."""


class _OneTransaction(DescribedWorkload):
    """A workload whose tests have one of their transactions each."""

    def __init__(self, workload: Workload, place: int) -> None:
        super().__init__(workload)
        self._place = place

    def test(self, name: str, dbms: Dbms, clients: int) -> described.TestOnDbms:
        whole = super().test(name, dbms, clients)
        return msgspec.structs.replace(whole, transactions=[whole.transactions[self._place]])


class _OneTable(DescribedWorkload):
    """A workload with one of its tables and some of its indexes, behind all that is before them."""

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


@dataclass(frozen=True)
class Trial:
    """A workload and a contender on which it is tried out."""

    benchmark: OwnBenchmark
    spec: Spec
    resolved: list[ResolvedContender]

    @classmethod
    def planned(cls, benchmark: OwnBenchmark, contender: str, view: View) -> Trial:
        """Return the trial, with the contender's build at hand.

        Raises:
            UsageError: the contender is unknown, or the workload is not written for its DBMS.
            SlowdustError: its build cannot be had.
        """
        name = f"check-{datetime.now():%Y%m%d-%H%M%S}"
        given = {"name": name, "contenders": [contender], "workload": benchmark}
        spec = parse_spec(given, Options())
        return cls(benchmark, spec, resolve_contenders(spec, view))

    def executed(self, view: View) -> Iterator[Tried]:
        """Load the tables, prepare each statement, and execute each transaction of each test.

        Raises:
            UsageError: the server refuses tables or statements: a line for each.
        """
        with temporary_folder() as logs, Driver(waiting=view.waiting) as driver:
            folder = Folder(logs / self.spec.name)
            folder.logs.mkdir(parents=True)
            with create_contenders(self.resolved, driver, folder, view) as contenders:
                contenders.start()
                [running] = contenders.running()
                view.phase(f"loading {running.name}")
                whole = DescribedWorkload(self.benchmark.workload)
                try:
                    driver.load(running.target, _data(whole, self.spec.seed), view.progress)
                except TargetError as error:
                    self._explain(error, driver, running, whole)
                self._refuse_unprepared(driver, running)
                yield from self._transactions(driver, running)

    def _explain(
        self, refused: TargetError, driver: Driver, running: RunningContender, whole: Described
    ) -> NoReturn:
        """Raise the error of a load with the place of what the server refuses."""
        if refused.kind != "server":
            raise refused
        wrong: list[tuple[Keys, TargetError]] = []
        for place, text in enumerate(whole.tables(running.family).before):
            try:
                driver.sql(running.target, [text])
            except TargetError as error:
                # Others are refused because they were executed before.
                if str(error) == str(refused):
                    keys = ("before", running.target.dbms, place)
                    wrong.append((keys, error))
        for name in [] if wrong else whole.names:
            wrong += self._wrong_in(name, driver, running)
        if not wrong:
            raise refused
        origin = self.benchmark.workload.origin
        lines = (f"{origin.name(keys)}: {' '.join(str(why).split())}" for keys, why in wrong)
        raise UsageError("\n".join(lines)) from refused

    def _wrong_in(
        self, name: str, driver: Driver, running: RunningContender
    ) -> list[tuple[Keys, TargetError]]:
        """Return the keys and the error of what the server refuses of a table, if it does."""

        def refused(indexes: int) -> TargetError | None:
            data = _data(_OneTable(self.benchmark.workload, name, indexes), self.spec.seed)
            try:
                driver.load(running.target, data, lambda _loaded, _rate: None)
            except TargetError as error:
                return error
            return None

        count = len(self.benchmark.workload.file.tables[name].indexes)
        if (error := refused(count)) is None:
            return []
        for indexes in range(count):
            if (earlier := refused(indexes)) is not None:
                error, count = earlier, indexes
                break
        return [(("tables", name, *(("indexes", count - 1) if count else ())), error)]

    def _refuse_unprepared(self, driver: Driver, running: RunningContender) -> None:
        """Refuse statements that the server does not prepare."""
        workload = self.benchmark.workload
        alone = _statements_alone(workload)
        data = _data(DescribedWorkload(alone), self.spec.seed)
        refused: dict[str, str] = {}
        for test in alone.file.tests:
            [transaction] = alone.transactions(test)
            try:
                driver.open(test, running.target, data, test=test, clients=1)
            except TargetError as error:
                refused.setdefault(transaction.entries[0].statement, str(error))
            else:
                driver.close(test)
        if refused:
            places = {name: workload.origin.name(("statements", name, "sql")) for name in refused}
            lines = (f"{places[name]}: {' '.join(why.split())}" for name, why in refused.items())
            raise UsageError("\n".join(lines))

    def _transactions(self, driver: Driver, running: RunningContender) -> Iterator[Tried]:
        workload = self.benchmark.workload
        for test in self.benchmark.tests:
            for place, transaction in enumerate(workload.transactions(test.name)):
                data = _data(_OneTransaction(workload, place), self.spec.seed)
                ran = _executed(driver, running, data, test.name)
                rows = ran.rows / max(1, ran.operations)
                (done,) = ran.positions  # those that failed, too
                yield Tried(test.name, transaction.name, done, rows, ran.errors)


def _statements_alone(workload: Workload) -> Workload:
    """Return the workload with a test for each statement, and for each transaction that has it."""
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
    file = workload.file.model_copy(update={"tests": tests})
    return Workload(file, "", workload.origin)


def _data(whole: Described, seed: int) -> Data:
    return Data(1, 1, seed, DRIVER_BENCHMARK, described=whole)


def _executed(driver: Driver, running: RunningContender, data: Data, test: str) -> Ran:
    driver.open(test, running.target, data, test=test, clients=1)
    ran = driver.run(test, Stop(seconds=LONGEST, positions=[OPERATIONS]))
    driver.close(test)
    return ran
