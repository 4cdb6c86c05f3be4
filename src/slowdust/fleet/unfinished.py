"""What becomes of a shard that a host did not finish.

Its whole turns count, and what is left of it waits for another host: after the loss of its host,
after a failure, or when another host ends it sooner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowdust.experiment.plan import plan as plan_steps
from slowdust.experiment.spec.spec import Spec
from slowdust.fleet.planning.cutting import shard_spec
from slowdust.fleet.planning.plan import Plan
from slowdust.fleet.planning.queue import Again
from slowdust.fleet.receiving import unreadable
from slowdust.fleet.record import Left, Placement, Record, State, part_folder
from slowdust.store.folder import MANIFEST_FILE
from slowdust.store.reading import FAULTS
from slowdust.units import Second

_MOST_FAILURES = 3
"""Hosts on which a shard may fail."""


class _Method(msgspec.Struct):
    incarnations: int


class _Manifest(msgspec.Struct):
    """The part of a manifest that says how far a host has come."""

    method: _Method
    turns_done: dict[str, int] = {}
    settled: list[str] = []


class Turns(NamedTuple):
    """The incarnations of a shard on a host."""

    done: int
    """Incarnations in which all tests had their turns that are not settled."""
    planned: int
    most: int
    """Incarnations in which any test had its turn."""


def turns_of(manifest: bytes, steps: Collection[str]) -> Turns | None:
    """Return how far a host has come by a manifest of a shard; None where that does not tell.

    `steps` are the keys of what is measured in each incarnation.
    """
    try:
        read = msgspec.json.decode(manifest, type=_Manifest)
    except FAULTS:
        return None
    planned = max(1, read.method.incarnations)
    turns = {key: read.turns_done.get(key, 0) for key in steps}
    done = min((turns[key] for key in turns if key not in read.settled), default=planned)
    return Turns(done, planned, max(turns.values(), default=0))


class Unfinished:
    """Lets the shards of an experiment that were not finished wait again."""

    def __init__(self, folder: Path, spec: Spec, record: Record, plan: Plan) -> None:
        self._folder = folder
        self._spec = spec
        self._record = record
        self._plan = plan
        self._seconds = {shard.name: shard.seconds for shard in record.shards}
        self._steps: dict[str, list[str]] = {}
        """Shard -> the keys of what is measured in each of its incarnations."""
        self._failures: dict[str, list[str]] = {}
        """Shard -> why it failed on each host since this head began."""

    def take_up(self) -> None:
        """Take up what an earlier head knew of them."""
        for placement in self._record.placements:
            if placement.taken_over:
                self._plan.queue.exclude(placement.shard, placement.host)
        self._record.given_up.clear()  # what made shards fail may have been mended
        for name, lefts in self._record.left.items():
            self._plan.queue.keep_begun(name, [self.seconds(name, each) for each in lefts])

    def seconds(self, shard: str, left: Left | None) -> Second:
        """Return the time that is expected for what is left of a shard; None is all of it."""
        return self._seconds[shard] * (1 - left.done if left else 1.0)

    def lose(self, placement: Placement, reason: str) -> None:
        """Let others do what a host has lost, or that one when it comes again."""
        placement.state, placement.reason = State.LOST, reason
        self._put_back(placement, Again.YES)

    def take_over(self, placement: Placement, by: str) -> None:
        """Take from a host what another one ends sooner, for good."""
        placement.state, placement.reason = State.LOST, f"{by} ends it sooner"
        placement.taken_over = True
        self._put_back(placement, Again.NO)

    def fail(self, placement: Placement, reason: str) -> None:
        """Let another host try a shard."""
        placement.state, placement.reason = State.FAILED, reason
        self._failures.setdefault(placement.shard, []).append(reason)
        self._put_back(placement, Again.NO)

    def give_up(self, groups: Mapping[str, str]) -> dict[str, str]:
        """Give up what failed too often, or failed and is for none of these hosts.

        `groups` has the group of each host. Copies that hosts have, or have measured, stay. Return
        shard -> why, of those that are given up now.
        """
        sizes = Counter(groups.values())
        queue = self._plan.queue
        found = {}
        for shard, reasons in self._failures.items():
            takers = (queue.may_have(shard, host, of, sizes[of]) for host, of in groups.items())
            if queue.waits(shard) and (len(reasons) >= _MOST_FAILURES or not any(takers)):
                found[shard] = reasons[-1]
                queue.drop(shard)
        self._record.given_up |= found
        return found

    def fails_always(self, host: str) -> bool:
        """Return whether every shard of a host fails, of several."""
        of_host = [each for each in self._record.placements if each.host == host]
        return len(of_host) > 1 and all(each.state is State.FAILED for each in of_host)

    def turns(self, placement: Placement) -> Turns | None:
        """Return how far a host has come by what was received of it; None before any manifest."""
        folder = part_folder(self._folder, placement)
        if not folder.has_manifest():
            return None
        return self.turns_of(placement, (folder.path / MANIFEST_FILE).read_bytes())

    def turns_of(self, placement: Placement, manifest: bytes) -> Turns | None:
        """Return how far a host has come by a manifest; None where that does not tell."""
        shard = placement.shard
        if shard not in self._steps:
            part = shard_spec(self._spec, self._record.cuts[shard], shard, self._record.sizing)
            self._steps[shard] = [step.key for step in plan_steps(part)]
        return turns_of(manifest, self._steps[shard])

    def _put_back(self, placement: Placement, again: Again) -> None:
        """Let a shard wait again, less the turns that were complete."""
        left = self._left(placement)
        if left is not None:
            self._record.left.setdefault(placement.shard, []).append(left)
        seconds = None if left is None else self.seconds(placement.shard, left)
        self._plan.put_back(placement.shard, placement.host, again, seconds)

    def _left(self, placement: Placement) -> Left | None:
        """Return what a host has left of a shard; None for all of it."""
        before = placement.left
        folder = part_folder(self._folder, placement)
        if placement.unreadable or unreadable(folder) is not None:
            return before  # it will not count
        turns = self.turns(placement)
        if turns is None:
            return before
        # The last one is done again where the end was not reached.
        whole = min(turns.done, turns.planned - 1)
        if not whole:
            return before
        done = before.done if before else 0.0
        share = done + (1 - done) * whole / turns.planned
        return Left(done=share, turns=turns.planned - whole)
