"""The fleet as a Ray cluster: the only module that imports Ray.

Each node that offers the resource `slowdust_host` is a host. One actor holds that resource while an
experiment is measured, so that nothing of another one is placed beside it, and does one thing at a
time. Ray finds the nodes, starts the actor where it belongs, carries what it says, and tells when a
node is gone; what is measured where is the business of `planning`.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from slowdust.addresses import is_loopback
from slowdust.builds.apart import Assignment
from slowdust.builds.handed_on import HandedOn
from slowdust.errors import SlowdustError, UsageError
from slowdust.fleet.address import host_of, knock
from slowdust.fleet.building import handing, workshop
from slowdust.fleet.hosts import shard
from slowdust.fleet.model import (
    Able,
    Begun,
    Ended,
    HostFacts,
    Lost,
    Made,
    Message,
    NotMade,
    Order,
    Part,
    Report,
)
from slowdust.units import Second
from slowdust.wording import first_line

RESOURCE = "slowdust_host"
_INSTALL = "--fleet needs Ray, which is not installed: pip install 'slowdust[fleet]'"
_LOOPBACK_STAYS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Where it is 0, Ray does not replace a loopback address by one that other machines reach."""
_LOOK_EVERY: Second = 2.0
_CAN_SAY_WITHIN: Second = 60.0
_ENDS_WITHIN: Second = 30.0
_GONE = "0" * 56
"""The id of a node that is not there: what is placed on it fails."""


_Answer = TypeVar("_Answer")


Bundles = list[tuple[handing.Bundle, Any]]
"""Folders of the cache, each with Ray's reference to its archive."""


class Turn(Enum):
    """The time at which a host answers a question."""

    NOW = "now"
    """Beside whatever is measured there."""
    OWN = "own"
    """Later, if something is measured there now."""


class _Host:
    """A host, in a process of Ray's on its node."""

    def facts(self) -> HostFacts:
        return shard.host_facts()

    def measured(self, order: Order, bundles: Bundles) -> Iterator[Part | Ended]:
        import ray

        try:
            for bundle, archive in bundles:
                if not handing.is_there(bundle):
                    handing.put(bundle, cast("bytes", ray.get(archive)))
        except (OSError, SlowdustError) as error:
            yield shard.failure(error)
            return
        yield from shard.measured(order)

    def forget(self, experiment: str) -> None:
        shard.forget(experiment)


class RayCluster:
    """A `Cluster` of the nodes of Ray."""

    def __init__(self, ray: Any) -> None:  # noqa: ANN401 - a module that may be absent
        self._ray = ray
        self._nodes: dict[str, str] = {}
        self._names: dict[str, str] = {}
        """Id of a node -> its name, which it keeps whatever others join."""
        self._looked = -_LOOK_EVERY
        self._actors: dict[str, Any] = {}
        self._bundles: Bundles = []
        self._builds: list[HandedOn] = []
        self._pending: dict[Any, str] = {}
        """What is awaited, a value or a stream of them -> its node."""

    def hosts(self) -> Collection[str]:
        """Return the names of the nodes that measure."""
        if self.now() - self._looked >= _LOOK_EVERY:
            self._looked = self.now()
            self._nodes = host_nodes(self._ray.nodes(), self._names)
            self._names.update({node: name for name, node in self._nodes.items()})
        return self._nodes.keys()

    def examine(self, host: str) -> None:
        """Start the actor of a host, and ask it for the facts."""
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        options = {
            "num_cpus": 0,
            "resources": {RESOURCE: 1},
            "scheduling_strategy": affinity(self._nodes[host], soft=False),
        }
        self._forget_actor(host)
        self._actors[host] = self._ray.remote(_Host).options(**options).remote()
        self._pending[self._actors[host].facts.remote()] = host

    def run(self, host: str, order: Order) -> None:
        """Let a host measure a shard, with the builds that are handed on."""
        method = self._actors[host].measured.options(num_returns="streaming")
        known = replace(order, builds=self._builds)
        self._pending[method.remote(known, self._bundles)] = host

    def stop(self, host: str) -> None:
        """End the actor of a host, which ends what it measures, and examine the host anew."""
        self.examine(host)

    def hand_on(self, folders: Sequence[str], builds: Sequence[HandedOn]) -> None:
        """Hand folders of the cache on to the hosts, each when it measures for the first time.

        `builds` are those of them that have names.

        Raises:
            SlowdustError: a folder cannot be read.
        """
        for folder in folders:
            bundle, archive = handing.packed(folder)
            self._bundles.append((bundle, self._ray.put(archive)))
        self._builds += builds

    def forget(self, host: str, experiment: str) -> None:
        """Let a host remove what it has of an experiment, and let the host go."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.get(self._actors[host].forget.remote(experiment), timeout=30)
        self._forget_actor(host)

    def messages(self, within: Second) -> Sequence[tuple[str, Message]]:
        """Return what hosts have said."""
        return cast("Sequence[tuple[str, Message]]", self._heard(within))

    def reports(self, within: Second) -> Sequence[tuple[str, Report]]:
        """Return what nodes have said that compile."""
        return cast("Sequence[tuple[str, Report]]", self._heard(within))

    def _heard(self, within: Second) -> Sequence[tuple[str, Message | Report]]:
        if not self._pending:
            time.sleep(within)
            return []
        with _interruptible():
            self._ray.wait(list(self._pending), num_returns=1, timeout=within, fetch_local=False)
            ready, _ = self._ray.wait(
                list(self._pending), num_returns=len(self._pending), timeout=0, fetch_local=False
            )
            # What a lost host had still to say is not awaited any more.
            said = [
                (self._pending[each], self._message(each))
                for each in ready
                if each in self._pending
            ]
        return [(host, message) for host, message in said if message is not None]

    def ask(
        self, what: Callable[..., _Answer], *arguments: object, turn: Turn, within: Second | None
    ) -> dict[str, _Answer | Lost]:
        """Return what a function answers on each host; `Lost` with the reason where it does not.

        With `Turn.OWN` it waits for its turn behind what is measured there.
        """
        self.hosts()
        return self._answers(self._nodes, what, *arguments, turn=turn, within=within)

    def head(self) -> str:
        """Return the name of the node where this process is."""
        own = self._ray.get_runtime_context().get_node_id()
        return next(
            name for name, node in all_nodes(self._ray.nodes(), self._names).items() if node == own
        )

    def able(self, assignments: Sequence[Assignment]) -> Mapping[str, Able | Lost]:
        """Return what each node can compile."""
        asked = workshop.able, [*assignments]
        nodes = all_nodes(self._ray.nodes(), self._names)
        return self._answers(nodes, *asked, turn=Turn.NOW, within=_CAN_SAY_WITHIN)

    def compile(self, node: str, assignment: Assignment, sources: bytes) -> None:
        """Let a node compile; one that measures does it at its own turn."""
        turn = Turn.OWN if node in self._nodes else Turn.NOW
        place = all_nodes(self._ray.nodes(), self._names).get(node, _GONE)
        task = self._ray.remote(workshop.compiled)
        pinned = task.options(**self._pinned(place, turn), num_returns="streaming")
        self._pending[pinned.remote(assignment, sources)] = node

    def cancel(self, nodes: Collection[str]) -> None:
        """End what nodes compile, and wait until it has ended."""
        ended = [each for each, of in self._pending.items() if of in nodes]
        for awaited in ended:
            del self._pending[awaited]
            # Not by force: a compiler would be left whose parent is killed.
            self._ray.cancel(awaited)
        for awaited in ended:
            with suppress(self._ray.exceptions.RayError):
                self._ray.get(awaited.completed(), timeout=_ENDS_WITHIN)

    def _pinned(self, node: str, turn: Turn) -> dict[str, Any]:
        """Return the options of a task that runs on a node, and is not tried again."""
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        return {
            "num_cpus": 0,
            "resources": {RESOURCE: 1} if turn is Turn.OWN else {},
            "max_retries": 0,
            "scheduling_strategy": affinity(node, soft=False),
        }

    def _answers(
        self,
        nodes: Mapping[str, str],
        what: Callable[..., _Answer],
        *arguments: object,
        turn: Turn,
        within: Second | None,
    ) -> dict[str, _Answer | Lost]:
        task = self._ray.remote(what)
        asked = {
            task.options(**self._pinned(node, turn)).remote(*arguments): name
            for name, node in nodes.items()
        }
        with _interruptible():
            ready, late = self._ray.wait(list(asked), num_returns=len(asked), timeout=within)
        answers: dict[str, _Answer | Lost] = {}
        for reference in ready:
            try:
                answers[asked[reference]] = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                answers[asked[reference]] = Lost(reason=_reason(error))
        for reference in late:
            self._ray.cancel(reference, force=True)
            answers[asked[reference]] = Lost(reason="it is busy: it did not answer in time")
        return dict(sorted(answers.items()))

    def now(self) -> Second:
        """Return the time of the machine's monotonic clock."""
        return time.monotonic()

    def _message(self, awaited: Any) -> Message | Report | None:  # noqa: ANN401
        """Return what a node has said, None at the end of a stream."""
        is_stream = isinstance(awaited, self._ray.ObjectRefGenerator)
        try:
            value = self._ray.get(next(awaited) if is_stream else awaited)
        except StopIteration:
            del self._pending[awaited]
            return None
        except self._ray.exceptions.RayError as error:
            host = self._pending.pop(awaited)
            self._forget_actor(host)
            if isinstance(error, self._ray.exceptions.RayActorError):
                return Lost(reason="its process or its node has ended")
            return Lost(reason=_reason(error))
        if not is_stream:
            del self._pending[awaited]
        assert isinstance(value, HostFacts | Part | Ended | Begun | Made | NotMade)
        return value

    def _forget_actor(self, host: str) -> None:
        actor = self._actors.pop(host, None)
        if actor is not None:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)
        for awaited in [each for each, of in self._pending.items() if of == host]:
            del self._pending[awaited]


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let the exception of a signal through, of which Ray makes an error of its own."""
    try:
        yield
    except SystemError as error:
        raise error.__cause__ or error from None


def host_nodes(nodes: Sequence[dict[str, Any]], names: Mapping[str, str]) -> dict[str, str]:
    """Return name -> id of the nodes that measure; a name is one of a folder, and no other's.

    `names` are those that nodes have already, by their ids.
    """
    measuring = [node for node in nodes if _measures(node)]
    known = {names[node["NodeID"]]: node["NodeID"] for node in measuring if node["NodeID"] in names}
    return _named([node for node in measuring if node["NodeID"] not in names], known)


def all_nodes(nodes: Sequence[dict[str, Any]], names: Mapping[str, str]) -> dict[str, str]:
    """Return name -> id of all nodes that are there, those that measure by the same names."""
    others = [node for node in nodes if node["Alive"] and not _measures(node)]
    return _named(others, host_nodes(nodes, names))


def _measures(node: dict[str, Any]) -> bool:
    return bool(node["Alive"]) and node["Resources"].get(RESOURCE, 0) >= 1


def _named(nodes: Sequence[dict[str, Any]], others: Mapping[str, str]) -> dict[str, str]:
    """Return name -> id of nodes and of others, which have their names already."""
    named = dict(others)
    for node in sorted(nodes, key=lambda each: str(each["NodeID"])):
        given = node.get("NodeName") or node["NodeManagerHostname"]
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", given).strip("-") or "host"
        named[f"{name}-{node['NodeID'][:6]}" if name in named else name] = node["NodeID"]
    return named


@contextmanager
def connected(address: str) -> Iterator[RayCluster]:
    """Connect to a Ray cluster from one of its nodes.

    Raises:
        UsageError: Ray is not installed, or this is no address.
        SlowdustError: no cluster answers there.
    """
    host = host_of(address)
    if is_loopback(host):
        os.environ.setdefault(_LOOPBACK_STAYS, "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise UsageError(_INSTALL) from None
    knock(address)
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address,
            namespace="slowdust",
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # Ray's own are of many kinds, and most are plain RuntimeErrors
        raise SlowdustError(
            f"no cluster can be used at {address}: {_reason(error)} (a cluster with "
            "authentication wants RAY_AUTH_MODE=token and its RAY_AUTH_TOKEN)"
        ) from error
    signal.signal(signal.SIGTERM, before)  # Ray leaves at once
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()


def _reason(error: BaseException) -> str:
    """Return the last sentence of an error of Ray's, which has a trace before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception) and str(cause):
        return first_line(str(cause))
    return lines[0].partition(". ")[0] if lines else type(error).__name__
