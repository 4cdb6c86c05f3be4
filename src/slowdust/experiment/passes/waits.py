"""Waits: servers with their instrumentation on, in short windows, separate from all timing.

Instrumentation costs time, so it is on only in starts of its own, whose speed is not a result. The
contenders' windows take turns, A B B A, so that windows with the same number are close in time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from slowdust.dbms.stages import Query, SampledWaits, SessionSample, T, TotalledWaits
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.driver.process import Driver, TargetError
from slowdust.experiment.driver.protocol import Ran, Stop
from slowdust.experiment.engine.loop import OpenExperiment, Pass, Starts
from slowdust.experiment.engine.open_test import OpenTest, RunAtRate
from slowdust.experiment.engine.schedule import Start, plan_turns
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.plan import PlannedStep, with_lasting_sessions
from slowdust.probes.server.sessions import RUNNING, SessionSampler
from slowdust.store.count import WindowPlace
from slowdust.store.waits import NOT_SEEN, Syncs, Wait, WaitSource, WaitWindow
from slowdust.units import Second, known

_EVERY: Second = 0.005
"""Time between two samples of the wait events of all sessions."""
_CONNECTING: Second = 0.05
"""Head start of the sampler before the window, to connect."""
_US_PER_S = 1e6

_Answer = TypeVar("_Answer")

RunSessions = Callable[[Stop], Ran]
"""Executes the operations of a contender's sessions."""


@dataclass(frozen=True)
class PlannedWindow:
    """A window to observe."""

    place: WindowPlace
    contender: RunningContender
    serving: Sequence[int]
    """The processes or threads that serve its sessions; empty if unknown."""
    seconds: Second


@dataclass
class SeenWaits:
    """The part of a record that comes from the server."""

    source: WaitSource
    samples: int | None = None
    waits: list[Wait] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    blockers: dict[str, int] = field(default_factory=dict)


class Observer:
    """Observes windows; one driver executes the operations, and another one samples."""

    def __init__(self, driver: Driver, sampling: Driver, warn: Callable[[str], None]) -> None:
        """`warn` gets a sentence if a server does not report its waits."""
        self._driver = driver
        self._sampling = sampling
        self._warn = warn

    def observe(self, window: PlannedWindow, run: RunSessions) -> WaitWindow:
        """Observe a contender's sessions while `run` executes operations.

        Raises:
            TargetError: the server fails.
        """
        contender, sessions = window.contender, SessionSampler(window.serving)
        sources = contender.family.waits(contender.server.site)
        syncs = _sync_totals(contender)
        with ThreadPoolExecutor(1) as pool:
            # The first source is read last before the operations, and first after them.
            readings = [self._begin(window, each, pool) for each in reversed(sources)][::-1]
            with sessions:
                ran = run(Stop(seconds=window.seconds))
            seen = known(read(ran) for read in readings)
        contender.refuse_fatal_errors(ran.errors, "observed operations")
        return WaitWindow(
            place=window.place,
            operations=ran.operations,
            seconds=ran.seconds,
            sources=[each.source for each in seen],
            samples=next(iter(known(each.samples for each in seen)), None),
            waits=sorted((w for each in seen for w in each.waits), key=lambda wait: -wait.us),
            known=[event for each in seen for event in each.known],
            blockers={event: n for each in seen for event, n in each.blockers.items()},
            syncs=_syncs_between(syncs, _sync_totals(contender)),
            sessions=sessions.time() if window.serving else None,
        )

    def _begin(
        self, window: PlannedWindow, source: SampledWaits | TotalledWaits, pool: ThreadPoolExecutor
    ) -> Callable[[Ran], SeenWaits | None]:
        """Read a source before a window, or begin to sample; return a function for the rest.

        The function returns None if the server does not support the query.
        """
        if isinstance(source, SampledWaits):
            target, length = window.contender.target, window.seconds + _CONNECTING
            (statement,) = source.sessions.statements
            sampling = pool.submit(self._sampling.sample, target, statement, _EVERY, length)
            time.sleep(_CONNECTING)

            def samples(ran: Ran) -> SeenWaits | None:
                results = self._try(window, sampling.result)
                if results is None:
                    return None
                samples = [source.sessions.read([result.rows]) for result in results]
                end = ran.started + ran.seconds
                inside = [[x for x in sample if ran.started <= x.at <= end] for sample in samples]
                return seen_in_samples(source.source, inside, window.serving, ran.seconds)

            return samples

        def read() -> list[Wait] | None:
            return self._try(window, lambda: self._asked(window, source.totals))

        before = read()

        def totals(ran: Ran) -> SeenWaits | None:
            del ran
            after = read()
            if before is None or after is None:
                return None
            events = [] if window.place.repeat else self._asked(window, source.events)
            return SeenWaits(source.source, waits=waits_between(before, after), known=events)

        return totals

    def _asked(self, window: PlannedWindow, query: Query[T]) -> T:
        answers = self._driver.sql(window.contender.target, query.statements)
        return query.read([answer.rows for answer in answers])

    def _try(self, window: PlannedWindow, ask: Callable[[], _Answer]) -> _Answer | None:
        """Return a server's answer; None, with a warning, if it does not support the query.

        Raises:
            TargetError: the connection failed.
        """
        try:
            return ask()
        except TargetError as error:
            if error.kind == "connection":
                raise
            name = window.contender.name
            self._warn(f"{name} does not report all waits of its sessions: {error}")
            return None


def waits_between(before: Iterable[Wait], after: Iterable[Wait]) -> list[Wait]:
    """Return the increase of the totals, without unchanged events."""
    earlier = {wait.event: wait for wait in before}
    waits = []
    for wait in after:
        first = earlier.get(wait.event, Wait(event=wait.event, kind=wait.kind, us=0.0, times=0))
        us, times = wait.us - first.us, (wait.times or 0) - (first.times or 0)
        if us > 0 or times > 0:
            waits.append(Wait(event=wait.event, kind=wait.kind, us=us, times=times))
    return waits


def seen_in_samples(
    source: WaitSource,
    samples: Sequence[Sequence[SessionSample]],
    serving: Sequence[int],
    seconds: Second,
) -> SeenWaits:
    """Return the time of each event: its share of the samples times the time of all sessions.

    Each sample has all sessions; only sessions of processes in `serving` count, unless these are
    unknown.
    """
    own = set(serving)
    kept = [
        {each.process: each for each in sample if not own or each.process in own}
        for sample in samples
    ]
    looks = sum(len(sample) for sample in kept)
    if not looks:
        return SeenWaits(source, samples=0)
    us_of_a_look = _US_PER_S * seconds / sum(1 for sample in kept if sample)
    events = Counter(
        (each.event, each.kind)
        for sample in kept
        for each in sample.values()
        if each.event is not None and each.kind is not None
    )
    return SeenWaits(
        source,
        samples=looks,
        waits=[
            Wait(event=event, kind=kind, us=number * us_of_a_look)
            for (event, kind), number in events.items()
        ],
        blockers=dict(Counter(map(str, _blockers(kept))).most_common()),
    )


def _blockers(samples: Iterable[Mapping[int, SessionSample]]) -> Iterable[str]:
    """Yield, for each waiting session, the activity of the session that blocks it in the end."""
    for sample in samples:
        for each in sample.values():
            if each.blockers:
                first = _head_of_queue(each, sample)
                if first is None:
                    yield NOT_SEEN
                else:
                    yield RUNNING if first.event is None else first.event


def _head_of_queue(
    waiting: SessionSample, sample: Mapping[int, SessionSample]
) -> SessionSample | None:
    """Return the session at the head of the queue; None if the sample lacks it."""
    seen: set[int] = set()
    current: SessionSample | None = waiting
    while current is not None and current.blockers and current.process not in seen:
        seen.add(current.process)
        current = sample.get(current.blockers[0])
    return current


def _sync_totals(contender: RunningContender) -> dict[str, Syncs] | None:
    """Return the totals of the waits for the disk; None if they are not counted."""
    syncs = contender.instance.syncs
    try:
        return None if syncs is None or not syncs.attached else syncs.totals()
    except OSError:
        return None


def _syncs_between(
    before: Mapping[str, Syncs] | None, after: Mapping[str, Syncs] | None
) -> dict[str, Syncs] | None:
    if before is None or after is None:
        return None
    return {
        call: Syncs(calls=total.calls - before[call].calls, us=total.us - before[call].us)
        for call, total in after.items()
        if total.calls > before[call].calls
    }


STARTS = 2
"""Starts of each server."""
REPEATS = 6
"""Windows of a step on one contender in one start."""
_SECONDS: Second = 0.5
"""Length of a window."""


class Waits(Pass[OpenTest]):
    """Observes the waits of every contender in every step.

    It is the last pass: a server keeps its instrumentation until Slowdust exits.
    """

    subject = "observing the waits"

    def __init__(
        self, experiment: OpenExperiment, starts: int = STARTS, repeats: int = REPEATS
    ) -> None:
        """Observe `repeats` windows in each of `starts` starts of the servers."""
        super().__init__(experiment)
        self.tests = SlicedTests(experiment)
        self._starts = starts
        self._repeats = repeats
        self._observer: Observer

    def missing(self) -> Starts:
        """Yield the starts that lack the last window of any step."""
        if not self.announced.allows(self.announced.following.waits):
            return
        observed = with_lasting_sessions(self.journal.steps, "waits", self.contenders.warn)
        names = {contender.name for contender in self.contenders.running()}
        for number in range(1, self._starts + 1):
            due = [step.key for step in observed if not names <= self._done(step, number)]
            if due:
                self.contenders.for_each(self._prepare)
                driver = self.contenders.driver
                with driver.another() as sampling:
                    self._observer = Observer(driver, sampling, self.contenders.warn)
                    yield Start(number, plan_turns(self.journal.steps, due))

    def observe(self, test: OpenTest) -> None:
        self.view.phase(f"observing the waits of {test.step.test.name}")
        seconds = test.window(_SECONDS, self._repeats)
        if seconds > 0:
            for repeat in range(self._repeats):
                test.each(partial(self._window, test, repeat, seconds), turn=repeat)

    def _prepare(self, contender: RunningContender) -> None:
        contender.server.stop()
        try:
            contender.instance.observe_waits()
        except SlowdustError as error:
            self.contenders.warn(f"Calls of fsync are not timed: {error}")

    def _done(self, step: PlannedStep, start: int) -> set[str]:
        """Return the contenders that have the last window of a step in a start."""
        return {
            window.place.contender
            for window in self.journal.waits
            if (window.place.test, window.place.clients) == (step.test.name, step.clients)
            and (window.place.incarnation, window.place.repeat) == (start, self._repeats - 1)
        }

    def _window(
        self,
        test: OpenTest,
        repeat: int,
        seconds: Second,
        contender: RunningContender,
        run: RunAtRate,
    ) -> None:
        place = test.step.window_place(contender.name, test.start, repeat)
        planned = PlannedWindow(place, contender, test.serving(contender), seconds)
        self.journal.add_waits(self._observer.observe(planned, run))
