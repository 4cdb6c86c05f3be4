"""The contenders of a running experiment: their servers, and what happens when one fails."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Target
from slowdust.dbms.environment import Environment
from slowdust.dbms.family import Family, Row, Shutdown, Sizes, Stage, WithSettings
from slowdust.dbms.in_force import InForce
from slowdust.dbms.settings import Settings
from slowdust.errors import SlowdustError
from slowdust.experiment.driver.process import Driver, TargetError
from slowdust.experiment.driver.protocol import Failed
from slowdust.experiment.maintenance import carry_out
from slowdust.experiment.remote_server import RemoteServer
from slowdust.experiment.server import Server
from slowdust.experiment.view import View
from slowdust.instances.instance import Instance
from slowdust.instances.owner import instances_root
from slowdust.instances.programs import InstanceError
from slowdust.probes import probes_of
from slowdust.probes.probe import AnyProbe, attempt, use_between
from slowdust.probes.server.delay import DelayProbe
from slowdust.probes.server.process import IdleServer, ServerProbe
from slowdust.probes.window import Window
from slowdust.remote.url import ServerUrl
from slowdust.store.manifest import BuildFacts
from slowdust.units import Second
from slowdust.wording import listing

_LOG_LINES = 8
_DYING: Second = 1.0
"""Time in which the end of a server is noticed whose connections broke."""
_IDLE_SHARE = 0.02
"""A server below this share of one CPU is idle."""
_IDLE_LOOKS = 3
_LOOK_EVERY: Second = 0.2


@dataclass(frozen=True)
class ResolvedContender:
    """A contender whose build is at hand and whose settings are sized; it has no data yet."""

    name: str
    build: Build | None
    """None for a server that runs already, which has a URL."""
    engine: str | None
    """The storage engine of its tables; None where the DBMS has only one."""
    environment: Environment
    settings: Settings
    slowed: float | None = None
    """The share of its throughput that a known delay takes, as in `PlannedContender`."""
    memory_bytes: int | None = None
    """The limit of its server's memory; None for that of the host."""
    url: ServerUrl | None = None
    beside_running: bool = False
    """Whether it is reached as a server by URL is: by TCP, and on whatever CPUs it runs."""

    @property
    def dbms(self) -> str:
        """The DBMS of its server."""
        if self.url is not None:
            return self.url.dbms
        assert self.build is not None
        return self.build.dbms


@dataclass
class RunningContender:
    """A contender with a server."""

    resolved: ResolvedContender
    handle: Server | None = None
    """The server; None where its data directory could not be made."""
    failed: str | None = None
    """The reason why it dropped out, with the last lines of its log."""
    sizes: Sizes | None = None
    """The size of its data after loading."""
    buffer_pool_bytes: int | None = None
    """The server's own page cache; None where it has none, or before it was asked."""
    settings_in_force: Mapping[str, InForce] = field(default_factory=dict)
    """The settings that it was given, as its running server reports them."""
    probes: list[AnyProbe] = field(default_factory=list)
    """The probes of its running server and of the host."""

    @property
    def name(self) -> str:
        """The contender's name in reports and records."""
        return self.resolved.name

    @property
    def family(self) -> Family:
        """The family of its server."""
        return family(self.resolved.dbms)

    @property
    def server(self) -> Server:
        """The server; only for contenders that have not failed."""
        assert self.handle is not None
        return self.handle

    @property
    def instance(self) -> Instance:
        """The server as one that Slowdust started; only for those that it did."""
        assert isinstance(self.handle, Instance)
        return self.handle

    @property
    def build_facts(self) -> BuildFacts:
        """The provenance and version of its server."""
        if self.resolved.build is not None:
            return self.resolved.build.facts
        assert isinstance(self.handle, RemoteServer)
        return self.handle.facts

    @property
    def is_unplaced(self) -> bool:
        """Whether nobody chooses the CPUs of its server."""
        return self.is_remote or self.resolved.beside_running

    @property
    def is_remote(self) -> bool:
        """Whether others started its server."""
        return self.resolved.url is not None

    @property
    def target(self) -> Target:
        """The address of its server."""
        target = self.server.target()
        return msgspec.structs.replace(target, foreign=True) if self.is_unplaced else target

    def idle_probes(self) -> list[IdleServer]:
        """Return the probe that shows whether its running server is idle, if that can be seen."""
        return [IdleServer(self.name, probe) for probe in self._server_probes()]

    def _server_probes(self) -> Iterator[ServerProbe]:
        return (probe for probe in self.probes if isinstance(probe, ServerProbe))

    def window(self, idle: Iterable[RunningContender]) -> Window:
        """Return the probes of a window in which it is measured beside idle contenders."""
        beside = [probe for other in idle if other is not self for probe in other.idle_probes()]
        return Window([*beside, *self.probes])

    @property
    def keeps_tables(self) -> bool:
        """Whether the tables keep their rows when the server is restarted."""
        return self.family.keeps_tables(self.server.site)

    def start(self) -> None:
        """Start the server and watch its processes."""
        for ended in self._server_probes():
            ended.close()
        self.server.start()
        try:
            subject = self.server.subject
            self.probes = [] if subject is None else probes_of(subject)
            if self.resolved.slowed is not None and self.instance.delay is not None:
                self.probes.append(DelayProbe(self.instance.delay.totals))
        except OSError as error:
            self.server.check_alive()
            raise InstanceError(f"{self.name} cannot be probed: {error}") from error

    def settings_not_as_given(self) -> list[str]:
        """Return a sentence for each setting that the running server has otherwise than given."""
        given = self.server.settings.values
        return [
            f"{self.name}: {name}: given {given[name]}, in force {value.text}"
            for name, value in sorted(self.settings_in_force.items())
            if not value.as_given
        ]

    def refuse_fatal_errors(self, errors: Mapping[str, int], of_what: str) -> None:
        """Raise TargetError if one of the errors, by state, makes further measuring useless."""
        for state, count in errors.items():
            if (fatal_error := self.family.fatal_error(state)) is not None:
                message = f"{count} {of_what} failed: {fatal_error}"
                raise TargetError(Failed(kind="server", sqlstate=state, message=message))


class Contenders:
    """All contenders, in the order of the experiment; the first is the base."""

    def __init__(
        self, contenders: list[RunningContender], driver: Driver, logs: Path, view: View
    ) -> None:
        self.all = contenders
        self.driver = driver
        self._logs = logs
        self._view = view
        # A resumed experiment keeps the logs of its earlier parts.
        earlier = len(list(logs.glob("1-*.log")))
        self._log_suffix = f".part{earlier + 1}" if earlier else ""
        self._silent: set[str] = set()
        """Contenders that were warned of since they did not describe themselves."""
        self._on_failure: Callable[[RunningContender], None] | None = None
        self._on_warning: Callable[[str], None] | None = None
        self._observing: str | None = None
        """What is done to the servers after all that is timed; None before."""

    @property
    def names(self) -> list[str]:
        """The contenders' names, the base's first."""
        return [contender.name for contender in self.all]

    @property
    def data_dir(self) -> Path:
        """A directory on the disk of all data directories."""
        own = (contender for contender in self.running() if not contender.is_remote)
        return next((contender.instance.data_dir for contender in own), instances_root())

    def running(self) -> list[RunningContender]:
        """Return the contenders that have not failed."""
        return [contender for contender in self.all if contender.failed is None]

    @property
    def comparable(self) -> bool:
        """Whether the base and another contender are still there."""
        return self.all[0].failed is None and len(self.running()) > 1

    def on_failure(self, report: Callable[[RunningContender], None]) -> None:
        """Call `report` with every contender that drops out, also with those that did already."""
        self._on_failure = report
        for contender in self.all:
            if contender.failed is not None:
                report(contender)

    def on_warning(self, keep: Callable[[str], None]) -> None:
        """Call `keep` with every warning about a server, for the report."""
        self._on_warning = keep

    def warn(self, text: str) -> None:
        """Show a warning about servers, and keep it for the report."""
        self._view.warning(text)
        if self._on_warning is not None:
            self._on_warning(text)

    @contextmanager
    def guard(self, contender: RunningContender) -> Iterator[None]:
        """Let the contender drop out when its server fails; the others go on.

        Raises:
            SlowdustError: nobody is left.
        """
        try:
            yield
        except (TargetError, InstanceError) as error:
            self.drop(contender, error)

    @contextmanager
    def observing(self, what: str) -> Iterator[None]:
        """Let failures be warnings, since results of time stand without what is observed now.

        A contender that fails is out until the end of the block, and keeps its data directory.
        `what` is the subject of the warnings: 'counting the work'.
        """
        before = self.running()
        self._observing = what
        try:
            yield
        except SlowdustError as error:
            if self.running():  # else each of them was warned of
                self.warn(f"{what} failed: {error}")
            for contender in self.running():
                contender.server.stop(Shutdown.AT_ONCE)
        finally:
            self._observing = None
            for contender in before:
                contender.failed = None

    def for_each(self, action: Callable[[RunningContender], object]) -> None:
        """Carry out an action on every contender that has not failed; whoever fails drops out."""
        for contender in self.running():
            with self.guard(contender):
                action(contender)

    def start(self) -> None:
        """Start all servers that do not run."""
        self.for_each(self._start)

    def stop(self) -> None:
        """Stop all servers in order and keep their logs."""
        self.for_each(self._stop)

    def maintain(
        self,
        contender: RunningContender,
        stages: list[Stage],
        rows: int,
        driver: Driver | None = None,
    ) -> None:
        """Carry out the maintenance of one contender, whose tables have so many rows.

        `driver` is one that serves this contender alone; None for that of all.
        """

        def warn(text: str) -> None:
            self.warn(f"{contender.name}: {text}")

        if contender.is_remote:
            stages = self._without_settings(contender, stages)
        try:
            carry_out(driver or self.driver, contender.target, stages, rows, warn)
        except TargetError as error:
            if not contender.is_remote or error.kind == "connection":
                raise
            self._warn_of_silence(contender, f"does not let Slowdust maintain its tables: {error}")

    def _without_settings(self, contender: RunningContender, stages: list[Stage]) -> list[Stage]:
        """Leave out what changes settings for a time: a kill would leave a server of others so."""
        left_out = [stage for stage in stages if isinstance(stage, WithSettings)]
        if left_out:
            names = listing(sorted({name for stage in left_out for name in stage.values}))
            self._warn_of_silence(
                contender, f"runs already: maintenance that changes {names} for a time is left out"
            )
        return [stage for stage in stages if stage not in left_out]

    def measure_sizes(self, contender: RunningContender, tables: Sequence[str], rows: int) -> None:
        """Let a contender bring its numbers up to date, and ask it how much it stores."""
        site = contender.server.site
        self.maintain(contender, contender.family.before_sizes(site, tables), rows)
        statement = contender.family.sizes_statement(site)
        (answer,) = self.driver.sql(contender.target, [statement])
        contender.sizes = contender.family.read_sizes(site, answer.rows)

    def measure_buffer_pool(self, contender: RunningContender) -> None:
        """Ask a contender how large its page cache is."""
        site = contender.server.site
        statement = contender.family.buffer_pool_statement(site)
        answers = None if statement is None else self._answers(contender, [statement])
        if answers is not None:
            contender.buffer_pool_bytes = contender.family.read_buffer_pool(site, answers[0])

    def read_facts(self, contender: RunningContender, rows: int) -> dict[str, dict[str, float]]:
        """Ask a contender what its tables of so many `rows` are like; empty if it cannot tell."""
        if contender.is_remote:  # which tells of others' work, too
            return {}
        site = contender.server.site
        self.maintain(contender, contender.family.before_counters(site), rows)
        answers = self._answers(contender, contender.family.facts_statements(site))
        return {} if answers is None else contender.family.read_facts(site, answers)

    def read_counters(self, contender: RunningContender) -> dict[str, float]:
        """Ask a contender how much its server has done; empty if it cannot tell."""
        if contender.is_remote:
            return {}
        site = contender.server.site
        self.maintain(contender, contender.family.before_counters(site), rows=0)
        answers = self._answers(contender, [contender.family.counters_statement(site)])
        return {} if answers is None else contender.family.read_counters(site, answers[0])

    def read_settings(self, contender: RunningContender) -> None:
        """Ask a contender which settings are in force."""
        site = contender.server.site
        answers = self._answers(contender, [contender.family.settings_statement(site)])
        if answers is not None:
            before = contender.settings_in_force
            contender.settings_in_force = contender.family.read_settings(site, answers[0])
            if not before:
                for warning in contender.settings_not_as_given():
                    self._view.warning(warning)

    def _answers(
        self, contender: RunningContender, statements: Sequence[str]
    ) -> list[Sequence[Row]] | None:
        """Return the answers to questions that a server need not understand; else warn."""
        if not statements:
            return []
        try:
            return [answer.rows for answer in self.driver.sql(contender.target, statements)]
        except TargetError as error:
            if error.kind == "connection":
                raise
            self._warn_of_silence(contender, f"does not describe itself: {error}")
            return None

    def _warn_of_silence(self, contender: RunningContender, what: str) -> None:
        if contender.name not in self._silent:
            self._silent.add(contender.name)
            self.warn(f"{contender.name} {what}")

    def wait_until_idle(self, contenders: Sequence[RunningContender], limit: Second) -> bool:
        """Wait until none of them uses the CPU any more; return False if `limit` has passed."""
        deadline = time.monotonic() + limit
        idle = [probe for contender in contenders for probe in contender.idle_probes()]
        before = [attempt(probe) for probe in idle]
        calm = 0
        while calm < _IDLE_LOOKS and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY)
            now = [attempt(probe) for probe in idle]
            uses = map(use_between, idle, before, now)
            most = max((use["cpu_s"] for use in uses if use is not None), default=0.0)
            calm = calm + 1 if most < _IDLE_SHARE * _LOOK_EVERY else 0
            before = now
        return calm >= _IDLE_LOOKS

    def _start(self, contender: RunningContender) -> None:
        if not contender.server.alive():
            self._view.phase(f"{'using' if contender.is_remote else 'starting'} {contender.name}")
            contender.start()
            self.read_settings(contender)

    def _stop(self, contender: RunningContender) -> None:
        if not contender.is_remote:
            self._view.phase(f"stopping {contender.name}")
        contender.server.stop()
        self._keep_log(contender)

    def drop(self, contender: RunningContender, error: Exception) -> None:
        """Let a contender drop out because of an error; `guard` does so for its server's errors.

        Raises:
            SlowdustError: nobody is left.
        """
        contender.failed = reason = explain_failure(contender, error)
        if contender.handle is not None:
            contender.handle.stop(Shutdown.AT_ONCE)
            self._keep_log(contender)
        if self._observing is not None:
            self.warn(f"{self._observing} of {contender.name} failed: {reason}")
        else:
            self._end(contender)
        if not self.running():
            raise SlowdustError("no contender is left")

    def _end(self, contender: RunningContender) -> None:
        if contender.handle is not None:
            # What it stored may be what the others lack: a full disk must not end them all.
            contender.handle.remove()
        if self._on_failure is not None:
            self._on_failure(contender)

    def _keep_log(self, contender: RunningContender) -> None:
        name = re.sub(r"[^A-Za-z0-9.@#-]+", "_", contender.name).strip("_.")
        number = self.all.index(contender) + 1
        log = contender.server.log_path
        if log is None:
            return
        try:
            shutil.copyfile(log, self._logs / f"{number}-{name}{self._log_suffix}.log")
        except OSError as error:
            self._view.warning(f"the log of {contender.name} could not be kept: {error}")


def explain_failure(contender: RunningContender, error: Exception) -> str:
    """Return why the server ended, or the error; one of the driver comes with the log's end."""
    if not isinstance(error, TargetError):
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
