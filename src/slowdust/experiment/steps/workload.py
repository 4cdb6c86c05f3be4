"""How large the Insert Benchmark is: its workloads in rows, and the disk that they take."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.benchmarks.insert import InsertStep, Kind
from slowdust.errors import UsageError
from slowdust.experiment.driver.protocol import Partitions
from slowdust.experiment.spec.insert_spec import InsertSpec
from slowdust.store.manifest import InsertMethod
from slowdust.units import Second

_WRITE_STEPS = ("l.i0", "l.i1", "l.i2")
_BESIDE_THE_TABLES = 1.0
"""Times the tables: files of the sorts that make indexes, and what is deleted and still there."""
_LOG = 2.0
"""Times the tables, up to `_MOST_LOG`."""
_MOST_LOG = 10 << 30
_GB = 1 << 30


@dataclass(frozen=True)
class _Preset:
    """A workload: rows of l.i0 over all clients, those of l.i1 and l.i2 relative to them."""

    of_pool: float | None
    """Size of the tables with their indexes / buffer pool; None: `rows`, whatever the pool."""
    rows: int
    first: float
    second: float
    seconds: Second
    incarnations: int


# What l.i1 and l.i2 insert relative to l.i0, and the seconds, are those of the published runs:
# cached 20M, 40M, 10M; less IO-bound 64M, 4M, 1M; more IO-bound 200M, 4M, 1M.
_PRESETS = {
    "quick": _Preset(None, 400_000, 3 / 8, 1 / 10, 4.0, 3),
    "cached": _Preset(0.5, 0, 2.0, 0.5, 1800.0, 2),
    "less-io-bound": _Preset(3.0, 0, 1 / 16, 1 / 64, 1800.0, 2),
    "more-io-bound": _Preset(10.0, 0, 1 / 50, 1 / 200, 1800.0, 2),
}


@dataclass(frozen=True)
class Server:
    """What a workload has to know of a contender."""

    bytes_per_row: int
    """Of a row in its table and in the three indexes."""
    buffer_pool_bytes: int | None


@dataclass(frozen=True)
class Workload:
    """The Insert Benchmark of one experiment, in rows."""

    options: InsertSpec
    pool_bytes: int | None
    """The smallest buffer pool of the contenders; None where none has one."""
    bytes_per_row: int
    """Of the contender that takes most."""

    @property
    def seconds(self) -> Second:
        """Of each step with queries."""
        return self.options.seconds or self._preset.seconds

    @property
    def incarnations(self) -> int:
        """Restarts that are planned unless the user says how many."""
        return self._preset.incarnations

    def rows(self, clients: int) -> dict[str, int]:
        """Step -> rows that each of so many clients inserts.

        Raises:
            UsageError: the workload is relative to buffer pools, and the contenders have none.
        """
        given = self.options.rows or [max(100, self._rows_of_preset() // clients)]
        loaded = given[0]
        usual = [loaded, round(loaded * self._preset.first), round(loaded * self._preset.second)]
        rows = [*given, *(max(1, number) for number in usual[len(given) :])]
        return dict(zip(_WRITE_STEPS, rows, strict=True))

    def rows_per_commit(self, step: InsertStep) -> int:
        """Rows of each statement that inserts or deletes."""
        return self._by_step()["q" if step.queries else step.name]

    def inserted_in(self, step: InsertStep, clients: int) -> int:
        """Rows that each client inserts in a step, if it can; at a rate, in whole commits."""
        if step.rate is not None:
            rows = self.rows_per_commit(step)
            return math.ceil(step.rate * self.seconds / rows) * rows
        return 0 if step.kind is Kind.INDEX else self.rows(clients)[step.name]

    def partitions(self, steps: Iterable[InsertStep], clients: int) -> Partitions | None:
        """Of each table: equal ranges of all keys that it will ever have; None where not asked."""
        count = self.options.partitions
        if not count:
            return None
        of_client = sum(self.inserted_in(step, clients) for step in steps)
        keys = of_client * clients // self.options.tables(clients)
        return Partitions(count=count, rows_each=max(1, -(-keys // count)))

    def method(self, levels: Sequence[int]) -> InsertMethod:
        """What the manifest says of it, for the numbers of clients of an experiment."""
        options = self.options
        return InsertMethod(
            workload=options.workload,
            rows={
                f"{step}@{clients}": rows
                for clients in levels
                for step, rows in self.rows(clients).items()
            },
            rows_per_commit=self._by_step(),
            seconds=self.seconds,
            shared_table=options.shares_table,
            partitions=options.partitions,
            long_transaction_s=options.long_transaction,
            statements=options.statements,
        )

    def check_room(self, levels: Sequence[int], servers: Sequence[Server], directory: Path) -> None:
        """Refuse what would fill the disk on which all contenders have their data.

        It is an estimate without a margin: the logs of changes count as often as the tables, up to
        10 GB each; a binlog that grows beyond that, the servers' error logs, the results and what
        other programs write meanwhile do not count.

        Raises:
            UsageError: says what is needed, and what is there.
        """
        rows = max(self.rows(clients)["l.i0"] * clients for clients in levels)
        needed = sum(_bytes_of_server(rows * server.bytes_per_row) for server in servers)
        free = shutil.disk_usage(directory).free
        if needed > free:
            raise UsageError(
                f"{rows:,} rows take about {needed / _GB:,.1f} GB with indexes, logs and what is "
                f"deleted, for {len(servers)} contender(s), and {free / _GB:,.1f} GB are free: "
                f"choose fewer --rows, a smaller --workload or buffer pool, or another disk "
                f"(SLOWDUST_DATA)"
            )

    @property
    def _preset(self) -> _Preset:
        return _PRESETS[self.options.workload]

    def _by_step(self) -> dict[str, int]:
        names = (*_WRITE_STEPS, "q")
        return dict(zip(names, self.options.rows_per_commit, strict=True))

    def _rows_of_preset(self) -> int:
        if self._preset.of_pool is None:
            return self._preset.rows
        if self.pool_bytes is None:
            raise UsageError(
                f"the workload {self.options.workload} is relative to the servers' buffer pools, "
                f"and these contenders have none: say how many --rows"
            )
        return round(self._preset.of_pool * self.pool_bytes / self.bytes_per_row)


def workload_for(options: InsertSpec, servers: Sequence[Server]) -> Workload:
    """The workload that suits all of the servers: it has as many rows for each."""
    pools = [pool for server in servers if (pool := server.buffer_pool_bytes) is not None]
    return Workload(
        options,
        min(pools, default=None),
        max(server.bytes_per_row for server in servers),
    )


def _bytes_of_server(tables: int) -> float:
    return tables * (1 + _BESIDE_THE_TABLES) + min(tables * _LOG, _MOST_LOG)
