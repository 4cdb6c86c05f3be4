"""The loop of the machine where the results of a fleet come together.

It hands out shards, keeps what hosts send, and joins it into one experiment again and again. All
that it knows is in the record and in the folders of the hosts, so that it can be killed at any
moment: what it had received is kept, what a host has measured since then is received later.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from slowdust import __version__
from slowdust.errors import SlowdustError
from slowdust.experiment.spec.spec import Spec
from slowdust.fleet.cutting import shard_spec
from slowdust.fleet.fitness import unfit
from slowdust.fleet.model import Cluster, End, Ended, HostFacts, Message, Order, Part
from slowdust.fleet.planner import Again, Queue, expected_end
from slowdust.fleet.receiving import close, receive, received
from slowdust.fleet.record import (
    Left,
    Placement,
    Record,
    State,
    part_folder,
    write_record,
)
from slowdust.fleet.roster import MOST_LOSSES, Roster
from slowdust.fleet.view import FleetView, Overview
from slowdust.store.folder import SLICES_FILE, WORKLOAD_FILE, Folder
from slowdust.units import Second
from slowdust.wording import counted, first_line, listing

Join = Callable[[Sequence[tuple[str, Folder]], Folder], None]
"""Makes the experiment of a folder of what hosts measured: the host's name, and the folder."""

_POLL: Second = 1.0
_ANSWER_WITHIN: Second = 60.0
"""Time that hosts have for their facts before the first shard is handed out."""
_PATIENCE: Second = 60.0
"""Time without any host that can measure, after which the experiment stops."""
_MOST_FAILURES = 3
"""Hosts on which a shard may fail."""
_JOIN_EVERY: Second = 20.0
_JOIN_SHARE = 0.1
"""The most of its time that the head spends joining while hosts measure."""


class Head:
    """The head of a fleet that measures one experiment."""

    def __init__(
        self,
        folder: Path,
        target: Folder,
        spec: Spec,
        record: Record,
        *,
        cluster: Cluster,
        view: FleetView,
        join: Join,
    ) -> None:
        self._folder = folder
        self._target = target
        self._spec = spec
        self._record = record
        self._cluster = cluster
        self._view = view
        self._join = join
        self._queue = Queue(record.shards, record.wanted.replicate)
        self._seconds = {shard.name: shard.seconds for shard in record.shards}
        self._roster = Roster(record)
        self._measuring: dict[str, Placement] = {}
        """Host -> the shard that it measures, or did when an earlier head was killed."""
        self._began: dict[str, Second] = {}
        """Host -> when it began what it measures, by the cluster's clock."""
        self._slices = 0
        self._fresh = False
        """Whether something was received since the last join."""
        self._joined_at = self._started_at = self._seen_at = cluster.now()
        self._join_took: Second = 0.0

    def run(self) -> None:
        """Measure the experiment, or what is left of it, to its end.

        Raises:
            SlowdustError: no host is left, no shard could be measured, or the results cannot be
                written.
        """
        self._take_up()
        while self._queue_or_work():
            self._look_for_hosts()
            for host, message in self._cluster.messages(_POLL):
                self._hear(host, message)
            self._hand_out()
            self._give_up_waiting()
            self._join_if_due()
            self._view.show(self._overview())
        self._record.finished = True
        self._save()
        for placement in self._record.placements:
            if placement.state in (State.LOST, State.FAILED):
                close(part_folder(self._folder, placement))
        self._join_all()
        for host in self._roster.ready:
            self._cluster.forget(host, self._record.id)

    def _take_up(self) -> None:
        """Take up what an earlier head left: the hosts still have what they had begun."""
        for placement in self._record.placements:
            group = self._roster.group(placement.host)
            self._roster.worked.add(placement.host)
            if placement.state is State.RUNNING:
                self._measuring[placement.host] = placement
            if placement.state in (State.RUNNING, State.FINISHED):
                self._queue.assign(placement.shard, placement.host, group)
                self._fresh = True
            elif placement.state is State.FAILED:
                self._queue.exclude(placement.shard, placement.host)
        for name in self._record.given_up:
            self._queue.drop(name)
        self._record.left_out.clear()  # they are looked at anew
        self._save()

    def _queue_or_work(self) -> bool:
        return bool(len(self._queue) or self._measuring)

    def _save(self) -> None:
        write_record(self._folder, self._record)

    def _look_for_hosts(self) -> None:
        present = self._cluster.hosts()
        for host in self._roster.gone(present):
            self._lose(host, "it left the cluster")
        now = self._cluster.now()
        for host in self._roster.ask(present, now):
            self._cluster.examine(host)
        if now - self._started_at > _ANSWER_WITHIN:
            for host in [*self._measuring]:
                if not self._roster.takes_part(host):
                    self._lose(host, "it did not come back")

    def _hear(self, host: str, message: Message) -> None:
        if isinstance(message, Part):
            self._keep(host, message)
        elif isinstance(message, HostFacts):
            self._meet(host, message)
        elif isinstance(message, Ended):
            self._end(host, message)
        elif self._roster.takes_part(host):
            self._lose(host, message.reason)

    def _meet(self, host: str, facts: HostFacts) -> None:
        """Let a host take part, or leave it out by name."""
        self._roster.answer(host, facts)
        if reason := unfit(facts, __version__, self._record.wanted.unfit):
            self._leave_out(host, reason)
            return
        self._roster.ready.add(host)
        self._view.event(f"{host}: {facts.cpu or 'unknown CPU'}, {facts.cpus} CPUs")
        if (placement := self._measuring.get(host)) is not None:
            self._begin(placement)
        self._save()

    def _leave_out(self, host: str, reason: str) -> None:
        self._roster.leave_out(host, reason)
        self._save()
        self._view.warning(f"{host} is left out: {reason}")

    def _keep(self, host: str, part: Part) -> None:
        placement = self._measuring.get(host)
        if placement is None:
            return
        receive(part_folder(self._folder, placement), part)
        self._fresh = True
        if part.file == SLICES_FILE:
            self._slices += part.content.count(b"\n")

    def _end(self, host: str, ended: Ended) -> None:
        placement = self._measuring.pop(host, None)
        self._began.pop(host, None)
        if placement is None:
            return
        reason = first_line(ended.reason)
        if ended.end is End.FINISHED:
            placement.state = State.FINISHED
            self._view.event(f"{placement.words}: finished")
        elif ended.end is End.FAILED:
            self._fail(placement, reason)
        else:
            self._put_back(placement, reason, Again.YES)
            if ended.end is End.UNFIT:
                self._leave_out(host, reason)
        self._fresh = True
        self._save()

    def _fail(self, placement: Placement, reason: str) -> None:
        """Let another host try a shard, unless too many have."""
        placement.state, placement.reason = State.FAILED, reason
        self._view.warning(f"{placement.words}: {reason}")
        failed = [each for each in self._record.of(placement.shard) if each.state is State.FAILED]
        others = self._roster.ready - {each.host for each in failed}
        if len(failed) >= _MOST_FAILURES or not others:
            self._record.given_up[placement.shard] = reason
            self._queue.drop(placement.shard)
        else:
            self._return(placement, Again.NO)
        of_host = [each for each in self._record.placements if each.host == placement.host]
        if len(of_host) > 1 and all(each.state is State.FAILED for each in of_host):
            self._leave_out(placement.host, f"every shard fails there: {reason}")

    def _lose(self, host: str, reason: str) -> None:
        """Let others do what is left of a lost host's shard; it may come again."""
        times = self._roster.lose(host, self._cluster.now())
        self._began.pop(host, None)
        if (placement := self._measuring.pop(host, None)) is not None:
            self._put_back(placement, reason, Again.YES)
        self._view.warning(f"{host} is lost: {reason}")
        if times >= MOST_LOSSES:
            self._leave_out(host, f"lost {times} times: {reason}")
        self._save()

    def _put_back(self, placement: Placement, reason: str, again: Again) -> None:
        placement.state, placement.reason = State.LOST, reason
        self._fresh = True
        self._return(placement, again)

    def _return(self, placement: Placement, again: Again) -> None:
        """Let a shard wait again, less the turns that were complete."""
        left = self._left(placement)
        if left is not None:
            self._record.left.setdefault(placement.shard, []).append(left)
        self._queue.put_back(placement.shard, placement.host, again)

    def _left(self, placement: Placement) -> Left | None:
        """Return what a host has left of a shard; None for all of it."""
        folder = part_folder(self._folder, placement)
        before = placement.left
        if not folder.has_manifest():
            return before
        manifest = folder.read_manifest()
        cut = self._record.cuts[placement.shard]
        planned = manifest.method.incarnations
        keys = [f"{test}@{clients}" for test in cut.tests for clients in cut.clients]
        turns = min((manifest.turns_done.get(key, 0) for key in keys), default=0)
        turns = min(turns, planned - 1)  # the last one is done again where the end was not reached
        if not turns:
            return before
        done = before.done if before else 0.0
        return Left(done=done + (1 - done) * turns / planned, turns=planned - turns)

    def _hand_out(self) -> None:
        waited = self._cluster.now() - self._started_at
        if self._roster.asked and not self._record.placements and waited < _ANSWER_WITHIN:
            return  # which hosts are alike is known when all have answered
        chosen = self._roster.chosen()
        groups = Counter(map(self._roster.group, chosen))
        for host in chosen:
            if host not in self._measuring:
                self._give(host, groups[self._roster.group(host)])

    def _give(self, host: str, size_of_group: int) -> None:
        shard = self._queue.take(host, self._roster.group(host), size_of_group)
        if shard is None:
            return
        left = self._record.left.get(shard.name)
        before = [each for each in self._record.of(shard.name) if each.host == host]
        placement = Placement(
            shard=shard.name,
            host=host,
            folder=f"{shard.name}-{len(before) + 1}" if before else shard.name,
            begun=time.time(),
            left=left.pop(0) if left else None,
        )
        self._record.placements.append(placement)
        self._measuring[host] = placement
        self._roster.worked.add(host)
        self._save()
        self._begin(placement)

    def _begin(self, placement: Placement) -> None:
        self._began[placement.host] = self._cluster.now()
        self._cluster.run(placement.host, self._order(placement))
        cut = self._record.cuts[placement.shard]
        self._view.event(f"{placement.words}: {cut.words()}")

    def _order(self, placement: Placement) -> Order:
        folder = part_folder(self._folder, placement)
        left = placement.left or Left(done=0.0, turns=0)
        spec = shard_spec(
            self._spec,
            self._record.cuts[placement.shard],
            placement.folder,
            done=left.done,
            turns=left.turns,
        )
        workload = self._spec.workload
        return Order(
            experiment=self._record.id,
            folder=placement.folder,
            spec=spec.to_toml(),
            files={} if workload is None else {WORKLOAD_FILE: workload.workload.kept_text.encode()},
            started=folder.read_manifest().started if folder.has_manifest() else None,
            have=received(folder),
        )

    def _give_up_waiting(self) -> None:
        """Stop where nobody has been there for a while who can measure what is left.

        Raises:
            SlowdustError: says who was left out, and why.
        """
        if self._roster.asked or self._measuring:
            self._seen_at = self._cluster.now()
        if self._cluster.now() - self._seen_at < _PATIENCE:
            return
        self._save()
        with suppress(SlowdustError):
            self._join_all()
        raise SlowdustError(self._why_nobody())

    def _why_nobody(self) -> str:
        wanted = self._record.wanted.replicate
        out = [f"{host} ({reason})" for host, reason in sorted(self._record.left_out.items())]
        left = f"{counted(len(self._queue), 'shard')} cannot be measured"
        if self._roster.ready and wanted > 1:
            return f"{left}: each needs {wanted} hosts of one CPU model; --resume goes on"
        reasons = f"; left out: {listing(out)}" if out else ""
        return f"{left}: no host is there that could{reasons}; --resume goes on"

    def _join_if_due(self) -> None:
        now = self._cluster.now()
        pause = max(_JOIN_EVERY, self._join_took / _JOIN_SHARE)
        if self._fresh and now - self._joined_at >= pause:
            try:
                self._join_all()
            except SlowdustError as error:  # at the end it is one
                self._view.warning(f"cannot join what there is so far: {first_line(str(error))}")
            self._joined_at = self._cluster.now()
            self._join_took = self._joined_at - now

    def _join_all(self) -> None:
        """Join what has been received; nothing where there is none.

        Raises:
            SlowdustError: it does not belong together, or cannot be written.
        """
        self._fresh = False
        parts = self.parts()
        if parts:
            self._join(parts, self._target)

    def parts(self) -> list[tuple[str, Folder]]:
        """Return host and folder of all that has been measured."""
        folders = [(each.host, part_folder(self._folder, each)) for each in self._record.placements]
        return [
            (host, folder)
            for host, folder in folders
            if folder.has_manifest() and received(folder).get(SLICES_FILE)
        ]

    def _overview(self) -> Overview:
        ready = self._roster.ready
        measuring = {host: each for host, each in self._measuring.items() if host in ready}
        busy = {host: self._left_of(each) for host, each in measuring.items()}
        idle = len(self._roster.chosen()) - len(busy)
        finished = [p for p in self._record.placements if p.state is State.FINISHED]
        return Overview(
            hosts={
                host: measuring[host].folder if host in measuring else None
                for host in sorted(ready)
            },
            left_out=dict(self._record.left_out),
            finished=len(finished),
            shards=len(self._record.shards) * self._record.wanted.replicate,
            slices=self._slices,
            left=expected_end(self._queue.waiting, busy, idle) if busy or idle else None,
        )

    def _left_of(self, placement: Placement) -> Second:
        seconds = self._seconds[placement.shard]
        share = 1 - placement.left.done if placement.left else 1.0
        spent = self._cluster.now() - self._began.get(placement.host, self._cluster.now())
        return max(0.0, seconds * share - spent)
