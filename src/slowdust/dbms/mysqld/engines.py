"""Storage engines of mysqld: how they finish background work, and the sizes of their data."""

from __future__ import annotations

import contextlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from slowdust.dbms.family import Facts, Served
from slowdust.dbms.mysqld import waits
from slowdust.dbms.mysqld.settings import data_directory
from slowdust.dbms.stages import Query, Row, Stage, Statements, Waits, WaitUntil, WithSettings
from slowdust.directories import files_below
from slowdust.store.preparation import LOG_BYTES, SERVER
from slowdust.units import Second
from slowdust.versions import version_numbers

_LONGEST_WAIT: Second = 300.0
_LONGEST_PURGE: Second = 60.0
_FEW_DIRTY_PAGES = 10
"""Pages that an idle server keeps dirty."""
_SHORT_HISTORY = 100
"""Undo logs in a short list. Purged logs are removed in batches, so a longer list may be done."""
_LONGEST_CHECKPOINT: Second = 20.0
_SHORT_CHECKPOINT = 4 << 20
"""Bytes of the log. It is never 0: the server changes its own pages all the time."""
_PURGE_IS_IDLE = "state: running but idle"
_REPORTS_PURGE_SINCE = (5, 6)
_READINGS_WITHOUT_CHANGE = 15
"""Readings over a few seconds: idle servers of older versions purge once a second."""
_LOW_WATER_MARK_SINCE = (5, 6)
_PAGE_SIZES_SINCE = (5, 6)
_ONLY_PAGE_SIZE = 16384
_FLUSH_AT_FULL_SPEED = {"innodb_io_capacity_max": "40000", "innodb_io_capacity": "20000"}
_INDEX_SIZES_SINCE = (5, 6)
_FILE_PER_TABLE = "innodb_file_per_table"
_FILE_PER_TABLE_BY_DEFAULT_SINCE = (5, 6, 6)
_OFF = frozenset({"off", "false", "0"})
_IDLE_FLUSH = "innodb_idle_flush_pct"
"""A setting of some versions; if it is 0, an idle server ignores the limits of dirty pages."""

_INNODB_INDEXES = (
    "SELECT table_name, index_name, stat_name, stat_value FROM mysql.innodb_index_stats "
    "WHERE stat_name IN ('size', 'n_leaf_pages') AND database_name = DATABASE()"
)
"""The sizes in pages that the last ANALYZE counted, since 5.6."""
_INNODB_STATE = (
    "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'",
    "SHOW ENGINE INNODB STATUS",
)
_ROCKSDB_FACTS = (
    "SELECT d.table_name, d.index_name, SUM(m.num_rows), "
    "SUM(m.entry_deletes + m.entry_singledeletes) "
    "FROM information_schema.rocksdb_ddl d JOIN information_schema.rocksdb_index_file_map m "
    "ON m.index_number = d.index_number AND m.column_family = d.column_family "
    "WHERE d.table_schema = DATABASE() GROUP BY d.table_name, d.index_name",
    "SELECT stat_type, value FROM information_schema.rocksdb_cfstats WHERE cf_name = 'default' "
    "AND stat_type IN ('COMPACTION_PENDING', 'CUR_SIZE_ALL_MEM_TABLES')",
    "SHOW ENGINE ROCKSDB STATUS",
)
_PAGES = {"size": "allocated_pages", "n_leaf_pages": "leaf_pages"}
_HISTORY = re.compile(r"History list length (\d+)")
_CHANGE_BUFFER = re.compile(r"Ibuf: size (\d+)")
_LOG_END = re.compile(r"Log sequence number +(\d+)$", re.MULTILINE)
_CHECKPOINT = re.compile(r"Last checkpoint at +(\d+)$", re.MULTILINE)
_LEVEL = re.compile(r"^ +L(\d+) +(\d+)/\d+ +([\d.]+) ([KMGT])B", re.MULTILINE)
_SHIFTS = {"K": 10, "M": 20, "G": 30, "T": 40}
_OF_COLUMN_FAMILY = {
    "COMPACTION_PENDING": "compaction_pending",
    "CUR_SIZE_ALL_MEM_TABLES": "memtable_bytes",
}

_READS = ("first", "last", "key", "next", "prev", "rnd", "rnd_next")
_COUNTED = {
    **{f"handler_read_{kind}": "row_reads" for kind in _READS},
    **{f"handler_{kind}": "row_writes" for kind in ("write", "update", "delete")},
    "innodb_buffer_pool_read_requests": "page_reads",
    "innodb_os_log_written": LOG_BYTES,
}
COUNTERS = (
    "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Handler\\_%' "
    "OR Variable_name IN ('Innodb_buffer_pool_read_requests', 'Innodb_os_log_written')"
)


def _history_length(status: Sequence[Row]) -> int | None:
    """Return the number of undo logs in InnoDB's status; None if it is missing."""
    length = _HISTORY.search(_text_of(status))
    return None if length is None else int(length.group(1))


def _checkpoint_age(status: Sequence[Row]) -> int | None:
    """Return the bytes of the log since the last checkpoint, from InnoDB's status."""
    text = _text_of(status)
    end, checkpoint = _LOG_END.search(text), _CHECKPOINT.search(text)
    return int(end.group(1)) - int(checkpoint.group(1)) if end and checkpoint else None


def _read_innodb_facts(answers: Sequence[Sequence[Row]]) -> dict[str, dict[str, float]]:
    """Read the answers to `_INNODB_STATE` and, if asked, to `_INNODB_INDEXES`."""
    dirty, status, *of_indexes = answers
    server = {} if not dirty else {"dirty_pages": float(dirty[0][1] or 0)}
    change_buffer = _CHANGE_BUFFER.search(_text_of(status))
    of_status = {
        "undo_logs": _history_length(status),
        "change_buffer_pages": None if change_buffer is None else int(change_buffer.group(1)),
        "checkpoint_age_bytes": _checkpoint_age(status),
    }
    server |= {name: float(value) for name, value in of_status.items() if value is not None}
    facts: dict[str, dict[str, float]] = {SERVER: server}
    for rows in of_indexes:
        for table, index, name, value in rows:
            facts.setdefault(f"{table}.{index}", {})[_PAGES[str(name)]] = float(value or 0)
    return facts


def _read_rocksdb_facts(answers: Sequence[Sequence[Row]]) -> dict[str, dict[str, float]]:
    indexes, column_family, status = answers
    facts = {
        f"{table}.{index}": {"entries": float(entries or 0), "tombstones": float(deletes or 0)}
        for table, index, entries, deletes in indexes
    }
    facts[SERVER] = {
        _OF_COLUMN_FAMILY[str(name)]: float(value or 0) for name, value in column_family
    }
    of_tables = [row for row in status if row[:2] == ["CF_COMPACTION", "default"]]
    levels = [level for level in _LEVEL.findall(_text_of(of_tables)) if int(level[1])]
    if of_tables:
        facts[SERVER] |= {
            "levels": float(len(levels)),
            "files": float(sum(int(files) for _, files, _, _ in levels)),
            "lsm_bytes": sum(float(size) * (1 << _SHIFTS[unit]) for _, _, size, unit in levels),
        }
    return facts


def read_counters(answers: Sequence[Sequence[Row]]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for name, value in answers[0]:
        if counted := _COUNTED.get(str(name).lower()):
            totals[counted] = totals.get(counted, 0.0) + float(value or 0)
    return totals


def _text_of(rows: Sequence[Row]) -> str:
    """Return the text of a status, which has few long fields."""
    return "\n".join(field for row in rows for field in row if field)


class Engine(ABC):
    """A storage engine of MySQL and MariaDB."""

    buffer_pool: str | None
    """The setting for the size of the engine's page cache; None if it has none."""
    bytes_per_row: int
    log_at_commit: str | None = None
    """The setting for writing the log at commit; None if there is no log."""

    @abstractmethod
    def settle(self, site: Served) -> list[Stage]:
        """Return the stages that finish deferred work on rows before ANALYZE."""

    def write_out(self, site: Served) -> list[Stage]:
        """Return the stages that write dirty pages, so that the server then has nothing to do."""
        return []

    def facts(self, site: Served) -> Query[Facts] | None:
        """Return the query for physical facts; None if there are no files."""
        return None

    def before_sizes(self) -> list[Stage]:
        """Return the stages to run before ANALYZE so that it sees all rows."""
        return []

    def waits(self) -> list[Waits]:
        return []

    def data_files(self, site: Served, files: Path) -> list[Path]:
        """Return the files with tables, in the directory `files`; empty by default."""
        return []

    def page_size_statement(self, site: Served) -> str | None:
        """Return the statement for the page size in bytes; None if page sizes vary."""
        return None

    def data_bytes(self, site: Served) -> int | None:
        """Return the size of all files with tables; None if there are no files."""
        return None if site.files is None else _bytes_of(self.data_files(site, site.files))


class Innodb(Engine):
    """InnoDB, the default: pages in a buffer pool, changed in place."""

    buffer_pool = "innodb_buffer_pool_size"
    log_at_commit = "innodb_flush_log_at_trx_commit"
    bytes_per_row = 240

    def settle(self, site: Served) -> list[Stage]:
        reports_purge = version_numbers(site.version) >= _REPORTS_PURGE_SINCE
        is_purged = _is_purged if reports_purge else HistoryLength().has_settled
        return [
            WaitUntil(
                "old row versions are purged",
                "SHOW ENGINE INNODB STATUS",
                is_purged,
                _LONGEST_PURGE,
            )
        ]

    def write_out(self, site: Served) -> list[Stage]:
        """Write the dirty pages, and wait for the checkpoint that follows within seconds."""
        flushing = {"innodb_max_dirty_pages_pct": "0"}
        if version_numbers(site.version) >= _LOW_WATER_MARK_SINCE:
            low = {"innodb_max_dirty_pages_pct_lwm": "0"}
            flushing = {**low, **flushing, **_FLUSH_AT_FULL_SPEED}
        if _IDLE_FLUSH in site.settings.values:
            flushing[_IDLE_FLUSH] = "100"
        return [
            WithSettings(
                flushing,
                lambda name: f"SELECT @@GLOBAL.{name}",
                lambda name, value: f"SET GLOBAL {name} = {value}",
                (
                    WaitUntil(
                        "the dirty pages are written",
                        "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'",
                        lambda rows: all(int(row[1] or 0) <= _FEW_DIRTY_PAGES for row in rows),
                        _LONGEST_WAIT,
                    ),
                ),
            ),
            WaitUntil(
                "the checkpoint has reached the written pages",
                "SHOW ENGINE INNODB STATUS",
                _is_checkpointed,
                _LONGEST_CHECKPOINT,
            ),
        ]

    def facts(self, site: Served) -> Query[Facts]:
        has_indexes = version_numbers(site.version) >= _INDEX_SIZES_SINCE
        indexes = (_INNODB_INDEXES,) if has_indexes else ()
        return Query((*_INNODB_STATE, *indexes), _read_innodb_facts)

    def data_files(self, site: Served, files: Path) -> list[Path]:
        """Return the tables' own files, and the system tablespace if it may contain tables."""
        directory = data_directory(files)
        common = [] if _has_file_per_table(site) else files_below(directory, "ibdata*")
        return [*files_below(directory, "*/*.ibd"), *common]

    def page_size_statement(self, site: Served) -> str | None:
        """Return the statement; versions before 5.6 always have pages of 16 KB."""
        if version_numbers(site.version) < _PAGE_SIZES_SINCE:
            return f"SELECT {_ONLY_PAGE_SIZE}"
        return "SELECT @@GLOBAL.innodb_page_size"


class Rocksdb(Engine):
    """MyRocks, a log-structured merge tree."""

    buffer_pool = "rocksdb_block_cache_size"
    log_at_commit = "rocksdb_flush_log_at_trx_commit"
    bytes_per_row = 120

    def settle(self, site: Served) -> list[Stage]:
        """Wait for compaction, flush the memtable, compact level 0, and wait again."""
        compacted = WaitUntil(
            "no compaction is pending",
            "SELECT COALESCE(SUM(value), 0) FROM information_schema.rocksdb_cfstats "
            "WHERE stat_type IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')",
            lambda rows: all(float(row[0] or 0) == 0 for row in rows),
            _LONGEST_WAIT,
        )
        flush = "SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1"
        return [compacted, Statements((flush,)), compacted]

    def facts(self, site: Served) -> Query[Facts]:
        return Query(_ROCKSDB_FACTS, _read_rocksdb_facts)

    def before_sizes(self) -> list[Stage]:
        """Flush the memtable: ANALYZE reads only the sorted files."""
        return [Statements(("SET GLOBAL rocksdb_force_flush_memtable_now = 1",))]

    def waits(self) -> list[Waits]:
        return [waits.ROCKSDB_ROW_LOCKS]

    def data_files(self, site: Served, files: Path) -> list[Path]:
        """Return the sorted files, which all tables share."""
        return files_below(data_directory(files), "#rocksdb/*.sst")


class Memory(Engine):
    """The MEMORY engine (Heap): hash tables that are empty after a restart."""

    buffer_pool = None
    bytes_per_row = 4200
    """Rows have a fixed length, with space for the longest value of each column."""

    def settle(self, site: Served) -> list[Stage]:
        return []

    def data_bytes(self, site: Served) -> None:
        del site


ENGINES: Mapping[str, Engine] = {"innodb": Innodb(), "rocksdb": Rocksdb(), "memory": Memory()}


def _bytes_of(files: Iterable[Path]) -> int:
    """Add up the files that still exist: a running server may delete some."""
    total = 0
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            total += file.lstat().st_size
    return total


def _has_file_per_table(site: Served) -> bool:
    value = site.settings.values.get(_FILE_PER_TABLE)
    if value is None:
        return version_numbers(site.version) >= _FILE_PER_TABLE_BY_DEFAULT_SINCE
    return value.lower() not in _OFF


class HistoryLength:
    """The history list's length over time, for servers that do not report the purge's state."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._unchanged = 0

    def has_settled(self, rows: Sequence[Row]) -> bool:
        """Return whether the list is short or has stopped shrinking; call it with each status."""
        length = _history_length(rows)
        self._unchanged = self._unchanged + 1 if length == self._last else 0
        self._last = length
        is_short = length is None or length <= _SHORT_HISTORY
        return is_short or self._unchanged >= _READINGS_WITHOUT_CHANGE


def _is_purged(rows: Sequence[Row]) -> bool:
    length = _history_length(rows)
    is_idle = _PURGE_IS_IDLE in _text_of(rows)
    return length is None or length <= _SHORT_HISTORY or is_idle


def _is_checkpointed(rows: Sequence[Row]) -> bool:
    age = _checkpoint_age(rows)
    return age is None or age <= _SHORT_CHECKPOINT
