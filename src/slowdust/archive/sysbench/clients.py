"""The number of clients of a run or a table whose files lack it.

A test without one gets the number of other runs of the same test, or else of most tests of the run.
The exception is point-query.warm, which ran with a client for each table. Some numbers are only in
file names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.archive.sysbench.directories import Directory
from slowdust.archive.sysbench.names import clients_in_name, parse_file
from slowdust.archive.sysbench.run_directory import ArchivedTest, RunDirectory
from slowdust.archive.sysbench.tables import Hardware, usual_clients
from slowdust.benchmarks.sysbench import LOAD
from slowdust.text import beginning, readable
from slowdust.wording import counted

NOT_KNOWN = "the number of clients is in neither sb.met nor a name (dop40, 40u): give --clients"
_MOST_LISTED = 3
TestRun = tuple[str, str, int]
"""Run, test as in file names (or `LOAD`), clients."""


@dataclass(frozen=True)
class NamedClients:
    """A number of clients that only a name has, and that name: 'the directory dop8'."""

    count: int
    source: str


def notes_of_names(named: set[NamedClients]) -> list[str]:
    lines = []
    for count in sorted({clients.count for clients in named}):
        sources = sorted(clients.source for clients in named if clients.count == count)
        listed = beginning(sources, _MOST_LISTED)
        lines.append(
            f"{counted(count, 'client')}, from the name of {listed} (--clients overrides it)"
        )
    return lines


class _Clients:
    """The user's number, or else the number in the names of directories."""

    def __init__(self, directory: Directory, given: int | None) -> None:
        self.named: set[NamedClients] = set()
        """Numbers of clients that were taken from names."""
        self.given = given
        self._directories = [
            NamedClients(count, f"the directory {readable(path.name)}")
            for path in directory.around
            if (count := clients_in_name(path.name)) is not None
        ]

    def otherwise(self, *nearer: NamedClients) -> int | None:
        """Return the number if no file has it; `nearer` names precede directories."""
        if self.given is not None:
            return self.given
        for named in (*nearer, *self._directories):
            self.named.add(named)
            return named.count
        return None


class RunClients(_Clients):
    """The clients of the tests of runs, with notes on assumptions."""

    def __init__(
        self, directory: Directory, runs: Sequence[RunDirectory], given: int | None
    ) -> None:
        super().__init__(directory, given)
        self._assumed: dict[str, None] = {}
        self._levels: dict[str, Counter[int]] = {}
        files = [test.file for run in runs for test in run.tests.values() if not test.is_load]
        for table in directory.tables.of_kind(Hardware):
            names = dict.fromkeys([*table.blocks, *table.others.values()])
            files += [file for name in names if (file := parse_file(name)) is not None]
        for file in files:
            if file.dop:
                self._levels.setdefault(file.common, Counter())[file.dop] += 1

    @property
    def assumed(self) -> list[str]:
        return list(self._assumed)

    def of(self, run: RunDirectory, test: ArchivedTest) -> int | None:
        """Return the number of clients of a test; None if unknown."""
        if test.dop:
            return test.dop
        levels = None if test.is_load else self._levels.get(test.file.common)
        if levels:
            usual = usual_clients(sum(self._levels.values(), Counter()))
            likely = (count for count in (run.dop, usual) if count in levels)
            return next(likely, None) or usual_clients(levels)
        if test.is_load or (test.file.test, test.file.phase) != ("point-query", "warm"):
            return run.dop or self.otherwise()
        count, why = run.tables, "one for each table"
        if count is None:
            count, why = run.dop or self.otherwise(), "as in other tests, which is a guess"
        if count is not None:
            sentence = f"{test.file.suffix}: assumed to have {counted(count, 'client')}, {why}"
            self._assumed[sentence] = None
        return count


class TableClients(_Clients):
    """Numbers of clients for rows of tables; `known` are tests whose run files record theirs."""

    def __init__(self, directory: Directory, known: Iterable[TestRun], given: int | None) -> None:
        super().__init__(directory, given)
        self._loads: list[int] = []
        self._levels: dict[str, dict[str, set[int]]] = {}
        """Test as in file names -> run -> its numbers of clients."""
        for run, test, count in known:
            if test == LOAD:
                self._loads.append(count)
            else:
                self._levels.setdefault(test, {}).setdefault(run, set()).add(count)

    def of(self, path: Path, runs: Collection[str], common: str) -> int | None:
        """Return the number of clients of a test in a table of `runs`; None if unknown.

        A table has the number of most of its tests, except for tests that no run has at it.
        """
        if common not in self._levels:
            return self._of_table(path)
        levels, named = self._counted([common], runs), clients_in_name(path.name)
        if named in levels:
            return named
        usual = usual_clients(self._counted(self._levels, runs))
        return usual if usual in levels else usual_clients(levels)

    def of_load(self, path: Path, of_rows: Iterable[int]) -> int | None:
        """Return the number of other loads, else of most tests and rows: loads have no number."""
        counts = Counter(self._loads or [*of_rows, *self._counted(self._levels, ()).elements()])
        return usual_clients(counts) if counts else self._of_table(path)

    def _counted(self, tests: Iterable[str], runs: Collection[str]) -> Counter[int]:
        """Count the clients of tests of `runs`, or of all runs if these have none."""
        levels = [(run, counts) for test in tests for run, counts in self._levels[test].items()]
        mine = Counter(count for run, counts in levels if run in runs for count in counts)
        return mine or Counter(count for _, counts in levels for count in counts)

    def _of_table(self, path: Path) -> int | None:
        named = clients_in_name(path.name)
        nearer = [] if named is None else [NamedClients(named, readable(path.name))]
        if (count := self.otherwise(*nearer)) is not None:
            return count
        counts = self._counted(self._levels, ())
        return usual_clients(counts) if counts else None
