"""A contender of an experiment: first with its build, then with its server."""

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
from slowdust.probes import open_probes
from slowdust.probes.probe import AnyProbe, Window, attempt
from slowdust.probes.server.delay import DelayProbe
from slowdust.probes.server.process import IdleServer, ServerProbe
from slowdust.store.manifest import BuildFacts
from slowdust.units import Second

Server = Instance | RemoteServer
"""The server of a contender; unreported facts have the value None."""
NOT_ASKED = "no test asks for encryption"
"""Why a server does not encrypt connections if no test needs it."""
_LOG_LINES = 8
_DYING: Second = 1.0
"""Time to notice the exit of a server whose connections broke."""


@dataclass(frozen=True)
class ResolvedContender:
    """A contender with its build and sized settings, but without data."""

    name: str
    build: Build | None
    """None for a server that runs already, which has a URL."""
    engine: str | None
    """The storage engine of its tables; None if the DBMS has only one."""
    environment: Environment
    settings: Settings
    slowed: float | None = None
    """The share of its throughput that the injected delay takes, as in `PlannedContender`."""
    memory_bytes: int | None = None
    """The memory limit of its server; None without a limit of its own."""
    url: ServerUrl | None = None
    without_tls: str | None = NOT_ASKED
    """Why its server does not encrypt connections; None if it does."""
    with_running_servers: bool = False
    """Whether it is compared with running servers, and so uses TCP and any CPUs, as they do."""

    @property
    def dbms(self) -> str:
        if self.url is not None:
            return self.url.dbms
        assert self.build is not None
        return self.build.dbms

    def lacks(self, test: Test) -> str | None:
        """Return why its DBMS, engine or server does not support a test; None if it does."""
        lack = test.lack(family(self.dbms), self.engine)
        return lack or (self.without_tls if test.encrypted else None)


@dataclass
class RunningContender:
    """A contender with a server."""

    resolved: ResolvedContender
    handle: Server | None = None
    """The server; None if its data directory could not be created."""
    failed: str | None = None
    """Why it dropped out, with the last lines of its log."""
    sizes: Sizes | None = None
    """The size of its data after loading."""
    buffer_pool_bytes: int | None = None
    """The size of the server's page cache; None if it has none, or before it was asked."""
    page_bytes: int | None = None
    """The page size of its data files; None if the server does not report it."""
    settings_in_force: Mapping[str, InForce] = field(default_factory=dict)
    """The given settings, as the running server reports them."""
    probes: list[AnyProbe] = field(default_factory=list)
    """The probes of its running server and of the host."""
    timed_out: dict[str, str] = field(default_factory=dict)
    """Test -> why it is no longer measured: an operation exceeded its time limit."""

    @property
    def name(self) -> str:
        return self.resolved.name

    @property
    def family(self) -> Family:
        return family(self.resolved.dbms)

    def lacks(self, test: Test) -> str | None:
        """Return why it does not support a test, or no longer runs it; None if it does."""
        return self.resolved.lacks(test) or self.timed_out.get(test.name)

    @property
    def server(self) -> Server:
        """The server; only for contenders that have not failed."""
        assert self.handle is not None
        return self.handle

    @property
    def instance(self) -> Instance:
        """The server; only for contenders whose server Slowdust started."""
        assert isinstance(self.handle, Instance)
        return self.handle

    @property
    def build_facts(self) -> BuildFacts:
        if self.resolved.build is not None:
            return self.resolved.build.facts
        assert isinstance(self.handle, RemoteServer)
        return self.handle.facts

    @property
    def is_unpinned(self) -> bool:
        """Whether its server may run on any CPU."""
        return self.is_remote or self.resolved.with_running_servers

    @property
    def is_remote(self) -> bool:
        return self.resolved.url is not None

    @property
    def socket_advantage(self) -> str | None:
        """Warn if it is reached by a socket and compared with servers by URL; else None."""
        if self.failed is not None or self.is_remote or not self.resolved.with_running_servers:
            return None
        if self.instance.site.access.listen is Listen.LOOPBACK:
            return None
        return (
            f"{self.name} has no password authentication and listens only on its private socket; "
            "round trips are shorter than by TCP, which favors its results"
        )

    @property
    def runs_in_its_client(self) -> bool:
        """Whether statements run in the client's process, because the DBMS has no server."""
        build = self.resolved.build
        return build is not None and build.runtime.host is not None

    @property
    def target(self) -> Target:
        target = self.server.target()
        return msgspec.structs.replace(target, foreign=True) if self.is_unpinned else target

    def target_for(self, test: Test) -> Target:
        """Return the address of its server for a test; connections may be encrypted."""
        if not test.encrypted or self.is_remote:
            return self.target
        target = self.instance.encrypted_target()
        return msgspec.structs.replace(target, foreign=self.is_unpinned)

    def idle_probes(self) -> list[IdleServer]:
        """Return the probe that shows whether its running server is idle, if one can."""
        return [IdleServer(self.name, probe) for probe in self._server_probes()]

    def _server_probes(self) -> Iterator[ServerProbe]:
        return (probe for probe in self.probes if isinstance(probe, ServerProbe))

    def written_bytes(self) -> int | None:
        """Return the bytes that its server has written to storage; None if unknown."""
        for probe in self._server_probes():
            reading = attempt(probe)
            return None if reading is None else reading.write_bytes
        return None

    def window(self, idle: Iterable[RunningContender]) -> Window:
        """Return a window that measures it, and checks that the `idle` contenders are idle."""
        others = [probe for other in idle if other is not self for probe in other.idle_probes()]
        return Window([*others, *self.probes])

    @property
    def keeps_tables(self) -> bool:
        return self.family.keeps_tables(self.server.site)

    def start(self) -> None:
        for ended in self._server_probes():
            ended.close()
        self.server.start()
        try:
            subject = self.server.subject
            self.probes = [] if subject is None else open_probes(subject)
            if self.resolved.slowed is not None and self.instance.delay is not None:
                self.probes.append(DelayProbe(self.instance.delay.totals))
        except OSError as error:
            self.server.check_alive()
            raise InstanceError(f"{self.name} cannot be probed: {error}") from error

    def settings_not_as_given(self) -> list[str]:
        """Return a sentence for each setting whose value in force differs from the given one."""
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
    """Return the error, with the exit of the server or the end of its log if it explains more."""
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
