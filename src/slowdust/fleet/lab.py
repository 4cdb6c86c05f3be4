"""The head of a fleet: it measures an experiment on hosts, and merges their results.

Its whole state is in the record and in the hosts' folders, so it can be killed at any time. A host
keeps its measurements until the experiment has finished.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowdust import __version__
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.contender import ResolvedContender
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.live import open_view
from slowdust.experiment.plan import plan as plan_steps
from slowdust.experiment.run_estimate import estimate_run
from slowdust.experiment.setup import check_settings, resolve_contenders
from slowdust.experiment.spec.spec import Spec, read_spec
from slowdust.fleet.build_transfer import push_builds
from slowdust.fleet.cluster import (
    Cluster,
    End,
    HostFacts,
    HostLost,
    Message,
    ShardBundle,
    ShardEnded,
    ShardOrder,
    complete_starts,
)
from slowdust.fleet.queue import (
    HOSTS,
    UNKNOWN_CPU,
    Asked,
    Builds,
    Left,
    Placement,
    Queue,
    Record,
    State,
    Unfit,
    Wanted,
    cpu_model,
    has_record,
    part_folder,
    read_record,
    remaining_time,
    write_record,
)
from slowdust.fleet.shards import cut, shard_spec
from slowdust.fleet.view import FleetView, OpenFleetView, open_fleet_view
from slowdust.merge.merge import merge
from slowdust.merge.sources import Source, disambiguate_hosts
from slowdust.store.bundle import BundleError, open_bundle
from slowdust.store.experiments import put_in_place, staging_folder
from slowdust.store.finding import Severity
from slowdust.store.folder import (
    FLEET_SPEC_FILE,
    FLEET_SUFFIX,
    MANIFEST_FILE,
    WORKLOAD_FILE,
    Folder,
    fleet_folder,
)
from slowdust.store.storage import cannot_write, locked, replace_file
from slowdust.units import Second, format_duration
from slowdust.wording import counted, first_line, listing

_POLL: Second = 1.0
_HOSTS_WITHIN: Second = 30.0
"""Time limit for the first host to appear."""
_ANSWER_WITHIN: Second = 60.0
"""Time for hosts to send their facts before the first shard is assigned."""
_PATIENCE: Second = 60.0
"""Time without a usable host after which the experiment stops."""
_ASK_AGAIN_AFTER: Second = 30.0
"""Time until a lost host is asked again: the cluster may not know yet that it is gone."""
_EXTENDED = ("budget", "incarnations", "only")
"""Keys of a specification that an extension may change."""
_MOST_LOSSES = 3
"""Losses of one host after which it is excluded."""


class FleetLab:
    """The hosts of a cluster, as a `Lab`."""

    def __init__(
        self, cluster: Cluster, asked: Asked, open_fleet_view: OpenFleetView = open_fleet_view
    ) -> None:
        self._cluster = cluster
        self._asked = asked
        self._open_fleet_view = open_fleet_view

    def prepare(self, spec: Spec) -> list[ResolvedContender]:
        """Get the builds on the head, and push them to the hosts; see `Lab`."""
        if self._asked.builds is Builds.PULL:
            with open_view() as view:
                return resolve_contenders(spec, view)
        return push_builds(spec, self._cluster, self._open_fleet_view)

    def phase(self, text: str) -> None:
        with self._open_fleet_view() as view:
            view.event(text)

    def measure(self, experiment: Experiment) -> None:
        """Measure, resume or extend an experiment; its folder gets the hosts' results.

        Raises:
            UsageError: its name is taken, or it differs from the stored one.
            SlowdustError: no host is left, no shard could be measured, or a file cannot be written.
        """
        spec, target = experiment.spec, experiment.folder
        folder, hosts = fleet_folder(experiment.results, spec.name), self._count_hosts()
        with _held(folder):
            record = self._record(spec, folder, target, hosts)
            self.phase(f"experiment {spec.name} in {target.path}")
            copies = record.wanted.replicate
            where = "one host" if copies == 1 else f"{copies} hosts of one CPU model"
            total = sum(shard.seconds for shard in record.shards) * copies
            self.phase(
                f"{counted(len(record.shards), 'shard')}, each on {where}: "
                f"{format_duration(round(total))} of host time; {counted(hosts, 'host')} available"
            )
            if record.wanted.builds is Builds.PUSH:
                check_settings(push_builds(spec, self._cluster, self._open_fleet_view))
            with self._open_fleet_view() as view:
                _Head(folder, target, spec, record, cluster=self._cluster, view=view).run()

    def _count_hosts(self) -> int:
        end = self._cluster.now() + _HOSTS_WITHIN
        while not (hosts := len(self._cluster.hosts())):
            if self._cluster.now() > end:
                raise SlowdustError(
                    "no node of the cluster is a host: start one with `ray start --resources "
                    "'{\"slowdust_host\": 1}'`"
                )
            self._cluster.messages(_POLL)
        return hosts

    def _record(self, spec: Spec, folder: Path, target: Folder, hosts: int) -> Record:
        """Return the record of an experiment, new for `hosts` hosts or resumed.

        Raises:
            UsageError: its name is taken, or it differs from the stored one.
        """
        if _has_placements(folder):
            record = read_record(folder)
            before = record.wanted.replicate
            if self._asked.replicate not in (None, before):
                was = "--spread" if before == 1 else f"--replicate {before}"
                raise UsageError(
                    f"cannot resume '{spec.name}' with a different number of copies: it was "
                    f"started with {was}"
                )
            if not (target.has_manifest() and target.read_manifest().hosts):
                _refuse_taken(target, "move it elsewhere")
            more = _extension(spec, read_spec(folder / FLEET_SPEC_FILE), target)
        else:
            _refuse_taken(target, "choose another name")
            record = Record(id=f"{spec.name}-{secrets.token_hex(4)}", wanted=Wanted(), shards=[])
            more = spec
        record.wanted = self._asked.over(record.wanted)
        if more is not None:
            there = min(hosts, record.wanted.hosts or hosts)
            first = len(record.shards) + 1

            def seconds_of(part: Spec) -> Second:
                estimate = estimate_run(part, target.path.parent)
                return estimate.wall - estimate.builds

            record.shards += cut(more, there, seconds_of, record.wanted.replicate, first)
            replace_file(folder / FLEET_SPEC_FILE, spec.to_toml().encode())
            write_record(folder, record)
        return record


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock the folder of a fleet's experiment; remove it afterwards if nothing was measured.

    Raises:
        UsageError: another process has locked it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, f"a fleet measures '{folder.name.removesuffix(FLEET_SUFFIX)}' now"):
        try:
            yield
        finally:
            if not (folder / HOSTS).exists() and not _has_placements(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _has_placements(folder: Path) -> bool:
    return has_record(folder) and bool(read_record(folder).placements)


def _extension(spec: Spec, before: Spec, target: Folder) -> Spec | None:
    """Return the additional measurements of a specification, if any.

    Raises:
        UsageError: it changes more than the time, the starts and the tests that get them.
    """
    kept = {key: getattr(before, key) for key in _EXTENDED}
    if spec.to_toml() == before.model_copy(update={"name": spec.name}).to_toml():
        return None
    same = spec.model_copy(update={**kept, "name": before.name}).to_toml() == before.to_toml()
    if not (same and target.has_manifest()):
        raise UsageError(
            f"cannot resume '{spec.name}': its specification changed since it was started; the "
            f"original is {fleet_folder(target.path.parent, spec.name) / FLEET_SPEC_FILE}"
        )
    manifest = target.read_manifest()
    spent = manifest.spent_s
    if manifest.finished is None:  # the rest of the plan will be measured as well
        spent = max(spent, manifest.method.budget_s or 0.0)
    tests = {test.name for test in spec.tests_to_measure()}
    done = [n for step, n in manifest.turns_done.items() if step.rpartition("@")[0] in tests]
    starts = spec.incarnations and max(1, spec.incarnations - max(done, default=0))
    changes = {"budget": max(0.0, spec.budget - spent), "incarnations": starts}
    return spec.model_copy(update=changes)


def _refuse_taken(target: Folder, remedy: str) -> None:
    """Refuse to merge into a folder with other results.

    Raises:
        UsageError: has the remedy.
    """
    if target.path.is_dir() and any(target.path.iterdir()):
        raise UsageError(f"'{target.name}' exists already in {target.path.parent}: {remedy}")


class _Head:
    """The loop that assigns the shards of one experiment to hosts."""

    def __init__(
        self,
        folder: Path,
        target: Folder,
        spec: Spec,
        record: Record,
        *,
        cluster: Cluster,
        view: FleetView,
    ) -> None:
        self._folder = folder
        self._target = target
        self._spec = spec
        self._record = record
        self._cluster = cluster
        self._view = view
        self._queue = Queue(record)
        self._asked: set[str] = set()
        """Hosts that have not answered yet."""
        self._ready: set[str] = set()
        """Hosts that are measuring or idle."""
        self._losses: Counter[str] = Counter()
        self._ask_again: dict[str, Second] = {}
        """Lost host -> when to ask it again, if it is present."""
        running = (each for each in record.placements if each.state is State.RUNNING)
        self._measuring = {each.host: each for each in running}
        """Host -> its shard, or its shard when an earlier head was killed."""
        self._begun: dict[str, Second] = {}
        """Host -> when its shard began."""
        self._started_at = self._seen_at = cluster.now()

    def run(self) -> None:
        self._record.given_up.clear()  # the causes of failures may be gone
        self._record.left_out.clear()
        self._record.finished = not self._has_work()
        self._save()
        try:
            while self._has_work():
                self._look_for_hosts()
                for host, message in self._cluster.messages(_POLL):
                    self._hear(host, message)
                self._assign_shards()
                self._stop_without_hosts()
                self._view.show(self._state())
        except BaseException:
            with suppress(SlowdustError):
                self._merge()  # partial results can be shown
            raise
        self._close_unfinished()
        self._merge()
        self._record.finished = True
        self._save()
        # Absent hosts keep their files until `--resume`.
        for host in sorted(self._record.keeping & {*self._cluster.hosts()}):
            if self._cluster.forget(host, self._record.id):
                self._record.forgotten.add(host)
        self._save()
        if not self._target.has_manifest():
            reasons = listing(sorted({*self._record.given_up.values()}))
            raise SlowdustError(f"no shard could be measured: {reasons}")

    def _has_work(self) -> bool:
        return bool(self._queue.waiting() or self._measuring)

    def _save(self) -> None:
        write_record(self._folder, self._record)

    # Hosts

    def _look_for_hosts(self) -> None:
        present, now = {*self._cluster.hosts()}, self._cluster.now()
        for host in sorted((self._ready | self._asked) - present):
            self._lose(host, "it left the cluster")
        known = self._ready | self._asked | self._record.left_out.keys()
        for host in sorted(present - known):
            if now >= self._ask_again.get(host, now):
                self._asked.add(host)
                self._cluster.examine(host)
        if now - self._started_at > _ANSWER_WITHIN:
            for host in self._measuring.keys() - self._ready - self._asked:
                self._lose(host, "it did not return")

    def _hear(self, host: str, message: Message) -> None:
        match message:
            case HostFacts() if host in self._asked:
                self._meet(host, message)
            case ShardBundle() if host in self._measuring:
                try:
                    _receive(part_folder(self._folder, self._measuring[host]), message)
                except (BundleError, UsageError) as error:
                    what = first_line(str(error))
                    self._exclude(host, f"it sent an unusable bundle: {what}")
            case ShardEnded() if host in self._measuring:
                self._end(host, message)
            case HostLost() if host in self._ready | self._asked:
                self._lose(host, message.reason)
            case _:  # from a host that has been excluded
                pass

    def _meet(self, host: str, facts: HostFacts) -> None:
        self._asked.discard(host)
        self._record.hosts[host] = facts
        problems = [each for each in facts.findings if each.severity is Severity.PROBLEM]
        if facts.slowdust != __version__:
            self._exclude(host, f"it has Slowdust {facts.slowdust}, but the head has {__version__}")
            return
        if problems and self._record.wanted.unfit is Unfit.EXCLUDE:
            self._exclude(host, f"{problems[0].check}: {problems[0].state}")
            return
        self._ready.add(host)
        self._view.event(f"{host}: {facts.cpu or UNKNOWN_CPU}, {facts.cpus} CPUs")
        if host in self._measuring:
            self._begin(self._measuring[host])
        self._save()

    def _exclude(self, host: str, reason: str) -> None:
        """Exclude a host, and put its shard back into the queue."""
        self._requeue(host, State.LOST, reason)
        self._ready.discard(host)
        self._asked.discard(host)
        self._record.left_out[host] = reason
        self._save()
        self._view.warning(f"{host} is excluded: {reason}")

    def _lose(self, host: str, reason: str) -> None:
        """Put the shard of a lost host back into the queue; the host may return."""
        self._requeue(host, State.LOST, reason)
        self._ready.discard(host)
        self._asked.discard(host)
        self._losses[host] += 1
        self._ask_again[host] = self._cluster.now() + _ASK_AGAIN_AFTER
        self._view.warning(f"{host} is lost: {reason}")
        if self._losses[host] >= _MOST_LOSSES:
            self._exclude(host, f"lost {self._losses[host]} times: {reason}")
        self._save()

    def _groups(self) -> dict[str, str]:
        """Return the CPU models of the hosts to use: busy hosts first, then the largest group.

        They are at most as many as the user wants.
        """
        models = {host: cpu_model(self._record, host) for host in self._ready}
        sizes = Counter(models.values())
        worked = {each.host for each in self._record.placements}
        ordered = sorted(models, key=lambda host: (host not in worked, -sizes[models[host]], host))
        return {host: models[host] for host in ordered[: self._record.wanted.hosts]}

    def _stop_without_hosts(self) -> None:
        """Stop if there has been no host for the remaining shards for a while.

        Raises:
            SlowdustError: names the excluded hosts and the reasons.
        """
        if self._asked or self._measuring:
            self._seen_at = self._cluster.now()
        if self._cluster.now() - self._seen_at < _PATIENCE:
            return
        self._fail_shards()
        self._save()
        if not self._has_work():
            return
        left = f"{counted(len(self._queue.waiting()), 'shard')} cannot be measured"
        wanted = self._record.wanted.replicate
        if self._ready and wanted > 1:
            raise SlowdustError(
                f"{left}: each needs {wanted} hosts of one CPU model; continue with --resume"
            )
        out = [f"{host} ({reason})" for host, reason in sorted(self._record.left_out.items())]
        reasons = f"; excluded: {listing(out)}" if out else ""
        raise SlowdustError(f"{left}: no suitable host{reasons}; continue with --resume")

    # Shards

    def _assign_shards(self) -> None:
        waited = self._cluster.now() - self._started_at
        if self._asked and not self._record.placements and waited < _ANSWER_WITHIN:
            return  # wait until the CPU models of all hosts are known
        groups = self._groups()
        for host in (host for host in groups if host not in self._measuring):
            if (taken := self._queue.take(host, groups)) is None:
                continue
            shard, left = taken
            before = sum(each.host == host for each in self._record.of(shard))
            placement = Placement(
                shard=shard,
                host=host,
                folder=f"{shard}-{before + 1}" if before else shard,
                begun=time.time(),
                left=left,
            )
            self._record.placements.append(placement)
            self._record.forgotten.discard(host)
            self._measuring[host] = placement
            self._save()
            self._begin(placement)

    def _begin(self, placement: Placement) -> None:
        """Start a shard on its host, or resume it there."""
        self._begun[placement.host] = self._cluster.now()
        folder = part_folder(self._folder, placement)
        spec = self._shard_spec(placement)
        workload = self._spec.workload
        order = ShardOrder(
            experiment=self._record.id,
            folder=placement.folder,
            spec=spec.to_toml(),
            steps=[step.key for step in plan_steps(spec)],
            files={} if workload is None else {WORKLOAD_FILE: workload.workload.kept_text.encode()},
            started=folder.read_manifest().started if folder.has_manifest() else None,
        )
        self._cluster.run(placement.host, order)
        self._view.event(f"{placement.path}: {self._record.shard(placement.shard).what}")

    def _shard_spec(self, placement: Placement) -> Spec:
        shard, left = self._record.shard(placement.shard), placement.left
        done, starts = (left.done, left.starts) if left else (0.0, None)
        return shard_spec(self._spec, shard, placement.folder, done=done, starts=starts)

    def _end(self, host: str, ended: ShardEnded) -> None:
        placement, reason = self._measuring[host], first_line(ended.reason)
        if ended.end is End.DISK_FULL:
            self._exclude(host, reason)
        elif ended.end is End.GONE:
            self._requeue(host, State.LOST, reason)
        elif ended.end is End.FINISHED:
            del self._measuring[host]
            placement.state, placement.reason = State.FINISHED, reason
            self._view.event(f"{placement.path}: finished")
        else:
            self._view.warning(f"{placement.path}: {reason}")
            self._requeue(host, State.FAILED, reason)
            states = {each.state for each in self._record.placements if each.host == host}
            several = sum(each.host == host for each in self._record.placements) > 1
            if several and states == {State.FAILED}:
                self._exclude(host, f"every shard fails there: {reason}")
            self._fail_shards()
        self._save()
        try:
            self._merge()
        except SlowdustError as error:  # it is raised at the end
            self._view.warning(f"cannot merge the results so far: {first_line(str(error))}")

    def _fail_shards(self) -> None:
        for shard, reason in self._queue.fail_shards(self._groups()).items():
            what = self._record.shard(shard).what
            self._view.warning(f"{shard} ({what}) failed on all hosts tried: {reason}")

    def _requeue(self, host: str, state: State, reason: str) -> None:
        """Put back the part of a host's shard that the head has not received."""
        placement = self._measuring.pop(host, None)
        if placement is None:
            return
        left, folder = placement.left, part_folder(self._folder, placement)
        if folder.has_manifest():
            manifest = folder.read_manifest()
            planned = manifest.method.incarnations
            steps = [step.key for step in plan_steps(self._shard_spec(placement))]
            # The last start is repeated if the shard did not finish.
            complete = min(complete_starts(manifest, steps), planned - 1)
            if complete > 0:
                done = left.done if left else 0.0
                share = done + (1 - done) * complete / planned
                left = Left(done=share, starts=planned - complete)
        self._queue.put_back(placement, state, reason, left)

    # Results

    def _merge(self) -> None:
        """Merge the results received from hosts into the experiment.

        Raises:
            SlowdustError: they do not belong together, or cannot be written.
        """
        parts = [(each.host, part_folder(self._folder, each)) for each in self._record.placements]
        sources = [
            Source(folder, host=host)
            for host, folder in parts
            if folder.has_manifest() and folder.has_measured()
        ]
        if sources:
            merge(disambiguate_hosts(sources), self._target, spec=self._spec.to_toml())

    def _close_unfinished(self) -> None:
        """Limit the plan of unfinished shards to the starts that were measured."""
        for placement in self._record.placements:
            folder = part_folder(self._folder, placement)
            if placement.state is State.FINISHED or not folder.has_manifest():
                continue
            manifest = folder.read_manifest()
            manifest.finished = datetime.now(UTC).isoformat(timespec="seconds")
            manifest.method.incarnations = max(1, *manifest.turns_done.values(), 0)
            content = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
            replace_file(folder.path / MANIFEST_FILE, content)

    def _state(self) -> str:
        """Return the progress of the experiment in one line."""
        now, record = self._cluster.now(), self._record
        busy = []
        for host in self._measuring.keys() & self._ready:
            placement = self._measuring[host]
            expected = remaining_time(record.shard(placement.shard), placement.left)
            taken = now - self._begun[host]
            # If it takes longer than expected, assume that it is half done.
            busy.append(expected - taken if taken < expected else taken)
        finished = sum(each.state is State.FINISHED for each in record.placements)
        parts = [f"{counted(len(busy), 'host')} of {len(self._ready)} measure"]
        if record.left_out:
            parts.append(f"{len(record.left_out)} excluded")
        shards = counted(len(record.shards) * record.wanted.replicate, "shard")
        parts.append(f"{finished} of {shards} done")
        left = self._queue.expected_end(busy, len(self._groups()) - len(busy))
        if left is not None:
            parts.append(f"about {format_duration(round(left))} left")
        return ", ".join(parts)


def _receive(folder: Folder, bundle: ShardBundle) -> None:
    """Replace a folder by the experiment of a bundle, atomically.

    Raises:
        BundleError: it is damaged, or contains another shard.
        SlowdustError: it cannot be written.
    """
    place = folder.path.parent
    with staging_folder(place) as incoming:
        file = incoming / ".bundle"
        try:
            file.write_bytes(bundle.content)
        except OSError as error:
            raise cannot_write(file, error) from error
        received = open_bundle(file, incoming)
        if received.name != folder.name:
            raise BundleError(f"the bundle contains {received.name} instead of {folder.name}")
        put_in_place(received, place)
