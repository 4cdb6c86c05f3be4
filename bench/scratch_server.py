"""A throw-away Postgres server for benchmarks of Slowdust itself."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

PORT = 6499
SETTINGS = """
listen_addresses = ''
port = {port}
unix_socket_directories = '{directory}'
shared_buffers = 512MB
max_connections = 200
max_wal_size = 4GB
fsync = off
autovacuum = off
"""


@dataclass(frozen=True)
class Server:
    """A running server, reached by the Unix socket in `directory` without a password."""

    directory: Path
    port: int
    user: str
    database: str
    pid: int

    def use_processors(self, processors: frozenset[int]) -> None:
        """Confine the sessions that begin from now on (the postmaster's children inherit it)."""
        os.sched_setaffinity(self.pid, processors)


@contextlib.contextmanager
def scratch_server(build: Path) -> Iterator[Server]:
    """Start the server of `build`, a directory with bin/, in a new directory; remove it after."""
    directory = Path(tempfile.mkdtemp(prefix="slowdust-bench-", dir="/var/tmp"))
    account = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    os.chown(directory, account.pw_uid, account.pw_gid)
    try:
        data = directory / "data"
        init = [
            str(build / "bin/initdb"),
            "-D",
            str(data),
            "-A",
            "trust",
            "-U",
            "postgres",
            "--no-sync",
        ]
        subprocess.run(init, check=True, stdout=subprocess.DEVNULL, **_identity(account))
        settings = SETTINGS.format(port=PORT, directory=directory)
        with (data / "postgresql.conf").open("a") as configuration:
            configuration.write(settings)
        with (directory / "log").open("w") as log:
            process = subprocess.Popen(
                [build / "bin/postgres", "-D", data], stdout=log, stderr=log, **_identity(account)
            )
        try:
            _await_socket(directory / f".s.PGSQL.{PORT}", process)
            yield Server(directory, PORT, "postgres", "postgres", process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
    finally:
        shutil.rmtree(directory)


class _Identity(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[str | int]


def _identity(account: pwd.struct_passwd) -> _Identity:
    """A server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _await_socket(socket: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the server did not come up: see {socket.parent / 'log'}")
        time.sleep(0.05)
    time.sleep(0.5)
