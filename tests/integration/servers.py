"""Small servers of any family."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen
from slowdust.dbms.environment import Environment
from slowdust.instances.instance import Instance
from slowdust.instances.rundir import RunDirectory
from slowdust.secret import revealed
from tests.integration.driver_process import Target


def small_instance(
    run: RunDirectory,
    build: Build,
    overrides: dict[str, str] | None = None,
    *,
    engine: str | None = None,
    access: Access | None = None,
    environment: Environment | None = None,
    delay_library: Path | None = None,
) -> Instance:
    """An instance with the small configuration, not started; `overrides` are settings."""
    kind = family(build.dbms)
    engine = kind.choose_engine(build, engine)
    return Instance.create(
        run,
        f"{build.dbms}@{build.version}",
        build,
        kind.settings("small", overrides or {}, 1, engine=engine),
        engine=engine,
        access=access,
        environment=environment,
        delay_library=delay_library,
    )


@contextlib.contextmanager
def new_instance(
    build: Build,
    overrides: dict[str, str],
    *,
    engine: str | None = None,
    access: Access | None = None,
    environment: Environment | None = None,
) -> Iterator[Instance]:
    """An instance that is not started yet, in a run of its own."""
    with RunDirectory.open("driver-tests") as run:
        yield small_instance(
            run, build, overrides, engine=engine, access=access, environment=environment
        )


@dataclass(frozen=True)
class Server:
    """An instance that runs, and the storage engine of the tables that are made there."""

    instance: Instance
    engine: str | None = None

    def target(self, **fields: object) -> Target:
        by_socket = {"host": None, "socket": str(self.instance.socket_dir)}
        target: Target = msgspec.to_builtins(self.instance.target(), enc_hook=revealed)
        engine = {"engine": self.engine} if self.engine else {}
        return target | engine | by_socket | fields

    def tcp_target(self, **fields: object) -> Target:
        return self.target(**{"socket": None, "host": "127.0.0.1"} | fields)

    @contextlib.contextmanager
    def killed_soon(self, by: signal.Signals) -> Iterator[None]:
        killer = threading.Timer(0.3, os.kill, [self.instance.pid, by])
        killer.start()
        yield
        killer.join()


POSTGRES = "postgres@17.6"
OLD_MYSQL, NEW_MYSQL = "mysql@5.5.9/innodb", "mysql@9.7.4/innodb"
MYSQL_BETWEEN = ("mysql@5.6.24/innodb", "mysql@5.7.22/innodb", "mysql@8.0.15/innodb")
"""Versions between `OLD_MYSQL` and `NEW_MYSQL`."""
ROCKSDB = "mariadb@10.11.18/rocksdb"
_WITH_ROCKSDB = ROCKSDB.partition("/")[0]
_SOON = {
    "postgres": {"deadlock_timeout": "10ms", "fsync": "off"},
    "mysql": {"innodb_lock_wait_timeout": "1"},
    "mariadb": {"innodb_lock_wait_timeout": "1"},
    "sqlite": {},
}
"""DBMS -> settings that keep tests from waiting long for a lock or the disk."""
_ACCESS = {
    "postgres": (Listen.LOOPBACK, Auth.TRUST),
    "mysql": (Listen.LOOPBACK, Auth.NATIVE),
    "mariadb": (Listen.LOOPBACK, Auth.NATIVE),
    "mysql@9.7.4": (Listen.LOOPBACK, Auth.CACHING_SHA2),
    "sqlite": (Listen.SOCKET, Auth.TRUST),
}
_HBA = """
local all hashed md5
local all scrammed scram-sha-256
local all all trust
host all scrammed 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""


@dataclass(frozen=True)
class SharedServers:
    """Servers for all tests of a process, each started when a test first asks for it.

    A test makes its own tables and changes nothing else. Postgres asks the roles `hashed` and
    `scrammed` for passwords; MySQL and MariaDB ask everyone.
    """

    run: RunDirectory
    get_build: Callable[[str, str], Build]
    running: dict[str, Instance] = field(default_factory=dict)

    def __call__(self, name: str) -> Server:
        """Return the server of DBMS@VERSION/ENGINE: one for all engines of a build."""
        contender, _, engine = name.partition("/")
        if contender not in self.running:
            self.running[contender] = self._start(contender)
        return Server(self.running[contender], engine or None)

    def _start(self, contender: str) -> Instance:
        dbms, _, version = contender.partition("@")
        instance = small_instance(
            self.run,
            self.get_build(dbms, version),
            _SOON[dbms],
            engine="rocksdb" if contender == _WITH_ROCKSDB else None,
            access=Access.make(*_ACCESS.get(contender, _ACCESS[dbms])),
        )
        if dbms == "postgres":
            (instance.data_dir / "pg_hba.conf").write_text(_HBA)
        instance.start()
        return instance
