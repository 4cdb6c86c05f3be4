"""Sites of MySQL and MariaDB without a server."""

from __future__ import annotations

import os
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Access
from slowdust.dbms.family import Site
from slowdust.dbms.settings import AcceptedSettings
from slowdust.store.manifest import BuildFacts

MYSQL = family("mysql")
MARIADB = family("mariadb")


def build_of(dbms: str, version: str, root: Path = Path("/b")) -> Build:
    facts = BuildFacts(source="directory", version=version, sha256="", binary_bytes=1)
    return Build(dbms, version, root, "directory", root / "bin/mysqld", facts)


def site_of(
    folder: Path, build: Build, access: Access | None = None, engine: str = "innodb"
) -> Site:
    return Site(
        build=build,
        account=Account("me", os.getuid(), os.getgid()),
        data_dir=folder,
        config_file=folder / "server.conf",
        socket_dir=folder,
        port=5432,
        access=access or Access(),
        settings=AcceptedSettings({"innodb_max_dirty_pages_pct": "90"}, (), {}),
        engine=engine,
    )
