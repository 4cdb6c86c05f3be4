"""Storage engines: how their debts are paid, and how much they store."""

from __future__ import annotations

import contextlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from slowdust.dbms.family import Row, Site, Stage, Statements, Temporarily, Until
from slowdust.dbms.mysqld.layout import version_of
from slowdust.dbms.mysqld.own import data_directory
from slowdust.units import Second

_PATIENCE: Second = 300.0
_PATIENCE_WITH_PURGE: Second = 60.0
_FEW_DIRTY_PAGES = 10
"""A server keeps some pages of its own dirty."""
_SHORT_HISTORY = 100
"""Undo logs. What is purged leaves the list in batches, so a longer one may be done with too."""
_PURGE_IS_IDLE = "state: running but idle"
_TELLS_PURGE_SINCE = (5, 6, 0)
_LOOKS_WITHOUT_CHANGE = 15
"""Some seconds: older servers purge once a second when they are idle."""
_LOW_WATER_MARK_SINCE = (5, 6, 0)
_HISTORY = re.compile(r"History list length (\d+)")
_FLUSH_AT_FULL_SPEED = {"innodb_io_capacity_max": "40000", "innodb_io_capacity": "20000"}
_FILE_PER_TABLE = "innodb_file_per_table"
_FILE_PER_TABLE_BY_DEFAULT_SINCE = (5, 6, 6)
_OFF = frozenset({"off", "false", "0"})
_OF_IDLE_SERVERS = "innodb_idle_flush_pct"
"""Not all versions have it; where it is 0, limits mean nothing to a server without work."""


class Engine(ABC):
    """A storage engine of MySQL and MariaDB."""

    buffer_pool: str | None
    """The setting that is the size of its cache of pages; None where it has none."""
    bytes_per_purchase: int
    """See `Family.bytes_per_purchase`."""

    @abstractmethod
    def settle(self, site: Site) -> list[Stage]:
        """Pay the debt of the writes: afterwards an idle server does nothing."""

    def before_sizes(self) -> list[Stage]:
        """What ANALYZE needs to find all that is stored."""
        return []

    @abstractmethod
    def data_bytes(self, site: Site) -> int | None:
        """The size of all files in which it keeps tables; None where it keeps them in none."""


class Innodb(Engine):
    """The default; a buffer pool of pages, changed in place."""

    buffer_pool = "innodb_buffer_pool_size"
    bytes_per_purchase = 240

    def settle(self, site: Site) -> list[Stage]:
        """Wait for the purge of old versions, then write the dirty pages."""
        flushing = {"innodb_max_dirty_pages_pct": "0"}
        if version_of(site.build) >= _LOW_WATER_MARK_SINCE:
            low = {"innodb_max_dirty_pages_pct_lwm": "0"}
            flushing = {**low, **flushing, **_FLUSH_AT_FULL_SPEED}
        if _OF_IDLE_SERVERS in site.settings.values:
            flushing[_OF_IDLE_SERVERS] = "100"
        return [
            Until(
                "old versions of rows are purged",
                "SHOW ENGINE INNODB STATUS",
                _is_purged if version_of(site.build) >= _TELLS_PURGE_SINCE else Shrinking().ended,
                _PATIENCE_WITH_PURGE,
            ),
            Temporarily(
                flushing,
                _read_global,
                _write_global,
                (
                    Until(
                        "the dirty pages are written",
                        "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'",
                        _is_clean,
                        _PATIENCE,
                    ),
                ),
            ),
        ]

    def data_bytes(self, site: Site) -> int:
        """One file a table; without them the system tablespace, of which a part is its own."""
        directory = data_directory(site)
        common = [] if _has_file_per_table(site) else directory.glob("ibdata*")
        return _bytes_of([*directory.glob("*/*.ibd"), *common])


class Rocksdb(Engine):
    """MyRocks: a log-structured merge tree."""

    buffer_pool = "rocksdb_block_cache_size"
    bytes_per_purchase = 120

    def settle(self, site: Site) -> list[Stage]:
        """Wait for compaction, flush the memtable, compact level 0, and wait again."""
        del site
        compacted = Until(
            "compaction has nothing to do",
            "SELECT COALESCE(SUM(value), 0) FROM information_schema.rocksdb_cfstats "
            "WHERE stat_type IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')",
            _is_nothing,
            _PATIENCE,
        )
        flush = "SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1"
        return [compacted, Statements((flush,)), compacted]

    def before_sizes(self) -> list[Stage]:
        """ANALYZE looks at the sorted files alone: the memtable becomes one."""
        return [Statements(("SET GLOBAL rocksdb_force_flush_memtable_now = 1",))]

    def data_bytes(self, site: Site) -> int:
        """The sorted files of all tables, which share them."""
        return _bytes_of(data_directory(site).glob("#rocksdb/*.sst"))


class Memory(Engine):
    """Heap: hash tables that a restart empties."""

    buffer_pool = None
    bytes_per_purchase = 4200
    """Of fixed length: the longest value of each column."""

    def settle(self, site: Site) -> list[Stage]:
        """It has no debts."""
        del site
        return []

    def data_bytes(self, site: Site) -> None:
        """It has no files."""
        del site


ENGINES: Mapping[str, Engine] = {"innodb": Innodb(), "rocksdb": Rocksdb(), "memory": Memory()}


def _bytes_of(files: Iterable[Path]) -> int:
    """Of those that are still there: a server at work deletes some."""
    total = 0
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            total += file.stat().st_size
    return total


def _has_file_per_table(site: Site) -> bool:
    value = site.settings.values.get(_FILE_PER_TABLE)
    if value is None:
        return version_of(site.build) >= _FILE_PER_TABLE_BY_DEFAULT_SINCE
    return value.lower() not in _OFF


def _read_global(name: str) -> str:
    return f"SELECT @@GLOBAL.{name}"


def _write_global(name: str, value: str) -> str:
    return f"SET GLOBAL {name} = {value}"


class Shrinking:
    """Whether the history list of a server that does not tell has ended to become shorter."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._unchanged = 0

    def ended(self, rows: Sequence[Row]) -> bool:
        """To be asked again and again with the rows of the server's status."""
        length = _history_length(rows)
        self._unchanged = self._unchanged + 1 if length == self._last else 0
        self._last = length
        is_short = length is None or length <= _SHORT_HISTORY
        return is_short or self._unchanged >= _LOOKS_WITHOUT_CHANGE


def _is_purged(rows: Sequence[Row]) -> bool:
    length = _history_length(rows)
    return length is None or length <= _SHORT_HISTORY or _PURGE_IS_IDLE in _text(rows)


def _history_length(rows: Sequence[Row]) -> int | None:
    found = _HISTORY.search(_text(rows))
    return None if found is None else int(found.group(1))


def _text(rows: Sequence[Row]) -> str:
    return "\n".join(field for row in rows for field in row if field)


def _is_clean(rows: Sequence[Row]) -> bool:
    return all(int(row[1] or 0) <= _FEW_DIRTY_PAGES for row in rows)


def _is_nothing(rows: Sequence[Row]) -> bool:
    return all(float(row[0] or 0) == 0 for row in rows)
