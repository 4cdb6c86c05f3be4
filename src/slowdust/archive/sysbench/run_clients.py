"""How many clients the tests of runs had where their files do not say: sb.r.* have no such suffix.

As the other runs of the same test had; else as most tests of the run, but for point-query.warm,
which ran with a client for each table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from slowdust.archive.sysbench.run_directory import ArchivedTest, RunDirectory
from slowdust.archive.sysbench.scanning import Place
from slowdust.formats.sysbench import named_clients
from slowdust.formats.sysbench.named_clients import NamedClients
from slowdust.formats.sysbench.names import parse_file
from slowdust.wording import counted

_OF_EACH_TABLE = ("point-query", "warm")
"""Test and phase."""


class RunClients:
    """Of the runs of a place; what it assumes it notes."""

    def __init__(self, place: Place, runs: Sequence[RunDirectory], given: int | None) -> None:
        """`given` is what the user says."""
        self.named: set[NamedClients] = set()
        """Numbers that only names told."""
        self._assumed: dict[str, None] = {}
        self._given = given
        self._around = place.around
        self._levels: dict[str, Counter[int]] = {}
        tests = [test.file for run in runs for test in run.tests.values() if not test.is_load]
        blocks = [parse_file(name) for one in place.tables.hardware for name in one.table.blocks]
        for file in (*tests, *blocks):
            if file is not None and file.dop:
                self._levels.setdefault(file.common, Counter())[file.dop] += 1

    @property
    def assumed(self) -> list[str]:
        """Sentences."""
        return list(self._assumed)

    def of(self, run: RunDirectory, test: ArchivedTest) -> int | None:
        """None where nothing tells."""
        if test.dop:
            return test.dop
        levels = None if test.is_load else self._levels.get(test.file.common)
        if levels:
            usual = named_clients.most_common(sum(self._levels.values(), Counter()))
            told = (count for count in (run.dop, usual) if count in levels)
            return next(told, None) or named_clients.most_common(levels)
        if not test.is_load and (test.file.test, test.file.phase) == _OF_EACH_TABLE:
            return self._of_each_table(run, test)
        return run.dop or self._otherwise()

    def _of_each_table(self, run: RunDirectory, test: ArchivedTest) -> int | None:
        count, why = run.tables, "one for each table"
        if count is None:
            count, why = run.dop or self._otherwise(), "like other tests, though it may be another"
        if count is not None:
            told = f"{test.file.suffix}: taken to be at {counted(count, 'client')}, {why}"
            self._assumed[told] = None
        return count

    def _otherwise(self) -> int | None:
        if self._given is None and (named := named_clients.of_directories(self._around)):
            self.named.add(named)
            return named.count
        return self._given
