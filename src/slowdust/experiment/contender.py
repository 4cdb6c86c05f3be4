"""A contender of an experiment: with its build at hand, then with its server."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from slowdust.benchmarks.model import Test
from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Listen, Target
from slowdust.dbms.environment import Environment
from slowdust.dbms.family import Family, Sizes
from slowdust.dbms.server_url import ServerUrl
from slowdust.dbms.settings import InForce, Settings
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Failed
from slowdust.experiment.remote_server import RemoteServer
from slowdust.instances.instance import Instance
from slowdust.instances.programs import InstanceError
from slowdust.probes import probes_of
from slowdust.probes.probe import AnyProbe, Window, attempt
from slowdust.probes.server.delay import DelayProbe
from slowdust.probes.server.process import IdleServer, ServerProbe
from slowdust.store.manifest import BuildFacts
from slowdust.units import Second

Server = Instance | RemoteServer
"""The server of a contender; what it does not tell is None."""
NOT_ASKED = "no test asks for encryption"
"""Why the server of an experiment without such tests encrypts no connections."""
_LOG_LINES = 8
_DYING: Second = 1.0
"""Time in which the end of a server is noticed whose connections broke."""


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
    without_tls: str | None = NOT_ASKED
    """Why its server encrypts no connections; None where it does."""
    beside_running: bool = False
    """Whether it is reached as a server by URL is: by TCP, and on whatever CPUs it runs."""

    @property
    def dbms(self) -> str:
        if self.url is not None:
            return self.url.dbms
        assert self.build is not None
        return self.build.dbms

    def lacks(self, test: Test) -> str | None:
        """Return why its DBMS, storage engine or server has no such test; None where it has it."""
        lack = test.lack(family(self.dbms), self.engine)
        return lack or (self.without_tls if test.encrypted else None)


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
    page_bytes: int | None = None
    """The size of a page of its data files; None where it is not told."""
    settings_in_force: Mapping[str, InForce] = field(default_factory=dict)
    """The settings that it was given, as its running server reports them."""
    probes: list[AnyProbe] = field(default_factory=list)
    """The probes of its running server and of the host."""
    given_up: dict[str, str] = field(default_factory=dict)
    """Test -> why it is measured no more: an operation of it did not end in time."""

    @property
    def name(self) -> str:
        return self.resolved.name

    @property
    def family(self) -> Family:
        return family(self.resolved.dbms)

    def lacks(self, test: Test) -> str | None:
        """Return why it has no such test, or has it no more; None where it has it."""
        return self.resolved.lacks(test) or self.given_up.get(test.name)

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
        return self.resolved.url is not None

    @property
    def shorter_way(self) -> str | None:
        """Say that it is reached by a socket beside servers by URL; None where it is not."""
        if self.failed is not None or self.is_remote or not self.resolved.beside_running:
            return None
        if self.instance.site.access.listen is Listen.LOOPBACK:
            return None
        return (
            f"{self.name} cannot ask for a password, so it has its private socket alone: a round "
            "trip is shorter there than by TCP, and its results are better by that"
        )

    @property
    def runs_in_its_client(self) -> bool:
        """Whether statements run in the process of their client: the DBMS has no server."""
        build = self.resolved.build
        return build is not None and build.runtime.host is not None

    @property
    def target(self) -> Target:
        target = self.server.target()
        return msgspec.structs.replace(target, foreign=True) if self.is_unplaced else target

    def target_of(self, test: Test) -> Target:
        """Return the address of its server for a test, whose connections may be encrypted."""
        if not test.encrypted or self.is_remote:
            return self.target
        target = self.instance.encrypted_target()
        return msgspec.structs.replace(target, foreign=self.is_unplaced)

    def idle_probes(self) -> list[IdleServer]:
        """Return the probe that shows whether its running server is idle, if that can be seen."""
        return [IdleServer(self.name, probe) for probe in self._server_probes()]

    def _server_probes(self) -> Iterator[ServerProbe]:
        return (probe for probe in self.probes if isinstance(probe, ServerProbe))

    def written_bytes(self) -> int | None:
        """Return the bytes that its server has written to storage; None where that is not known."""
        for probe in self._server_probes():
            reading = attempt(probe)
            return None if reading is None else reading.write_bytes
        return None

    def window(self, idle: Iterable[RunningContender]) -> Window:
        """Return the probes of a window in which it is measured beside idle contenders."""
        beside = [probe for other in idle if other is not self for probe in other.idle_probes()]
        return Window([*beside, *self.probes])

    @property
    def keeps_tables(self) -> bool:
        return self.family.keeps_tables(self.server.site)

    def start(self) -> None:
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
