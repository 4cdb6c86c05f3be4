"""MariaDB, 10.1 and newer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from slowdust.builds.model import Build
from slowdust.dbms import reserved
from slowdust.dbms.access import Auth
from slowdust.dbms.family import Site
from slowdust.dbms.mysql import SQL, MysqldFamily, mysqld_by_url
from slowdust.sql import (
    IVFFLAT,
    VECTOR,
    Encoding,
    IndexOptions,
    VectorIndexes,
    index_name,
)
from slowdust.versions import version_numbers, version_order

_GLOBAL_PRIV_SINCE = (10, 4)


class VectorsOfMariadb(VectorIndexes):
    """VECTOR INDEX of MariaDB, since 11.7."""

    encoding: Encoding = "bytes"
    cannot: ClassVar = {IVFFLAT: "MariaDB has no IVFFlat"}
    _FUNCTIONS: ClassVar = {"l2": "VEC_DISTANCE_EUCLIDEAN", "cosine": "VEC_DISTANCE_COSINE"}
    _DISTANCES: ClassVar = {"l2": "euclidean", "cosine": "cosine"}
    _SINCE = "11.7"

    def distance(self, metric: str, vector: str) -> str:
        """Return a function by its name: the index is only used with that name."""
        return f"{self._FUNCTIONS[metric]}({VECTOR}, {vector})"

    def create(self, kind: str, table: str, options: IndexOptions) -> str:
        name = index_name(kind, table)
        distance = self._DISTANCES[options.metric]
        return f"CREATE VECTOR INDEX {name} ON {table} ({VECTOR}) M={options.m} DISTANCE={distance}"

    def drop(self, kind: str, table: str) -> str:
        return f"DROP INDEX {index_name(kind, table)} ON {table}"

    def session(self, kind: str, effort: int) -> list[str]:
        return [f"SET SESSION mhnsw_ef_search = {effort}"]

    def index_bytes(self, kind: str, table: str) -> str:
        return (
            "SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES "
            f"WHERE NAME LIKE CONCAT(DATABASE(), '/{table}#i#%')"
        )

    def refusal(
        self, version: str | None, root: Path | None, engine: str | None, metric: str
    ) -> str | None:
        if version and version_order(version) < version_order(self._SINCE):
            return f"MariaDB {version} has no vector indexes: choose {self._SINCE} or newer"
        if engine not in (None, "innodb"):
            return f"vector indexes of MariaDB need InnoDB, not {engine}"
        if metric not in self._FUNCTIONS:
            return f"MariaDB has no vector index for the metric {metric}"
        return None


class Mariadb(MysqldFamily):
    """MariaDB."""

    name = "mariadb"
    sql = dataclasses.replace(
        SQL, reserved=reserved.MARIADB, like="mysql", vectors=VectorsOfMariadb()
    )
    by_url = mysqld_by_url("mariadb")
    creates_users_since = (10, 1, 3)
    # Under valgrind a thread that waits for io_uring blocks all others, and the address space is
    # too small for the 8 TiB that newer versions reserve for a growing buffer pool.
    options_when_counted: tuple[str, ...] = (
        *MysqldFamily.options_when_counted,
        "--innodb-use-native-aio=0",
        "--loose-innodb-buffer-pool-size-max=1",
    )

    def auths(self, build: Build) -> Sequence[Auth]:
        return (Auth.NATIVE,)

    def table_of_users(self, site: Site) -> str:
        """Return the base table; `mysql.user` is a view since 10.4."""
        if version_numbers(site.version) >= _GLOBAL_PRIV_SINCE:
            return "mysql.global_priv"
        return super().table_of_users(site)


FAMILY = Mariadb()
