"""Small servers of any family."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Access
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
    """An instance that runs."""

    instance: Instance

    def target(self, **fields: object) -> Target:
        by_socket = {"host": None, "socket": str(self.instance.socket_dir)}
        target: Target = msgspec.to_builtins(self.instance.target(), enc_hook=revealed)
        return target | by_socket | fields

    def tcp_target(self, **fields: object) -> Target:
        return self.target(**{"socket": None, "host": "127.0.0.1"} | fields)

    @contextlib.contextmanager
    def killed_soon(self, by: signal.Signals) -> Iterator[None]:
        killer = threading.Timer(0.3, os.kill, [self.instance.pid, by])
        killer.start()
        yield
        killer.join()
