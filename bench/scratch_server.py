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

    directory: Path
    port: int
    user: str
    database: str
    pid: int

    def use_processors(self, processors: frozenset[int]) -> None:
        """Confine the sessions that begin from now on (the postmaster's children inherit it)."""
        os.sched_setaffinity(self.pid, processors)


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
        yield Server(Path(target.socket), target.port, target.user, target.database, instance.pid)
