"""The journal of a run: it turns the driver's answers and the probes' uses into stored records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

import msgspec

from slowdust import __version__
from slowdust.builds.fingerprint import hash_file
from slowdust.dbms import family
from slowdust.errors import UsageError
from slowdust.experiment import host_calibrations
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.cpus import format_cpus, usable_cpus
from slowdust.experiment.doctor import examine, worse
from slowdust.experiment.doctor.host import read_host
from slowdust.experiment.driver.protocol import Performed, PlanText, Ran
from slowdust.experiment.plan import PlannedStep, plan
from slowdust.experiment.spec.options import work_options
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.probes.host.machine import describe_machine
from slowdust.probes.probe import WindowUse
from slowdust.store.count import Count, CountedRun, Source, latest_counts
from slowdust.store.folder import WORKLOAD_FILE, Folder, Writer, is_fleet_experiment
from slowdust.store.latency import Histogram
from slowdust.store.manifest import (
    ContenderFacts,
    Counting,
    LeftOut,
    Manifest,
    Method,
    Plan,
    StepFailure,
    WorkloadFacts,
)
from slowdust.store.measured import Measured, PerSecond, Schedule
from slowdust.store.profile import Profile, ProfileSource
from slowdust.store.slice import SCHEMA, BackgroundSlice, Place, Slice
from slowdust.store.step import StepDetail
from slowdust.store.trial import Trial
from slowdust.store.waits import WaitWindow
from slowdust.units import Second


@dataclass
class Totals:
    """Totals of a long step over all of its roles; for a slice the driver's answer has them."""

    operations: int
    statements: int
    rows: int
    qps: float
    unit: str
    latency: Histogram
    per_second: list[PerSecond]
    errors: dict[str, int]
    error_texts: dict[str, str]
    retries: int
    schedule: Schedule | None = None


def make_slice(
    place: Place,
    answer: Ran | Performed,
    totals: Ran | Totals,
    window: WindowUse,
    *,
    step: StepDetail | None = None,
    beside: BackgroundSlice | None = None,
) -> Slice:
    # A DBMS without a server runs in the driver's threads, and has no use of its own.
    client = {} if answer.client is None else {"client": msgspec.structs.asdict(answer.client)}
    return Slice(
        place=place,
        qps=totals.qps,
        unit=totals.unit,
        measured=Measured(
            started=answer.started,
            seconds=answer.seconds or None,  # where no operation was completed
            operations=totals.operations,
            statements=totals.statements,
            rows=totals.rows,
            bytes_sent=answer.bytes_sent,
            bytes_received=answer.bytes_received,
            latency=totals.latency,
            per_second=totals.per_second,
            errors=totals.errors,
            error_texts=totals.error_texts,
            retries=totals.retries,
            schedule=totals.schedule,
            uses=window.uses | client,
            probe_seconds=window.seconds,
            skipped_probes=window.skipped,
        ),
        beside=beside,
        step=step,
    )


def make_counts(
    step: PlannedStep, contender: str, start: int, source: Source, runs: Sequence[CountedRun]
) -> list[Count]:
    """Return the records of a step's repeats after one start of a contender's server."""
    return [
        Count(place=step.window_place(contender, start, repeat), source=source, run=run)
        for repeat, run in enumerate(runs)
    ]


class StartMode(Enum):
    """How an experiment treats the contents of its folder."""

    FRESH = "fresh"
    RESUME = "resume"


def check_start(folder: Folder, mode: StartMode) -> None:
    """Refuse a fresh experiment whose name is taken, and resuming one that was not started here.

    Raises:
        UsageError: in both cases, and if a newer Slowdust wrote the results.
    """
    if folder.has_manifest():
        folder.read_manifest()
        if mode is StartMode.FRESH:
            raise UsageError(
                f"experiment '{folder.name}' exists already: choose another --name, or "
                f"resume it with `slowdust run {folder.spec_file} --resume`"
            )
        folder.refuse_if_merged()
    elif mode is StartMode.FRESH and is_fleet_experiment(folder.path):
        raise UsageError(
            f"a fleet measures '{folder.name}': choose another --name, or resume it with "
            f"`slowdust run {folder.name} --resume --fleet ADDRESS`"
        )
    elif mode is StartMode.RESUME:
        raise UsageError(f"nothing to resume: '{folder.name}' has not been started")


def check_same_workload(folder: Folder, now: WorkloadFacts | None) -> None:
    """Refuse to resume an experiment with another workload.

    Raises:
        UsageError: names the stored workload file.
    """
    if folder.has_manifest() and folder.read_manifest().workload != now:
        raise UsageError(
            f"cannot resume '{folder.name}': the workload changed since it was started; the "
            f"original is {folder.path / WORKLOAD_FILE}"
        )


def check_same_source(folder: Folder, now: Counting) -> None:
    """Refuse to resume an experiment with another source of counts.

    Raises:
        UsageError: the stored counts are of another source; sources are never compared.
    """
    before = {count.source for count in folder.read_counts()}
    if now.source is not None and before and now.source not in before:
        [source] = before
        raise UsageError(
            f"cannot resume '{folder.name}': its work was counted with {source}, and would now be "
            f'counted with {now.source}; set count = "{source}" in {folder.spec_file}, or '
            'count = "off" to count no further'
        )


ProfilePlace = tuple[str, int, str]
"""Test, clients and contender of a profile."""


class Journal:
    """Keeps the manifest and the slices, both in memory and on disk."""

    def __init__(self, spec: Spec, writer: Writer, manifest: Manifest) -> None:
        self.manifest = manifest
        self.steps = plan(spec)
        self._writer = writer
        self._discard = spec.discard
        self.counts = writer.folder.read_counts()
        """Counts of work, including counts of an interrupted run."""
        self.waits = writer.folder.read_waits()
        """Windows of waits, including earlier ones."""
        self.trials = writer.folder.read_trials()
        """Trials, including earlier ones."""
        by_place = {(step.test.name, step.clients): step for step in self.steps}
        for record in writer.folder.read_slices():
            if step := by_place.get((record.place.test, record.place.clients)):
                step.slices.append(record)
        for step in self.steps:
            step.settled = step.key in manifest.settled
            step.turns_done = manifest.turns_done.get(step.key, 0)
            step.aged_to = manifest.aged_to.get(step.key)
        self._planned = {(p.test, p.contender) for p in manifest.plans}
        self.save()

    @property
    def spent(self) -> Second:
        """Seconds of the budget that are used: as of the last turn, or by the slices on disk."""
        return max(
            self.manifest.spent_s, sum(step.wall_clock(self._discard) for step in self.steps)
        )

    @property
    def last_start(self) -> int:
        """The number of the newest start of the servers; 0 before the first."""
        numbers = [record.place.incarnation for step in self.steps for record in step.slices]
        numbers += [failure.incarnation for failure in self.manifest.failed_steps]
        return max(numbers, default=0)

    def add(self, step: PlannedStep, record: Slice) -> None:
        """Append a slice, and fsync it."""
        self._writer.append(record)
        step.slices.append(record)

    def add_count(self, count: Count) -> None:
        """Append a count, and fsync it; it replaces an earlier one in the same place.

        There is an earlier one if a step was interrupted and is counted again.
        """
        self._writer.append_count(count)
        self.counts = latest_counts([*self.counts, count])

    def add_waits(self, window: WaitWindow) -> None:
        """Append a window of waits unless there already is one for its place."""
        if any(earlier.place == window.place for earlier in self.waits):
            return  # the step was interrupted
        self._writer.append_waits(window)
        self.waits.append(window)

    def add_trials(self, trials: Collection[Trial]) -> None:
        """Append the trials of a turn, and fsync them."""
        self._writer.append_trials(*trials)
        self.trials += trials

    def leave_uncounted(self, left_out: LeftOut) -> None:
        if left_out.tests and self.manifest.counting is not None:
            self.manifest.counting.left_out = left_out
            self.save()

    def keep_profile(self, profile: Profile, start: int | None = None) -> None:
        """Store the profile of a contender in a step; it replaces an earlier one of the same start.

        `start` numbers the counted starts of the server; None for a profile by samples.
        """
        names = [contender.name for contender in self.manifest.contenders]
        self._writer.write_profile(profile, names.index(profile.contender) + 1, start)

    def has_plans(self, step: PlannedStep, contender: str) -> bool:
        return (step.test.name, contender) in self._planned

    def add_plans(self, step: PlannedStep, contender: str, plans: list[PlanText]) -> None:
        """Store a test's plans on a contender, of its first start only."""
        if self.has_plans(step, contender):
            return
        self._planned.add((step.test.name, contender))
        self.manifest.plans += [
            Plan(
                test=step.test.name,
                contender=contender,
                statement=each.statement,
                plan=each.plan,
                executed=each.executed,
            )
            for each in plans
        ]

    def profiled(self, source: ProfileSource) -> set[ProfilePlace]:
        """Return the places that have a profile from this source."""
        return {
            (profile.test, profile.clients, profile.contender)
            for profile in self._writer.folder.read_profiles()
            if profile.source == source
        }

    def fail(
        self, step: PlannedStep, contender: str, start: int, reason: str, after: Second
    ) -> None:
        """Record that a contender failed in a step, and after how many seconds."""
        self.manifest.failed_steps.append(
            StepFailure(
                test=step.test.name,
                clients=step.clients,
                contender=contender,
                incarnation=start,
                reason=reason,
                after_s=after,
            )
        )
        self.save()

    def keep_settled(self, settled: Collection[str]) -> list[PlannedStep]:
        """Record the keys of the decided steps; return the steps that are undecided again.

        The results of other steps may reopen a step.
        """
        reopened = [step for step in self.steps if step.settled and step.key not in settled]
        for step in self.steps:
            step.settled = step.key in settled
        self.manifest.settled = [step.key for step in self.steps if step.settled]
        return reopened

    def keep_length(self, step: PlannedStep, length: Second) -> None:
        """Record the length of the step's slices, before the first of them."""
        self.manifest.method.slice_lengths[step.key] = length
        self.save()

    def age(self, step: PlannedStep, positions: list[int]) -> None:
        if step.aged_to is None:
            step.aged_to = positions
            self.manifest.aged_to[step.key] = positions

    def end_turn(self, step: PlannedStep, spent: Second) -> None:
        """Record that the step had its turn in this start of the servers."""
        step.turns_done += 1
        self.manifest.turns_done[step.key] = step.turns_done
        self.manifest.spent_s = spent
        self.save()

    def warn(self, text: str) -> None:
        if text not in self.manifest.warnings:
            self.manifest.warnings.append(text)

    def facts(self, contender: str) -> ContenderFacts:
        return next(entry for entry in self.manifest.contenders if entry.name == contender)

    def record_servers(self, contenders: Contenders) -> None:
        """Record the facts that starting and loading showed of the servers.

        Raises:
            UsageError: a contender's malloc differs from the one at the start of the experiment.
        """
        for contender in contenders.running():
            facts = self.facts(contender.name)
            check_same_allocator(facts, contender.server.allocator)
            facts.allocator = contender.server.allocator or facts.allocator
            facts.buffer_pool_bytes = contender.buffer_pool_bytes
            steps = self.manifest.method.steps
            if steps is not None and steps.turns == "chunks":
                facts.frozen_by = contender.server.freezing
            facts.settings_in_force = {
                name: value.text for name, value in sorted(contender.settings_in_force.items())
            }
            for warning in contender.settings_not_as_given():
                self.warn(warning)
            if contender.sizes is not None:
                facts.data_bytes = contender.sizes.data_bytes
                facts.table_bytes = contender.sizes.table_bytes
                facts.index_bytes = contender.sizes.index_bytes

    def save(self) -> None:
        self._writer.write_manifest(self.manifest)

    def finish(self) -> None:
        self.manifest.finished = _now()
        self.save()


def open_journal(
    spec: Spec, writer: Writer, contenders: Contenders, view: View, method: Method
) -> Journal:
    """Open the journal of a new or resumed experiment, and record failures and warnings in it.

    Raises:
        UsageError: a resumed experiment differs from the stored one.
    """
    state = read_host(contenders.data_dir)
    facts = [_facts(contender) for contender in contenders.all]
    cpus = usable_cpus()
    host = {
        **describe_machine(state.machine),
        "CPUs used": format_cpus(cpus),
        **host_calibrations.host_fact(facts[0], spec.rows),
    }
    version = contenders.driver.version
    manifest = new_manifest(spec, facts, method, version, host)
    manifest.cpus = cpus
    manifest.findings = examine(state)
    if writer.folder.has_manifest():
        manifest = _continued(writer.folder.read_manifest(), manifest)
    if spec.workload is not None:
        writer.write_workload(spec.workload.workload.kept_text)
    writer.write_spec(spec.to_toml())
    journal = Journal(spec, writer, manifest)

    def report(contender: RunningContender) -> None:
        journal.facts(contender.name).failed = contender.failed
        journal.save()
        view.warning(f"a contender dropped out: {contender.failed}")

    contenders.on_failure(report)
    contenders.on_warning(journal.warn)
    for contender in contenders.all:
        if (advantage := contender.socket_advantage) is not None:
            contenders.warn(advantage)
    return journal


def _facts(contender: RunningContender) -> ContenderFacts:
    resolved = contender.resolved
    accepted = contender.handle.settings if contender.handle else None
    library = resolved.environment.library
    return ContenderFacts(
        name=contender.name,
        dbms=resolved.dbms,
        build=contender.build_facts,
        config=resolved.settings.config,
        settings=dict(accepted.values) if accepted else {},
        skipped_settings=list(accepted.skipped) if accepted else [],
        engine=resolved.engine,
        environment=resolved.environment.written,
        allocator_sha256=None if library is None else hash_file(library),
        slowed=resolved.slowed,
        untold=family(resolved.dbms).unreported,
        running=contender.is_remote,
    )


def new_manifest(
    spec: Spec,
    contenders: list[ContenderFacts],
    method: Method,
    driver_version: str,
    host: dict[str, str],
) -> Manifest:
    return Manifest(
        schema=SCHEMA,
        experiment=spec.name,
        slowdust=__version__,
        driver=driver_version,
        started=_now(),
        base=contenders[0].name,
        contenders=contenders,
        tests=[test.name for test in spec.chosen_tests()],
        clients=spec.clients,
        method=method,
        host=host,
        workload=None if spec.workload is None else spec.workload.facts,
        work_options=work_options(spec),
    )


def _continued(before: Manifest, now: Manifest) -> Manifest:
    """Return the manifest of a resumed experiment, with its new length."""
    check_same(before, now)
    before.method.budget_s = now.method.budget_s
    before.method.incarnations = now.method.incarnations
    before.finished, before.schema = None, now.schema
    before.cpus = now.cpus
    before.findings = worse(before.findings, now.findings)
    for contender in before.contenders:
        contender.failed = None
    return before


def check_same(before: Manifest, now: Manifest) -> None:
    """Refuse to mix slices of different experiments; only the length may have changed.

    Raises:
        UsageError: names what changed since the experiment was started.
    """
    names = [[contender.name for contender in each.contenders] for each in (before, now)]
    changed = [
        label
        for label, old, new in (
            ("the tests", before.tests, now.tests),
            ("the clients", before.clients, now.clients),
            ("the method", _without_budget(before.method), _without_budget(now.method)),
            ("the contenders", names[0], names[1]),
        )
        if old != new
    ]
    if before.cpus and before.cpus != now.cpus:
        cpus = f"{format_cpus(before.cpus)}, now {format_cpus(now.cpus)}"
        changed.append(f"the CPUs ({cpus})")
    for old, new in zip(before.contenders, now.contenders, strict=False):
        had_settings = old.settings and new.settings
        parts = {
            "binaries": old.build.sha256 != new.build.sha256,
            "settings": had_settings and old.settings != new.settings,
            "engine": old.engine != new.engine,
            "delay": old.slowed != new.slowed,
            "environment": old.environment != new.environment,
            "malloc library": old.environment == new.environment
            and old.allocator_sha256 != new.allocator_sha256,
        }
        changed += [f"the {part} of {new.name}" for part, differs in parts.items() if differs]
    if changed:
        may_change = "the budget" if now.method.budget_s else "the number of starts"
        raise UsageError(
            f"cannot resume '{before.experiment}': {', '.join(changed)} changed since it was "
            f"started (only {may_change} may change)"
        )


def check_same_allocator(before: ContenderFacts, now: str | None) -> None:
    """Refuse to mix slices of servers with different mallocs, if both are known.

    Raises:
        UsageError: names both.
    """
    if None not in (before.allocator, now) and before.allocator != now:
        raise UsageError(
            f"cannot resume: the malloc of {before.name} is now {now}; it was "
            f"{before.allocator} when the experiment was started"
        )


def _without_budget(method: Method) -> Method:
    of_steps = method.steps
    if of_steps is not None:  # older records do not name the hold, which is the same
        of_steps = msgspec.structs.replace(of_steps, long_transaction_s=None)
    return msgspec.structs.replace(
        method, budget_s=0.0, incarnations=0, slice_lengths={}, steps=of_steps
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
