"""The fleet as a Ray cluster: the only module that imports Ray.

Each node that offers the resource `slowdust_host` is a host. An actor holds the resource during an
experiment, so that no other experiment is placed on the host, and executes one call at a time. Ray
finds the nodes, starts the actors, carries messages and builds, and reports lost nodes.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from slowdust.addresses import is_loopback
from slowdust.builds.pushed import PushedBuild
from slowdust.errors import SlowdustError, UsageError
from slowdust.fleet import DEFAULT_ADDRESS, build_transfer, hosts
from slowdust.fleet.cluster import (
    Ask,
    HostFacts,
    HostLost,
    Message,
    ShardBundle,
    ShardEnded,
    ShardOrder,
)
from slowdust.units import Second
from slowdust.wording import first_line

RESOURCE = "slowdust_host"
_INSTALL = "--fleet needs Ray, which is not installed: pip install 'slowdust[fleet]'"
_LOOPBACK_STAYS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""If it is 0, Ray does not replace a loopback address by an external one."""
_LOOK_EVERY: Second = 2.0
_STOPS_WITHIN: Second = 30.0
_FORGETS_WITHIN: Second = 60.0
"""Time for a host to stop its servers and remove files."""
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):(\d{1,5})")
_ANSWERS_WITHIN: Second = 10.0
_SETTINGS = 4
"""The type of the first frame from an HTTP/2 server (RFC 9113, 3.4)."""
_FRAME_HEADER = 9
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0])
"""The preface of an HTTP/2 client: the magic string and empty settings."""

_Answer = TypeVar("_Answer")
_Pushed = list[tuple[build_transfer.PushedFolder, Any]]
"""Folders of the cache, each with Ray's reference to its archive."""


class _Host:
    """A host, in a process of Ray on its node."""

    def facts(self) -> HostFacts:
        return hosts.host_facts()

    def measure(self, order: ShardOrder, pushed: _Pushed) -> Iterator[ShardBundle | ShardEnded]:
        import ray

        try:
            for folder, archive in pushed:
                if not build_transfer.has_folder(folder):
                    build_transfer.put(folder, cast("bytes", ray.get(archive)))
        except (OSError, SlowdustError) as error:
            yield hosts.failure(error)
            return
        yield from hosts.measure(order)

    def forget(self, experiment: str) -> None:
        hosts.forget(experiment)


class RayCluster:
    """A `Cluster` of Ray nodes."""

    def __init__(self, ray: Any) -> None:  # noqa: ANN401 - a module that may be absent
        self._ray = ray
        self._nodes: dict[str, str] = {}
        self._names: dict[str, str] = {}
        """Id of a node -> its name, which does not change when other nodes join."""
        self._looked = -_LOOK_EVERY
        self._actors: dict[str, Any] = {}
        self._pushed: _Pushed = []
        self._builds: list[PushedBuild] = []
        self._pending: dict[Any, str] = {}
        """Awaited values and streams of values -> their hosts."""

    def hosts(self) -> Collection[str]:
        if self.now() - self._looked >= _LOOK_EVERY:
            self._looked = self.now()
            self._nodes = name_hosts(self._ray.nodes(), self._names)
            self._names.update({node: name for name, node in self._nodes.items()})
        return self._nodes.keys()

    def examine(self, host: str) -> None:
        self._start_actor(host)
        self._pending[self._actors[host].facts.remote()] = host

    def run(self, host: str, order: ShardOrder) -> None:
        method = self._actors[host].measure.options(num_returns="streaming")
        self._pending[method.remote(replace(order, builds=self._builds), self._pushed)] = host

    def push(self, folders: Sequence[str], builds: Sequence[PushedBuild]) -> None:
        """Put folders of the cache into Ray's object store; hosts fetch them before measuring."""
        known = {pushed.folder for pushed, _ in self._pushed}
        for folder in folders:
            if folder not in known:
                pushed, archive = build_transfer.packed(folder)
                self._pushed.append((pushed, self._ray.put(archive)))
        self._builds += [build for build in builds if build not in self._builds]

    def forget(self, host: str, experiment: str) -> bool:
        """Remove a host's files of an experiment, and release the host."""
        if host not in self._actors or host in self._pending.values():
            self._start_actor(host)
        try:
            self._ray.get(self._actors[host].forget.remote(experiment), timeout=_FORGETS_WITHIN)
        except self._ray.exceptions.RayError:
            return False
        finally:
            self._stop_actor(host)
        return True

    def messages(self, within: Second) -> Sequence[tuple[str, Message]]:
        if not self._pending:
            time.sleep(within)
            return []
        with _interruptible():
            self._ray.wait(list(self._pending), num_returns=1, timeout=within, fetch_local=False)
            ready, _ = self._ray.wait(
                list(self._pending), num_returns=len(self._pending), timeout=0, fetch_local=False
            )
            # Pending messages of a host lost meanwhile are dropped.
            waiting = (each for each in ready if each in self._pending)
            said = [(self._pending[each], self._message(each)) for each in waiting]
        return [(host, message) for host, message in said if message is not None]

    def ask(
        self,
        what: Callable[..., _Answer],
        *arguments: object,
        when: Ask,
        within: Second | None = None,
        hosts: Collection[str] | None = None,
    ) -> Mapping[str, _Answer | HostLost]:
        task = self._ray.remote(what)
        asked = {
            task.options(**self._on_node(self._nodes[host], when), max_retries=0).remote(
                *arguments
            ): host
            for host in (self.hosts() if hosts is None else hosts)
        }
        late = [*asked]
        try:
            with _interruptible():
                ready, late = self._ray.wait(late, num_returns=len(asked), timeout=within)
        finally:
            for reference in late:
                # Not by force: killing a compiler's parent would leave the compiler running.
                self._ray.cancel(reference)
            if late:
                self._ray.wait(late, num_returns=len(late), timeout=_STOPS_WITHIN)
        answers: dict[str, _Answer | HostLost] = {
            asked[reference]: HostLost(reason="it did not answer in time: it is busy")
            for reference in late
        }
        for reference in ready:
            try:
                answers[asked[reference]] = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                answers[asked[reference]] = HostLost(reason=_reason(error))
        return dict(sorted(answers.items()))

    def now(self) -> Second:
        return time.monotonic()

    def _on_node(self, node: str, when: Ask) -> dict[str, Any]:
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        return {
            "num_cpus": 0,
            "resources": {RESOURCE: 1} if when is Ask.WHEN_IDLE else {},
            "scheduling_strategy": affinity(node, soft=False),
        }

    def _message(self, awaited: Any) -> Message | None:  # noqa: ANN401
        """Return a host's message, None at the end of a stream."""
        is_stream = isinstance(awaited, self._ray.ObjectRefGenerator)
        try:
            value = self._ray.get(next(awaited) if is_stream else awaited)
        except StopIteration:
            del self._pending[awaited]
            return None
        except self._ray.exceptions.RayError as error:
            self._stop_actor(self._pending.pop(awaited))
            has_exited = isinstance(error, self._ray.exceptions.RayActorError)
            exited = "its process or its node has exited"
            return HostLost(reason=exited if has_exited else _reason(error))
        if not is_stream or isinstance(value, ShardEnded):
            del self._pending[awaited]
        assert isinstance(value, Message)
        return value

    def _start_actor(self, host: str) -> None:
        self._stop_actor(host)
        options = self._on_node(self._nodes[host], Ask.WHEN_IDLE)
        self._actors[host] = self._ray.remote(_Host).options(**options).remote()

    def _stop_actor(self, host: str) -> None:
        actor = self._actors.pop(host, None)
        if actor is not None:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)
        for awaited in [each for each, of in self._pending.items() if of == host]:
            del self._pending[awaited]


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raise the exception of a signal handler, which Ray wraps in an error of its own."""
    try:
        yield
    except SystemError as error:
        raise error.__cause__ or error from None


def name_hosts(nodes: Sequence[dict[str, Any]], names: Mapping[str, str]) -> dict[str, str]:
    """Return name -> id of the measuring nodes. Names are valid names of folders.

    `names` maps ids to the names that nodes have already.
    """
    measuring = [
        node for node in nodes if node["Alive"] and node["Resources"].get(RESOURCE, 0) >= 1
    ]
    named = {names[node["NodeID"]]: node["NodeID"] for node in measuring if node["NodeID"] in names}
    new = [node for node in measuring if node["NodeID"] not in names]
    for node in sorted(new, key=lambda each: str(each["NodeID"])):
        given = node.get("NodeName") or node["NodeManagerHostname"]
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", given).strip("-") or "host"
        named[f"{name}-{node['NodeID'][:6]}" if name in named else name] = node["NodeID"]
    return named


@contextmanager
def connected(address: str) -> Iterator[RayCluster]:
    """Connect to a Ray cluster from one of its nodes.

    Raises:
        UsageError: Ray is not installed, or the address is malformed.
        SlowdustError: no cluster answers.
    """
    if is_loopback(_host_of(address)):
        os.environ.setdefault(_LOOPBACK_STAYS, "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise UsageError(_INSTALL) from None
    check_reachable(address)
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address,
            namespace="slowdust",
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # Ray raises many types, mostly plain RuntimeErrors
        raise SlowdustError(
            f"cannot use a cluster at {address}: {_reason(error)} (a cluster with authentication "
            "needs RAY_AUTH_MODE=token and RAY_AUTH_TOKEN)"
        ) from error
    signal.signal(signal.SIGTERM, before)  # Ray's handler exits immediately
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()


def check_reachable(address: str) -> None:
    """Refuse an address without a cluster; Ray would wait for minutes.

    Ray speaks gRPC, whose servers greet every client. Connections with TLS are left to Ray.

    Raises:
        SlowdustError: nothing listens there, or another kind of server does.
    """
    host, port = _host_of(address), int(address.rpartition(":")[2])
    is_encrypted = os.environ.get("RAY_USE_TLS", "0") not in ("", "0")
    try:
        with socket.create_connection((host.strip("[]"), port), timeout=_ANSWERS_WITHIN) as server:
            server.sendall(_GREETING)
            answer = b"" if is_encrypted else server.recv(_FRAME_HEADER)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SlowdustError(f"no cluster at {address}: {reason}") from error
    if not is_encrypted and (len(answer) < _FRAME_HEADER or answer[3] != _SETTINGS):
        raise SlowdustError(f"no cluster at {address}: the server there is not Ray")


def is_open(address: str) -> bool:
    """Return whether other machines can reach a cluster without authentication."""
    return not is_loopback(_host_of(address)) and os.environ.get("RAY_AUTH_MODE") != "token"


def _host_of(address: str) -> str:
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[2]) < 65536:
        raise UsageError(
            f"'{address}' is not an address of a cluster: write HOST:PORT, for example "
            f"{DEFAULT_ADDRESS}"
        )
    return match[1]


def _reason(error: BaseException) -> str:
    """Return the first sentence of a Ray error, without the trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception) and str(cause):
        return first_line(str(cause))
    return lines[0].partition(". ")[0] if lines else type(error).__name__
