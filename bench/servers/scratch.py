"""A temporary server for benchmarks of Slowdust itself."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slowdust import builds
from slowdust.benchmarks.model import DEFAULT_CONFIG
from slowdust.dbms import family
from slowdust.dbms.access import Target
from slowdust.instances.instance import Instance
from slowdust.instances.rundir import RunDirectory


@dataclass(frozen=True)
class Server:
    """A running server, reached by its Unix socket without a password."""

    target: Target
    pid: int

    @property
    def socket_directory(self) -> Path:
        """Directory of the server's Unix socket."""
        assert self.target.socket is not None
        return Path(self.target.socket)

    def use_processors(self, processors: frozenset[int]) -> None:
        """Confine all future sessions to processors.

        New processes and threads inherit the affinity; existing threads, which the server may use
        for future sessions, are set.
        """
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):  # of a session that just ended
                os.sched_setaffinity(int(thread.name), processors)


@contextlib.contextmanager
def scratch_server(name: str) -> Iterator[Server]:
    """Start a build of the catalog, `DBMS@VERSION`, with Slowdust's settings; remove it later."""
    dbms, _, version = name.partition("@")
    build = builds.resolve(dbms, version, lambda phase: print(phase, file=sys.stderr))
    kind = family(dbms)
    engine = kind.choose_engine(build, None)
    settings = kind.settings(DEFAULT_CONFIG, {}, side_by_side=1, engine=engine)
    with RunDirectory.open("bench") as run:
        instance = Instance.create(run, "bench", build, settings, engine=engine)
        instance.start()
        yield Server(instance.target(), instance.pid)
