"""`slowdust watch` as a study: measures a new subject, judges it, and reports alarms once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from slowdust.analysis.history.lines import circumstances_of, host_of
from slowdust.analysis.results.failures import failed_wholly, sentences_about_failures
from slowdust.analysis.results.log_ratio import WORK
from slowdust.builds.model import Progress
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.experiment import Experiment, Lab
from slowdust.probes.server.procfs import read_text
from slowdust.report.document import Document
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.store.study_folder import StudyFolder
from slowdust.studies.candidates import Candidate
from slowdust.studies.engine import Order, Study, Unfit
from slowdust.studies.watch import words
from slowdust.studies.watch.alarms import (
    Change,
    Channel,
    Delivery,
    Event,
    Fate,
    State,
    last_good,
    read_state,
    write_state,
)
from slowdust.studies.watch.decision import RULES
from slowdust.studies.watch.document import document
from slowdust.studies.watch.file import Watch, WatchTable
from slowdust.studies.watch.hooks import deliver
from slowdust.studies.watch.judging import Judgement, judge
from slowdust.studies.watch.series import (
    EXPERIMENTS,
    NIGHTS_FILE,
    NOUN,
    Measured,
    Night,
    Tonight,
    append_night,
    read_nights,
    read_tonight,
    write_tonight,
)
from slowdust.studies.watch.subjects import (
    bisect_command,
    check_same_watch,
    choose_base,
    first_good,
    new_subject,
)
from slowdust.wording import first_line

MOST_TRIES = 2
"""Maximum number of tries of a subject that cannot be measured, while nothing is new."""
MOST_AGAIN = 2
"""Maximum number of repeats of a doubtful subject while nothing is new."""


@dataclass
class Outcome:
    """The outcome of a call of `slowdust watch`."""

    night: Night | None
    """The night that was measured; None if nothing was new."""
    judgement: Judgement
    state: State
    nights: Sequence[Night]
    unreported: list[Change] = field(default_factory=list)
    """New alarms that no exit code has reported yet."""


class WatchStudy(Study[Watch, None, Outcome]):
    """A watch. Each call has at most one order: the new subject of a night."""

    noun = NOUN
    record_file = NIGHTS_FILE
    results = EXPERIMENTS

    def begin(self, question: Watch, lab: Lab, say: Progress) -> None:
        """Take the file of the watch; its nights are read by `open`."""
        del say
        self.watch = question
        self._progress = lab.phase

    def load(
        self, folder: StudyFolder, question: Watch, lab: Lab, say: Progress, *, resumes: bool
    ) -> None:
        """Take the file. A watch has no option to resume: each call continues it."""
        del folder, resumes
        self.begin(question, lab, say)

    def open(self, folder: Path, say: Progress) -> None:
        """Read the nights, and judge those that a killed command had not judged yet."""
        self._say = say
        self._folder = folder
        self.state = read_state(folder)
        self.nights = read_nights(folder)
        self.night: Night | None = None
        """The night that was measured in this call."""
        self.judgement = Judgement()
        self._tonight: Tonight | None = None
        self._is_over = False
        self._judge_left()
        check_same_watch(self.watch, self.nights)

    def next(self) -> Order | None:
        """Return the experiment of a stopped night, or of a new subject."""
        if self._is_over:
            return None
        self._is_over = True
        watch, tonight = self.watch, read_tonight(self._folder)
        results = self._folder / EXPERIMENTS
        # A night that has not begun is planned again: the file may differ, and the commit be gone.
        if tonight is not None and Folder.of(results, tonight.experiment).has_manifest():
            self._say(f"resuming night {tonight.number}: {tonight.subject.title}")
        else:
            tonight = _planned(watch.table, self.nights, self.state, self._progress)
        if tonight is None:
            return None
        self._tonight = tonight
        self._say(_announcement(tonight))
        return plan_experiment(watch, tonight)

    def learn(self, order: Order, found: Experiment | Unfit) -> None:
        """Judge the night that was measured."""
        assert isinstance(order.subject, Tonight)
        if isinstance(found, Experiment):
            found.write_page()
        self.add(record_night(self.watch, order.subject, found))

    def add(self, night: Night) -> None:
        """Append a night, and judge it."""
        append_night(self._folder, night)
        self._tonight = None
        self.night = night
        self.nights.append(night)
        self.judgement = self._judge_left()

    def save(self, folder: StudyFolder) -> None:
        """Write the plan of the current night, and the state."""
        if self._tonight is not None:
            write_tonight(folder.path, self._tonight)
        write_state(folder.path, self.state)

    def how_to_resume(self, folder: StudyFolder, error: BaseException) -> str | None:
        """Return a sentence that the same command resumes; None if the file is wrong."""
        del folder
        if isinstance(error, UsageError):
            return None
        return "the measurements are kept; resume with the same command"

    def outcome(self) -> Outcome:
        """Return the outcome of the call."""
        return Outcome(self.night, self.judgement, self.state, self.nights, _unreported(self.state))

    def document(self, outcome: Outcome) -> Document:
        """Return the state of the watch as a document."""
        return document(self.watch.table.name, outcome.state, outcome.nights)

    def conclude(self, outcome: Outcome, say: Progress) -> None:
        """Call the hooks, and mark the alarms that the exit code reports."""
        name, state = self.watch.table.name, self.state
        state.deliveries = deliver(
            state.deliveries,
            self.watch,
            lambda delivery: words.payload(name, delivery, state, outcome.nights),
            lambda text: say(f"warning: {text}"),
        )
        for change in outcome.unreported:
            change.reported = True

    def _judge_left(self) -> Judgement:
        """Judge the unjudged nights; return the judgement of the last one."""
        judgement = Judgement()
        for place, night in enumerate(self.nights):
            if night.number <= self.state.judged:
                continue
            judgement = judge(
                self.state,
                self.nights[: place + 1],
                lambda change: bisect_command(self.watch, change, self._progress),
            )
            self.state.deliveries += _deliveries(self.watch.table, night, judgement)
        return judgement


def _announcement(tonight: Tonight) -> str:
    good = tonight.good
    others = [tonight.base]
    if good is not None and good.contender != tonight.base:
        others.append(good.name)
    again = " again, because it is in doubt" if tonight.again else ""
    return (
        f"night {tonight.number}: comparing {tonight.subject.title}{again} with "
        f"{' and '.join(others)}"
    )


def _deliveries(table: WatchTable, night: Night, judgement: Judgement) -> list[Delivery]:
    """Return the notifications of a night for hooks."""
    raised = [*judgement.raised, *judgement.joined] if judgement.raised else []
    events = [
        (Event.REGRESSION, raised, table.on_regression),
        (Event.RECOVERY, judgement.gone, table.on_recovery),
    ]
    deliveries = []
    for event, changes, command in events:
        channels = [
            *([Channel.COMMAND] if command else []),
            *([Channel.WEBHOOK] if table.webhook else []),
        ]
        if changes and channels:
            numbers = [change.number for change in changes]
            deliveries.append(
                Delivery(event=event, night=night.number, changes=numbers, pending=channels)
            )
    return deliveries


def _unreported(state: State) -> list[Change]:
    """Return the new alarms that no exit code has reported yet."""
    return [
        change
        for change in state.changes
        if change.fate is Fate.OPEN and not change.joined and not change.reported
    ]


def _planned(
    table: WatchTable, nights: Sequence[Night], state: State, progress: Progress
) -> Tonight | None:
    subjects = [night.plan.subject for night in nights]
    subject = new_subject(table, subjects, progress) or _failed(nights)
    again = subject is None
    if subject is None:
        subject = _in_doubt(nights, state)
    if subject is None:
        return None
    number = len(nights) + 1
    found = last_good(nights, state)
    good, good_night = found if found is not None else (first_good(table), 0)
    if good is not None and good.contender == subject.contender:
        raise SlowdustError(f"{subject.name} is itself the last good subject")
    return Tonight(
        number=number,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        experiment=f"night-{number:04}",
        subject=subject,
        base=choose_base(table),
        good=good,
        good_night=good_night,
        again=again,
    )


def _failed(nights: Sequence[Night]) -> Candidate | None:
    """Return the last subject if it failed and is to be tried again."""
    if not nights or nights[-1].failed is None:
        return None
    last = nights[-1].plan.subject
    times = sum(night.plan.subject.contender == last.contender for night in nights)
    return last if times < MOST_TRIES else None


def _in_doubt(nights: Sequence[Night], state: State) -> Candidate | None:
    """Return the last subject if it is to be measured again; None if nothing is in doubt."""
    if not nights or not state.doubts or nights[-1].failed is not None:
        return None
    last = nights[-1].plan.subject
    times = sum(night.plan.subject.contender == last.contender for night in nights)
    return last if times <= MOST_AGAIN else None


_MACHINE = "/etc/machine-id"
_MOVING_LEVELS = ("Kernel", "Microcode")
"""Facts of a host that may change the ratio of a subject to the base."""
_DIGITS = 12


def plan_experiment(watch: Watch, tonight: Tonight) -> Order:
    """Return the experiment of a night: base, last good and new subject side by side."""
    contenders = [tonight.base, tonight.subject.contender]
    if tonight.good is not None and tonight.good.contender != tonight.base:
        contenders.insert(1, tonight.good.contender)
    return Order(
        watch.spec(tonight.experiment, contenders),
        tonight,
        builds={len(contenders) - 1: watch.spec("build", [tonight.subject.contender])},
    )


def record_night(watch: Watch, tonight: Tonight, found: Experiment | Unfit) -> Night:
    """Return the record of a measured night.

    A night fails if its subject cannot be built or a server does not run.

    Raises:
        UsageError: the file or the host is wrong, not the subject.
    """
    if isinstance(found, Unfit):
        if isinstance(found.error, UsageError):
            raise found.error
        return Night(plan=tonight, failed=found.reason)
    manifest, report = found.stored.manifest, found.report()
    for contender in manifest.contenders:
        if contender.failed:
            return Night(plan=tonight, failed=first_line(contender.failed))
    # The contender before the new one is the last good subject, which may be the base.
    good = None if tonight.good is None else manifest.contenders[-2].name
    measured = _measured(found, manifest.contenders[-1].name, good)
    failures = sentences_about_failures(report)
    if not measured:
        failed = " ".join(failures) or "none of its tests can be compared with the base"
        return Night(plan=tonight, failed=failed)
    host = watch.table.host or _host(manifest)
    return Night(
        plan=tonight,
        host=host,
        segment=_segment(host, manifest),
        measured=measured,
        failures=failures,
        failed_wholly=failed_wholly(report),
    )


def _host(manifest: Manifest) -> str:
    """Return a host's identity: its facts and its machine id."""
    facts = [value for _, value in host_of(manifest.host)]
    facts += [manifest.host[label] for label in _MOVING_LEVELS if label in manifest.host]
    if machine := read_text(_MACHINE):
        facts.append(f"machine {_digest(machine)[:6]}")
    return ", ".join(facts)


def _segment(host: str, manifest: Manifest) -> str:
    """Return a digest of everything that levels depend on: host, base, data and settings."""
    base = manifest.contenders[0]
    compiled = base.build.compiled
    workload = manifest.workload
    conditions = (
        host,
        base.name,
        None if compiled is None else compiled.commit,
        base.settings,
        circumstances_of(manifest, "").data,
        None if workload is None else workload.sha256,
        manifest.cpus,
        manifest.method.rate,
        manifest.method.memory_bytes,
        manifest.method.pool_bytes,
    )
    return _digest(msgspec.json.encode(conditions).decode())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _measured(experiment: Experiment, subject: str, good: str | None) -> list[Measured]:
    """Return the costs of the subject in each test: time, and work where it was counted."""
    manifest = experiment.stored.manifest
    measured = []
    for metric in RULES:
        levels = experiment.log_ratios(subject, manifest.base, metric)
        direct = {} if good is None else experiment.log_ratios(subject, good, metric)
        measured += [
            Measured(
                test=test,
                clients=clients,
                metric=metric,
                base=base,
                good=direct.get((test, clients)),
            )
            for (test, clients), base in levels.items()
            # Work is counted once, with one client.
            if metric != WORK or clients == min(manifest.clients)
        ]
    places = {
        (result.test, result.clients): n for n, result in enumerate(experiment.report().results)
    }
    return sorted(measured, key=lambda each: places[each.test, each.clients])
