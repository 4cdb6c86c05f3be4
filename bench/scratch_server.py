"""A throw-away Postgres server for benchmarks of Slowdust itself."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slowdust import builds
from slowdust.dbms import family
from slowdust.dbms.instance import Instance
from slowdust.dbms.rundir import RunDirectory


@dataclass(frozen=True)
class Server:
    """A running server, reached by the Unix socket in `directory` without a password."""

    dbms: str
    directory: Path
    port: int
    user: str
    database: str
    pid: int

    def use_processors(self, processors: frozenset[int]) -> None:
        """Confine the sessions that begin from now on.

        Processes and threads inherit it from the one that makes them; threads that the server
        keeps for its next sessions have to be told.
        """
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), processors)


@contextlib.contextmanager
def scratch_server(version: str) -> Iterator[Server]:
    """Start a Postgres of the catalog; remove it after."""
    build = builds.resolve("postgres", version, lambda phase: print(phase, file=sys.stderr))
    with RunDirectory.open("bench") as run:
        settings = family(build.dbms).settings("default", {}, side_by_side=1)
        instance = Instance.create(run, "bench", build, settings)
        instance.start()
        target = instance.target()
        assert target.socket is not None
        yield Server(
            target.dbms,
            Path(target.socket),
            target.port,
            target.user,
            target.database,
            instance.pid,
        )
