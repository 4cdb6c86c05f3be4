"""The contenders of a running experiment: their servers, and what happens when one fails."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Target
from slowdust.dbms.environment import Environment
from slowdust.dbms.family import Family, Shutdown, Sizes, Stage
from slowdust.errors import SlowdustError
from slowdust.experiment.driver.process import Data, Driver, TargetError
from slowdust.experiment.maintenance import carry_out
from slowdust.experiment.view import View
from slowdust.instances.instance import Instance, InstanceError
from slowdust.probes import probes_of
from slowdust.probes.probe import AnyProbe, Subject, attempt, use_between
from slowdust.probes.server.process import IdleServer, ServerProbe
from slowdust.units import Second

_LOG_LINES = 8
_DYING: Second = 1.0
"""How long a server whose connections broke may take to be seen dead."""
_IDLE_SHARE = 0.02
"""A server below this share of one CPU is idle."""
_IDLE_LOOKS = 3
_LOOK_EVERY: Second = 0.2
_FULL_RUN: Second = 3600.0
"""A budget from which on the waits for idle servers apply unscaled."""


@dataclass
class Contender:
    """One contender while its experiment runs."""

    name: str
    build: Build
    config: str
    engine: str | None = None
    """The storage engine of its tables; None where the DBMS has only one."""
    environment: Environment = field(default_factory=Environment)
    instance: Instance | None = None
    """None where its data directory could not be made."""
    failed: str | None = None
    """Why it dropped out, with the last lines of its log."""
    sizes: Sizes | None = None
    """After loading."""
    buffer_pool_bytes: int | None = None
    """The server's own page cache; None where it has none, or before loading."""
    probes: list[AnyProbe] = field(default_factory=list)
    """Those of its running server and of the host."""

    @property
    def family(self) -> Family:
        """What is special about servers of its kind."""
        return family(self.build.dbms)

    @property
    def server(self) -> Instance:
        """Its instance; only asked of contenders that have not failed."""
        assert self.instance is not None
        return self.instance

    @property
    def target(self) -> Target:
        """How to reach its server."""
        return self.server.target()

    @property
    def idle_probe(self) -> IdleServer:
        """The probe that shows whether its server is idle; only asked while the server runs."""
        return IdleServer(self.name, self.server_probe)

    @property
    def server_probe(self) -> ServerProbe:
        """The probe of its running server's processes."""
        return next(probe for probe in self.probes if isinstance(probe, ServerProbe))

    @property
    def keeps_tables(self) -> bool:
        """Whether a restart leaves the rows in its tables."""
        return self.family.keeps_tables(self.server.site)

    def measure_sizes(self, driver: Driver) -> None:
        """Ask the server how much it stores."""
        site = self.server.site
        (sizes,) = driver.sql(self.target, [self.family.sizes_statement(site)])
        self.sizes = self.family.read_sizes(site, sizes.rows)

    def measure_buffer_pool(self, driver: Driver) -> None:
        """Ask the server how large its page cache is."""
        statement = self.family.buffer_pool_statement(self.server.site)
        if statement is not None:
            (answer,) = driver.sql(self.target, [statement])
            ((told,),) = answer.rows
            self.buffer_pool_bytes = None if told is None else int(told)

    def start(self) -> None:
        """Start the server and watch its processes."""
        self.server.start()
        try:
            self.probes = probes_of(Subject(self.server.pid, self.server.data_dir))
        except OSError as error:
            self.server.check_alive()
            raise InstanceError(f"{self.name} cannot be probed: {error}") from error


class Field:
    """All contenders, in the order of the experiment; the first is the base."""

    def __init__(self, contenders: list[Contender], logs: Path, view: View) -> None:
        self.contenders = contenders
        self._logs = logs
        self._view = view
        # A resumed experiment keeps the logs of its earlier parts.
        earlier = len(list(logs.glob("1-*.log")))
        self._log_suffix = f".part{earlier + 1}" if earlier else ""
        self._loaded = False
        self._on_failure: Callable[[Contender], None] | None = None

    @property
    def names(self) -> list[str]:
        """The contenders' names, the base's first."""
        return [contender.name for contender in self.contenders]

    def running(self) -> list[Contender]:
        """Those that have not failed."""
        return [contender for contender in self.contenders if contender.failed is None]

    @property
    def comparable(self) -> bool:
        """Whether the base and somebody beside it are still there."""
        return self.contenders[0].failed is None and len(self.running()) > 1

    def on_failure(self, tell: Callable[[Contender], None]) -> None:
        """Call `tell` with every contender that drops out, also with those that did already."""
        self._on_failure = tell
        for contender in self.contenders:
            if contender.failed is not None:
                tell(contender)

    @contextmanager
    def guard(self, contender: Contender) -> Iterator[None]:
        """Turn a failure of the contender's server into its dropping out; the others go on.

        Raises:
            SlowdustError: nobody is left.
        """
        try:
            yield
        except (TargetError, InstanceError) as error:
            self._drop(contender, explain_failure(contender, error))

    def start_servers(self) -> None:
        """Start all servers that do not run."""
        for contender in self.running():
            if contender.server.alive():
                continue
            self._view.phase(f"starting {contender.name}")
            with self.guard(contender):
                contender.start()

    def start(self, driver: Driver, data: Data) -> None:
        """Start all servers; load the tables where they are not as they were loaded."""
        self.start_servers()
        if self._loaded:
            emptied = [one for one in self.running() if not one.keeps_tables]
            self._load(emptied, driver, data)
        else:
            self.load(driver, data)

    def load(self, driver: Driver, data: Data) -> None:
        """Load the tables of all contenders anew."""
        self._load(self.running(), driver, data)
        self._loaded = True

    def note_writes(self) -> None:
        """The tables are no longer as they were loaded."""
        self._loaded = False

    def maintain(self, driver: Driver, data: Data, budget: Second) -> None:
        """Post-write maintenance, then wait until the servers are idle."""
        for contender in self.running():
            self._view.phase(f"maintenance of {contender.name} after the writes")
            with self.guard(contender):
                stages = contender.family.after_writes(contender.server.site, _tables(data))
                self.maintain_one(contender, driver, stages, data.tables * data.rows)
        self._view.phase("waiting until the servers are idle")
        wait = min(1200.0, 60.0 + data.tables * data.rows / 1e6)
        self.wait_until_idle(self.running(), wait * min(1.0, budget / _FULL_RUN))

    def stop(self) -> None:
        """Stop all servers in order and keep their logs."""
        for contender in self.running():
            self._view.phase(f"stopping {contender.name}")
            with self.guard(contender):
                contender.server.stop()
                self._keep_log(contender)

    def _load(self, contenders: list[Contender], driver: Driver, data: Data) -> None:
        for contender in contenders:
            self._view.phase(f"loading {contender.name}")
            with self.guard(contender):
                driver.load(contender.target, data, self._view.progress)
                stages = contender.family.after_load(contender.server.site, _tables(data))
                self.maintain_one(contender, driver, stages, data.tables * data.rows)
                self.measure_sizes(contender, driver, _tables(data), data.tables * data.rows)
                contender.measure_buffer_pool(driver)

    def maintain_one(
        self, contender: Contender, driver: Driver, stages: list[Stage], rows: int
    ) -> None:
        """Carry out the maintenance of one contender, whose tables have so many rows."""

        def warn(text: str) -> None:
            self._view.warning(f"{contender.name}: {text}")

        carry_out(driver, contender.target, stages, rows, warn)

    def measure_sizes(
        self, contender: Contender, driver: Driver, tables: Sequence[str], rows: int
    ) -> None:
        """Let a contender bring its numbers up to date, and ask it how much it stores."""
        stages = contender.family.before_sizes(contender.server.site, tables)
        self.maintain_one(contender, driver, stages, rows)
        contender.measure_sizes(driver)

    def wait_until_idle(self, contenders: Sequence[Contender], limit: Second) -> None:
        """Wait until none of them uses the CPU any more, or `limit` has passed."""
        deadline = time.monotonic() + limit
        idle = [contender.idle_probe for contender in contenders]
        before = [attempt(probe) for probe in idle]
        calm = 0
        while calm < _IDLE_LOOKS and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY)
            now = [attempt(probe) for probe in idle]
            uses = map(use_between, idle, before, now)
            most = max((use["cpu_s"] for use in uses if use is not None), default=0.0)
            calm = calm + 1 if most < _IDLE_SHARE * _LOOK_EVERY else 0
            before = now

    def _drop(self, contender: Contender, reason: str) -> None:
        contender.failed = reason
        if contender.instance is not None:
            contender.instance.stop(Shutdown.AT_ONCE)
            self._keep_log(contender)
            # What it stored may be what the others lack: a full disk must not end them all.
            contender.instance.remove()
        if self._on_failure is not None:
            self._on_failure(contender)
        if not self.running():
            raise SlowdustError("no contender is left")

    def _keep_log(self, contender: Contender) -> None:
        name = re.sub(r"[^A-Za-z0-9.@#-]+", "_", contender.name).strip("_.")
        number = self.contenders.index(contender) + 1
        try:
            shutil.copyfile(
                contender.server.log_path, self._logs / f"{number}-{name}{self._log_suffix}.log"
            )
        except OSError as error:
            self._view.warning(f"the log of {contender.name} could not be kept: {error}")


def _tables(data: Data) -> list[str]:
    return [f"sbtest{number}" for number in range(1, data.tables + 1)]


def explain_failure(contender: Contender, error: TargetError | InstanceError) -> str:
    """What the server said at its end, or the error with the last lines of its log."""
    if isinstance(error, InstanceError):
        return str(error)
    deadline = time.monotonic() + _DYING
    while error.kind == "connection" and time.monotonic() < deadline:
        try:
            contender.server.check_alive()
        except InstanceError as death:
            return f"{death} ({error})"
        time.sleep(_DYING / 20)
    tail = "".join(f"\n  | {line}" for line in contender.server.log_tail(_LOG_LINES))
    return f"{contender.name}: {error}{tail}"
