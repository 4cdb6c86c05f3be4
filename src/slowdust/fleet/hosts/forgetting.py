"""Removing what hosts keep of an experiment that has ended."""

from __future__ import annotations

from collections.abc import Collection

from slowdust.fleet.model import Cluster, HostFacts, Lost
from slowdust.fleet.record import Record
from slowdust.units import Second

_POLL: Second = 1.0
_ANSWER_WITHIN: Second = 60.0
"""Time that a host has that was lost or left out, in which its servers stop, too."""


def forget_everywhere(record: Record, cluster: Cluster, ready: Collection[str]) -> None:
    """Let all hosts that are there remove what they have of an experiment, and note which did.

    Hosts that are not `ready` have to answer first; those that do not are asked another time.
    """
    there = record.keeping & {*cluster.hosts()}
    for host in sorted(there.intersection(ready)):
        _forget(record, cluster, host)
    asked = there.difference(ready)
    for host in sorted(asked):
        cluster.examine(host)
    end = cluster.now() + _ANSWER_WITHIN
    while asked and cluster.now() < end:
        for host, message in cluster.messages(_POLL):
            if host in asked and isinstance(message, HostFacts):
                _forget(record, cluster, host)
            if isinstance(message, HostFacts | Lost):
                asked.discard(host)


def _forget(record: Record, cluster: Cluster, host: str) -> None:
    cluster.forget(host, record.id)
    record.forgotten.add(host)
