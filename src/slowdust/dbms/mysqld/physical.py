"""What MySQL and MariaDB report of their engines' files and of their work."""

from __future__ import annotations

import re
from collections.abc import Sequence

from slowdust.dbms.stages import Row
from slowdust.store.preparation import LOG_BYTES, SERVER

INNODB_INDEXES = (
    "SELECT table_name, index_name, stat_name, stat_value FROM mysql.innodb_index_stats "
    "WHERE stat_name IN ('size', 'n_leaf_pages') AND database_name = DATABASE()"
)
"""The sizes in pages that the last ANALYZE counted; versions before 5.6 have none."""
INNODB_STATE = (
    "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'",
    "SHOW ENGINE INNODB STATUS",
)
ROCKSDB_FACTS = (
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
"""The statement whose answer `read_counters` reads."""


def history_length(status: Sequence[Row]) -> int | None:
    """Return the undo logs that are listed in InnoDB's status; None where they are not."""
    length = _HISTORY.search(text_of(status))
    return None if length is None else int(length.group(1))


def checkpoint_age(status: Sequence[Row]) -> int | None:
    """Return the bytes of the log behind the last checkpoint, by InnoDB's status."""
    text = text_of(status)
    end, checkpoint = _LOG_END.search(text), _CHECKPOINT.search(text)
    return int(end.group(1)) - int(checkpoint.group(1)) if end and checkpoint else None


def read_innodb_facts(answers: Sequence[Sequence[Row]]) -> dict[str, dict[str, float]]:
    """Read the answers to `INNODB_STATE`, and to `INNODB_INDEXES` of versions that have it."""
    dirty, status, *of_indexes = answers
    server = {} if not dirty else {"dirty_pages": float(dirty[0][1] or 0)}
    change_buffer = _CHANGE_BUFFER.search(text_of(status))
    of_status = {
        "undo_logs": history_length(status),
        "change_buffer_pages": None if change_buffer is None else int(change_buffer.group(1)),
        "checkpoint_age_bytes": checkpoint_age(status),
    }
    server |= {name: float(value) for name, value in of_status.items() if value is not None}
    facts: dict[str, dict[str, float]] = {SERVER: server}
    for rows in of_indexes:
        for table, index, name, value in rows:
            facts.setdefault(f"{table}.{index}", {})[_PAGES[str(name)]] = float(value or 0)
    return facts


def read_rocksdb_facts(answers: Sequence[Sequence[Row]]) -> dict[str, dict[str, float]]:
    """Read the answers to `ROCKSDB_FACTS`."""
    indexes, column_family, status = answers
    facts = {
        f"{table}.{index}": {"entries": float(entries or 0), "tombstones": float(deletes or 0)}
        for table, index, entries, deletes in indexes
    }
    facts[SERVER] = {
        _OF_COLUMN_FAMILY[str(name)]: float(value or 0) for name, value in column_family
    }
    of_tables = [row for row in status if row[:2] == ["CF_COMPACTION", "default"]]
    levels = [level for level in _LEVEL.findall(text_of(of_tables)) if int(level[1])]
    if of_tables:
        facts[SERVER] |= {
            "levels": float(len(levels)),
            "files": float(sum(int(files) for _, files, _, _ in levels)),
            "lsm_bytes": sum(float(size) * (1 << _SHIFTS[unit]) for _, _, size, unit in levels),
        }
    return facts


def read_counters(answers: Sequence[Sequence[Row]]) -> dict[str, float]:
    """Read the answer to `COUNTERS`: totals since the server's start."""
    totals: dict[str, float] = {}
    for name, value in answers[0]:
        if counted := _COUNTED.get(str(name).lower()):
            totals[counted] = totals.get(counted, 0.0) + float(value or 0)
    return totals


def text_of(rows: Sequence[Row]) -> str:
    """Return the fields of a status, which has few, long ones."""
    return "\n".join(field for row in rows for field in row if field)
