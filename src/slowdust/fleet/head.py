"""The loop of the machine where the results of a fleet come together.

It hands out shards, keeps what hosts send, and joins it into one experiment again and again. All
that it knows is in the record and in the folders of the hosts, so that it can be killed at any
moment: what it had received is kept, what a host has measured since then is received later.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from slowdust import __version__
from slowdust.errors import SlowdustError
from slowdust.experiment.spec.spec import Spec
from slowdust.fleet.gathering import Gathering, Join
from slowdust.fleet.hosts.fitness import unfit
from slowdust.fleet.hosts.forgetting import forget_everywhere
from slowdust.fleet.hosts.roster import MOST_LOSSES, Roster
from slowdust.fleet.model import Cluster, End, Ended, HostFacts, Message, Order, Part
from slowdust.fleet.planning.cutting import shard_spec
from slowdust.fleet.planning.pace import Teaches
from slowdust.fleet.planning.plan import Plan, Takeover
from slowdust.fleet.receiving import OddPartError, receive, received, unreadable
from slowdust.fleet.record import (
    Left,
    Placement,
    Record,
    State,
    part_folder,
    write_record,
)
from slowdust.fleet.unfinished import Turns, Unfinished
from slowdust.fleet.view import FleetView, Overview
from slowdust.store.folder import MANIFEST_FILE, SLICES_FILE, WORKLOAD_FILE, Folder
from slowdust.units import Second
from slowdust.wording import counted, first_line, listing

_POLL: Second = 1.0
_ANSWER_WITHIN: Second = 60.0
"""Time that hosts have for their facts before the first shard is handed out."""
_PATIENCE: Second = 60.0
"""Time without any host that can measure, after which the experiment stops."""


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
        self._plan = Plan(record.shards, record.wanted.replicate)
        self._unfinished = Unfinished(folder, spec, record, self._plan)
        self._roster = Roster(record)
        self._measuring: dict[str, Placement] = {}
        """Host -> the shard that it measures, or did when an earlier head was killed."""
        self._slices = 0
        self._gathering = Gathering(
            folder,
            target,
            record,
            join=join,
            distrust=self._distrust,
            cluster=cluster,
            view=view,
        )
        self._started_at = self._seen_at = cluster.now()

    def run(self) -> None:
        """Measure the experiment, or what is left of it, to its end.

        Raises:
            SlowdustError: no host is left, no shard could be measured, or the results cannot be
                written.
        """
        self._take_up()
        while self._queue_or_work() or not self._end_well():
            self._look_for_hosts()
            for host, message in self._cluster.messages(_POLL):
                self._hear(host, message)
            self._hand_out()
            self._give_up_waiting()
            self._gathering.join_if_due()
            self._view.show(self._overview())
        forget_everywhere(self._record, self._cluster, self._roster.ready)
        self._save()
        if not self._target.has_manifest():
            reasons = listing(sorted({*self._record.given_up.values()}))
            raise SlowdustError(f"no shard could be measured: {reasons}")

    def _take_up(self) -> None:
        """Take up what an earlier head left: the hosts still have what they had begun."""
        for placement in self._record.placements:
            group = self._roster.group(placement.host)
            self._roster.worked.add(placement.host)
            if placement.state is State.RUNNING:
                self._measuring[placement.host] = placement
            if placement.state in (State.RUNNING, State.FINISHED):
                self._plan.queue.assign(placement.shard, placement.host, group)
                self._gathering.is_fresh = True
        self._unfinished.take_up()
        self._record.left_out.clear()  # they are looked at anew
        self._record.finished = not self._queue_or_work()
        self._save()

    def _end_well(self) -> bool:
        """Join all; return whether it could be read, so that nothing is measured again."""
        self._gathering.close()
        self._gathering.join()
        self._record.finished = not self._queue_or_work()
        self._save()
        return self._record.finished

    def _queue_or_work(self) -> bool:
        return bool(self._plan.queue or self._measuring)

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
            if host in self._roster.asked:  # it may have been left out meanwhile
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
            self._go_on(placement)
        self._save()

    def _leave_out(self, host: str, reason: str) -> None:
        self._roster.leave_out(host, reason)
        self._save()
        self._view.warning(f"{host} is left out: {reason}")

    def _keep(self, host: str, part: Part) -> None:
        placement = self._measuring.get(host)
        if placement is None:
            return
        try:
            receive(part_folder(self._folder, placement), part)
        except OddPartError as error:
            self._take_from(host, str(error))
            return
        self._gathering.is_fresh = True
        if part.file == SLICES_FILE:
            self._slices += part.content.count(b"\n")
        elif part.file == MANIFEST_FILE:
            self._advance(host, self._unfinished.turns_of(placement, part.content))

    def _take_from(self, host: str, reason: str) -> None:
        """Leave a host out that cannot be trusted, and let others do what it measures."""
        if (placement := self._measuring.pop(host, None)) is not None:
            self._unfinished.lose(placement, reason)
            self._gathering.is_fresh = True
        self._leave_out(host, reason)

    def _distrust(self, placement: Placement, reason: str) -> None:
        """Let others measure what cannot be read of a host, which measures nothing more."""
        text = f"what it sent of {placement.folder} cannot be read, and does not count: {reason}"
        placement.unreadable = True
        if placement.state is State.FINISHED:
            self._unfinished.lose(placement, text)
        self._take_from(placement.host, text)

    def _advance(self, host: str, turns: Turns | None) -> None:
        if turns is not None:
            done = min(1.0, turns.done / turns.planned)
            self._plan.paces.advance(host, done, self._cluster.now())

    def _end(self, host: str, ended: Ended) -> None:
        placement = self._measuring.pop(host, None)
        if placement is None:
            return
        reason = first_line(ended.reason)
        if ended.end is End.FINISHED:
            placement.state = State.FINISHED
            turns = self._unfinished.turns(placement)
            share = min(1.0, turns.most / turns.planned) if turns else 0.0
            self._plan.paces.finish(host, self._cluster.now(), share)
            self._view.event(f"{placement.words}: finished")
        elif ended.end is End.FAILED:
            self._fail(placement, reason)
        else:
            self._unfinished.lose(placement, reason)
            if ended.end is End.UNFIT:
                self._leave_out(host, reason)
        self._gathering.is_fresh = True
        self._save()

    def _fail(self, placement: Placement, reason: str) -> None:
        self._view.warning(f"{placement.words}: {reason}")
        self._unfinished.fail(placement, reason)
        if self._unfinished.fails_always(placement.host):
            self._leave_out(placement.host, f"every shard fails there: {reason}")
        self._give_up_failed()

    def _give_up_failed(self) -> bool:
        """Give up what failed and nobody else may measure; return whether there was any."""
        groups = {host: self._roster.group(host) for host in self._roster.chosen()}
        found = self._unfinished.give_up(groups)
        for shard, reason in found.items():
            words = self._record.cuts[shard].words()
            self._view.warning(f"{shard} ({words}) is given up: {reason}")
        return bool(found)

    def _lose(self, host: str, reason: str) -> None:
        """Let others do what is left of a lost host's shard; it may come again."""
        times = self._roster.lose(host, self._cluster.now())
        if (placement := self._measuring.pop(host, None)) is not None:
            self._unfinished.lose(placement, reason)
            self._gathering.is_fresh = True
        self._view.warning(f"{host} is lost: {reason}")
        if times >= MOST_LOSSES:
            self._leave_out(host, f"lost {times} times: {reason}")
        self._save()

    def _hand_out(self) -> None:
        waited = self._cluster.now() - self._started_at
        if self._roster.asked and not self._record.placements and waited < _ANSWER_WITHIN:
            return  # which hosts are alike is known when all have answered
        now = self._cluster.now()
        groups = {host: self._roster.group(host) for host in self._roster.chosen()}
        self._plan.share(groups, now)
        idle = [host for host in groups if host not in self._measuring]
        for host in self._plan.quickest_first(idle):
            if (shard := self._plan.take(host, now)) is not None:
                self._place(host, shard.name)
                idle.remove(host)
        while (found := self._plan.takeover(idle, now)) is not None:
            self._take_over(found)
            idle.remove(found.by)

    def _take_over(self, found: Takeover) -> None:
        """Let an idle host do what is left of another one's shard."""
        placement = self._measuring.pop(found.host)
        self._plan.paces.stop(found.host, self._cluster.now())
        self._unfinished.take_over(placement, found.by)
        self._gathering.is_fresh = True
        self._save()  # a head that goes on must not let the host go on
        self._view.event(f"{placement.words}: stopped, {placement.reason}")
        self._roster.ask_again(found.host)
        self._cluster.stop(found.host)
        self._plan.give(placement.shard, found.by, self._cluster.now())
        self._place(found.by, placement.shard)

    def _place(self, host: str, shard: str) -> None:
        left = self._record.left.get(shard)
        before = [each for each in self._record.of(shard) if each.host == host]
        placement = Placement(
            shard=shard,
            host=host,
            folder=f"{shard}-{len(before) + 1}" if before else shard,
            begun=time.time(),
            left=left.pop(0) if left else None,
        )
        self._record.placements.append(placement)
        self._record.forgotten.discard(host)
        self._measuring[host] = placement
        self._roster.worked.add(host)
        self._save()
        self._begin(placement)

    def _go_on(self, placement: Placement) -> None:
        """Let a host go on with what an earlier head gave it."""
        if (reason := unreadable(part_folder(self._folder, placement))) is not None:
            self._distrust(placement, reason)
            return
        host, shard, now = placement.host, placement.shard, self._cluster.now()
        seconds = self._unfinished.seconds(shard, placement.left)
        self._plan.paces.begin(host, shard, seconds, now, Teaches.NO)
        self._advance(host, self._unfinished.turns(placement))
        self._begin(placement)

    def _begin(self, placement: Placement) -> None:
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
            self._record.sizing,
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
        given_up = self._give_up_failed()
        self._save()
        if given_up and not self._queue_or_work():
            return
        with suppress(SlowdustError):
            self._gathering.join()
        raise SlowdustError(self._why_nobody())

    def _why_nobody(self) -> str:
        wanted = self._record.wanted.replicate
        out = [f"{host} ({reason})" for host, reason in sorted(self._record.left_out.items())]
        left = f"{counted(len(self._plan.queue), 'shard')} cannot be measured"
        if self._roster.ready and wanted > 1:
            return f"{left}: each needs {wanted} hosts of one CPU model; --resume goes on"
        reasons = f"; left out: {listing(out)}" if out else ""
        return f"{left}: no host is there that could{reasons}; --resume goes on"

    def _overview(self) -> Overview:
        ready = self._roster.ready
        measuring = {host: each for host, each in self._measuring.items() if host in ready}
        idle = len(self._roster.chosen()) - len(measuring)
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
            left=self._plan.expected_end(idle, self._cluster.now()),
        )
