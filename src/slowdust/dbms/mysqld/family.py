"""The family of servers whose one process is mysqld, with a thread for each connection."""

from __future__ import annotations

import re
import signal
import socket
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.access import USER, Access, Auth, Listen, Target
from slowdust.dbms.family import Family, Row, Shutdown, Site, Sizes, Stage, Statements
from slowdust.dbms.mysqld.acceptance import accepted_settings
from slowdust.dbms.mysqld.creation import DATABASE, write_user_file
from slowdust.dbms.mysqld.engines import ENGINES, Engine
from slowdust.dbms.mysqld.layout import find_plugin
from slowdust.dbms.mysqld.options import as_arguments, option_file, place_options, setting_name
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.errors import SlowdustError, UsageError

ROCKSDB_PLUGIN = "ha_rocksdb.so"
_SOCKET = "mysql.sock"
_GREETING_BYTES = 5
_GREETING_TIMEOUT_S = 5.0
_PROTOCOL_VERSION = 10
_NO_EXTRAS = {"mysqlx": "0", "ssl": "0", "auto_generate_certs": "0"}
"""No second protocol, and no keys and certificates that would be made at the first start."""
_RUINOUS_STATES = (
    "HY001",  # out of memory
    *(f"HY000/{number}" for number in (
        1021,  # disk full
        1026,  # error writing a file
        1030,  # error from the storage engine
        1041,  # out of memory of the operating system
        1114,  # the table is full: of memory, or of the disk
        1290,  # the server runs read-only
    )),
)  # fmt: skip
_RSA_KEYS = ("caching_sha2_password", "sha256_password")


class MysqldFamily(Family):
    """See `Family`."""

    stop_signals: Mapping[Shutdown, tuple[signal.Signals, ...]] = {
        Shutdown.ORDERLY: (signal.SIGTERM, signal.SIGKILL),
        Shutdown.AT_ONCE: (signal.SIGKILL,),
    }
    ruinous_states = _RUINOUS_STATES
    engines = tuple(ENGINES)
    volatile_engines = frozenset({"memory"})

    @abstractmethod
    def auths(self, build: Build) -> frozenset[Auth]:
        """The ways in which servers of this build know their clients."""

    def render_bytes(self, size: int) -> str:
        """In whole megabytes; at least one."""
        return f"{max(1, size >> 20)}M"

    def setting_name(self, text: str) -> str:
        """Dashes and underscores are the same."""
        return setting_name(text)

    def lack_of_engine(self, build: Build, engine: str) -> str | None:
        """MyRocks is a plugin that most builds come without."""
        if engine != "rocksdb" or find_plugin(build, ROCKSDB_PLUGIN) is not None:
            return None
        return (
            f"{self.name} {build.version} comes without {ROCKSDB_PLUGIN}, so it has no engine "
            "rocksdb: the MariaDB builds from Debian have it"
        )

    def check_access(self, build: Build, access: Access) -> None:
        """What has no password needs no plugin."""
        if access.auth is not Auth.TRUST and access.auth not in self.auths(build):
            raise UsageError(
                f"{self.name} {build.facts.version} does not know authentication by "
                f"{access.auth.value}"
            )

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Asks the server, which lists its settings and checks values without starting."""
        return accepted_settings(build, account, settings)

    def configuration(self, site: Site) -> str:
        """An option file."""
        return option_file(site.build, site.settings.values)

    def server_command(self, site: Site) -> list[str]:
        """The server, which makes its user as it starts, before it accepts connections."""
        loopback = site.access.listen is Listen.LOOPBACK
        network = {"bind_address": "127.0.0.1"} if loopback else {"skip_networking": "1"}
        own = {
            **self.data_options(site),
            **network,
            "port": str(site.port),
            "socket": str(_socket_of(site)),
            "pid_file": str(_own_directory(site) / "mysqld.pid"),
            "init_file": str(self._user_file(site)),
        }
        return [*self.program_and_config(site), *as_arguments(own)]

    def program_and_config(self, site: Site) -> list[str]:
        """The beginning of every command that runs the server's program."""
        return [*site.build.command(site.build.server), f"--defaults-file={site.config_file}"]

    def data_options(self, site: Site) -> dict[str, str]:
        """What every run of the server on the data of a site is told."""
        rsa = "1" if site.access.auth is Auth.CACHING_SHA2 else "0"
        keys = {f"{plugin}_auto_generate_rsa_keys": rsa for plugin in _RSA_KEYS}
        return {
            "datadir": str(_data_directory(site)),
            **place_options(site.build, _own_directory(site)),
            # Loose: not all versions know them.
            **{f"loose_{name}": value for name, value in {**_NO_EXTRAS, **keys}.items()},
        }

    def prepare(self, site: Site) -> None:
        """Make the directories and the file that tells the server of its user."""
        for directory in (_data_directory(site), _own_directory(site)):
            directory.mkdir(mode=0o700)
            site.account.hand_over(directory)
        write_user_file(site, self._user_file(site))

    def is_ready(self, site: Site, pid: int) -> bool:
        """A server greets its clients; a socket that an earlier one left takes no connection."""
        del pid
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_GREETING_TIMEOUT_S)
            try:
                client.connect(str(_socket_of(site)))
                greeting = client.recv(_GREETING_BYTES, socket.MSG_WAITALL)
            except OSError:
                return False
        return len(greeting) == _GREETING_BYTES and greeting[-1] == _PROTOCOL_VERSION

    def target(self, site: Site) -> Target:
        """The socket, or 127.0.0.1 when TCP is asked for."""
        loopback = site.access.listen is Listen.LOOPBACK
        return Target(
            dbms=self.name,
            host="127.0.0.1" if loopback else None,
            socket=None if loopback else str(site.socket_dir),
            port=site.port,
            user=USER,
            password=site.access.password,
            database=DATABASE,
            engine=site.engine,
        )

    def telling_line(self, log: Sequence[str]) -> str | None:
        """The first error: those behind it follow from it."""
        pattern = re.compile(r"\[ERROR\]\s*(?:\[[^]]*\]\s*)*(.*)")
        errors = (found.group(1) for line in log if (found := pattern.search(line)))
        return next((error for error in errors if error and error != "Aborting"), None)

    def after_load(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """Statistics, and no dirty pages left from the load."""
        return self.after_writes(site, tables)

    def after_writes(self, site: Site, tables: Sequence[str]) -> list[Stage]:
        """Statistics, then what the engine owes."""
        analyze = Statements(tuple(f"ANALYZE TABLE {table}" for table in tables))
        return [analyze, *_engine_of(site).settle(site)]

    def sizes_statement(self, site: Site) -> str:
        """One row of bytes: tables, indexes."""
        return (
            "SELECT COALESCE(SUM(data_length), 0), COALESCE(SUM(index_length), 0) "
            f"FROM information_schema.tables WHERE table_schema = '{DATABASE}'"
        )

    def read_sizes(self, site: Site, rows: Sequence[Row]) -> Sizes:
        """See `sizes_statement`; what has no files is as large as its tables and indexes."""
        ((table, index),) = rows
        if table is None or index is None:
            raise SlowdustError(f"{self.name} tells no sizes: the answer has NULL")
        in_files = _engine_of(site).data_bytes(_data_directory(site))
        in_memory = int(table) + int(index)
        return Sizes(in_memory if in_files is None else in_files, int(table), int(index))

    def buffer_pool_statement(self, site: Site) -> str | None:
        """The buffer pool of InnoDB, the block cache of MyRocks."""
        setting = _engine_of(site).buffer_pool
        return None if setting is None else f"SELECT @@GLOBAL.{setting}"

    def settings_statement(self) -> str:
        """All."""
        return "SHOW GLOBAL VARIABLES"

    def _user_file(self, site: Site) -> Path:
        return _own_directory(site) / "user.sql"


def _data_directory(site: Site) -> Path:
    return site.data_dir / "data"


def _own_directory(site: Site) -> Path:
    """For all that is no data: a server takes any directory beside its data for a database."""
    return site.data_dir / "own"


def _socket_of(site: Site) -> Path:
    return site.socket_dir / _SOCKET


def _engine_of(site: Site) -> Engine:
    assert site.engine is not None
    return ENGINES[site.engine]
