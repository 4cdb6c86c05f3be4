"""What PostgreSQL reports of its files and of its work.

The height of a B-tree is read from its first page on disk, which needs no extension; the page is
current after a checkpoint. Its layout: `BTMetaPageData` in src/include/access/nbtree.h.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.dbms.stages import Row
from slowdust.store.preparation import LOG_BYTES, SERVER

_LEVEL_AT = 24 + 12
"""Offset of the root's level: behind the page header, the magic number, version and root block.

Its least significant byte comes first on the processors that there are builds for."""

FACTS = (
    "SELECT c.relname, t.relname, "
    "pg_relation_size(c.oid) / current_setting('block_size')::int, "
    "c.relpages - c.relallvisible, c.reltuples, s.n_dead_tup, "
    "CASE WHEN a.amname = 'btree' AND c.relkind = 'i' THEN 1 + "
    f"get_byte(pg_read_binary_file(pg_relation_filepath(c.oid), {_LEVEL_AT}, 4), 0) END "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid "
    "LEFT JOIN pg_am a ON a.oid = c.relam LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid "
    "WHERE c.relkind IN ('r', 'i') AND n.nspname <> 'information_schema' "
    "AND n.nspname NOT LIKE 'pg\\_%'",
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) FROM pg_control_checkpoint()",
)
"""The statements whose answers `read_facts` reads."""
_OF_TABLE = ("pages", "pages_not_all_visible", "rows", "dead_rows")

COUNTERS = (
    "SELECT sum(heap_blks_read + heap_blks_hit), sum(idx_blks_read + idx_blks_hit), "
    "(SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables), "
    "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') FROM pg_statio_user_tables"
)
"""The statement whose answer `read_counters` reads."""
_COUNTED = ("heap_blocks", "index_blocks", "rows_fetched", LOG_BYTES)


def read_facts(answers: Sequence[Sequence[Row]]) -> dict[str, dict[str, float]]:
    """Read the answers to `FACTS`."""
    relations, ((checkpoint_age,),) = answers
    facts: dict[str, dict[str, float]] = {}
    for name, table, pages, *of_table, height in relations:
        if table is None:
            known = zip(_OF_TABLE, (pages, *of_table), strict=True)
            facts[f"{name}"] = {key: float(value) for key, value in known if value is not None}
        else:
            facts[f"{table}.{name}"] = {"pages": float(pages or 0)}
            if height is not None:
                facts[f"{table}.{name}"]["height"] = float(height)
    if checkpoint_age is not None:
        facts[SERVER] = {"checkpoint_age_bytes": float(checkpoint_age)}
    return facts


def read_counters(answers: Sequence[Sequence[Row]]) -> dict[str, float]:
    """Read the answer to `COUNTERS`: totals since the server's statistics began."""
    ((row,),) = answers
    return {
        name: float(value) for name, value in zip(_COUNTED, row, strict=True) if value is not None
    }
