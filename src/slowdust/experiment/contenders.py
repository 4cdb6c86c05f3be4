"""The contenders of a running experiment: their servers, and the handling of failures."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from slowdust.benchmarks.model import Test
from slowdust.dbms.access import Target
from slowdust.dbms.family import Shutdown
from slowdust.dbms.stages import Query, Stage, Statements, T, WaitUntil, WithSettings
from slowdust.errors import SlowdustError
from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.contender import ResolvedContender, RunningContender, explain_failure
from slowdust.experiment.driver.process import Driver, TargetError
from slowdust.experiment.engine.schedule import in_turn
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.remote_server import try_query
from slowdust.experiment.view import View
from slowdust.instances.owner import instances_root
from slowdust.instances.programs import InstanceError
from slowdust.probes.probe import attempt, use_between
from slowdust.units import Second
from slowdust.wording import listing

_IDLE_SHARE = 0.02
"""A server that uses less than this share of one CPU is idle."""
_IDLE_LOOKS = 3
_LOOK_EVERY: Second = 0.2


class Contenders:
    """All contenders, in the order of the experiment; the first is the base."""

    def __init__(
        self,
        contenders: list[RunningContender],
        driver: Driver,
        logs: Path,
        view: View,
        clock: Clock = MACHINE,
    ) -> None:
        self._clock = clock
        self.all = contenders
        self.driver = driver
        self._logs = logs
        self._view = view
        # A resumed experiment keeps the logs of its earlier parts.
        earlier = len(list(logs.glob("1-*.log")))
        self._log_suffix = f".part{earlier + 1}" if earlier else ""
        self._silent: set[str] = set()
        """Contenders that a warning was given for because they did not describe themselves."""
        self._on_failure: Callable[[RunningContender], None] | None = None
        self._on_warning: Callable[[str], None] | None = None
        self._observing: str | None = None
        """The pass that observes the servers after the timed part; None before."""

    @property
    def names(self) -> list[str]:
        return [contender.name for contender in self.all]

    @property
    def data_dir(self) -> Path:
        """A directory on the disk of all data directories."""
        own = (contender for contender in self.running() if not contender.is_remote)
        return next((contender.instance.data_dir for contender in own), instances_root())

    def running(self) -> list[RunningContender]:
        return [contender for contender in self.all if contender.failed is None]

    def supporting(self, test: Test) -> list[RunningContender]:
        """Return the running contenders that support a test."""
        return [contender for contender in self.running() if contender.lacks(test) is None]

    def compared(self, test: Test) -> set[str]:
        """Return the names of the contenders that are compared with the base in a test."""
        return {contender.name for contender in self.supporting(test)} - {self.all[0].name}

    @property
    def comparable(self) -> bool:
        """Whether the base and at least one other contender are running."""
        return self.all[0].failed is None and len(self.running()) > 1

    def on_failure(self, report: Callable[[RunningContender], None]) -> None:
        """Call `report` with every contender that drops out, including earlier ones."""
        self._on_failure = report
        for contender in self.all:
            if contender.failed is not None:
                report(contender)

    def on_warning(self, keep: Callable[[str], None]) -> None:
        """Call `keep` with every warning about a server, for the report."""
        self._on_warning = keep

    def warn(self, text: str) -> None:
        """Show a warning about servers, and record it for the report."""
        self._view.warning(text)
        if self._on_warning is not None:
            self._on_warning(text)

    @contextmanager
    def guard(self, contender: RunningContender) -> Iterator[None]:
        """Drop the contender if its server fails; the others continue.

        Raises:
            SlowdustError: no contender is left.
        """
        self.driver.subject = contender.name
        try:
            yield
        except (TargetError, InstanceError) as error:
            self.drop(contender, error)

    @contextmanager
    def observing(self, what: str) -> Iterator[None]:
        """Downgrade failures to warnings: the timed results are valid without this pass.

        A contender that fails is excluded until the end of the block, and keeps its data directory.
        `what` is the subject of the warnings: 'counting instructions'.
        """
        before = self.running()
        self._observing = what
        try:
            yield
        except SlowdustError as error:
            if self.running():  # otherwise each failure was reported already
                self.warn(f"{what} failed: {error}")
            for contender in self.running():
                contender.server.stop(Shutdown.AT_ONCE)
        finally:
            self._observing = None
            for contender in before:
                contender.failed = None

    def for_each(self, action: Callable[[RunningContender], object], turn: int = 0) -> None:
        """Apply an action to every running contender; those that fail drop out.

        The order is A B in even turns and B A in odd ones: memory and caches of a server cool while
        the others are started and loaded.
        """
        for contender in in_turn(self.running(), turn):
            with self.guard(contender):
                action(contender)

    def start(self, turn: int = 0) -> None:
        self.for_each(self._start, turn)

    def stop(self) -> None:
        self.for_each(self._stop)

    def maintain(
        self,
        contender: RunningContender,
        stages: list[Stage],
        rows: int,
        driver: Driver | None = None,
    ) -> None:
        """Carry out maintenance on one contender whose tables have `rows` rows.

        `driver` is one that serves this contender alone; by default the shared one.
        """

        def warn(text: str) -> None:
            self.warn(f"{contender.name}: {text}")

        if contender.is_remote:
            stages = self._without_settings(contender, stages)
        try:
            carry_out(driver or self.driver, contender.target, stages, rows, warn)
        except TargetError as error:
            if not contender.is_remote or error.kind == "connection":
                raise
            self._warn_of_silence(contender, f"does not let Slowdust maintain its tables: {error}")

    def _without_settings(self, contender: RunningContender, stages: list[Stage]) -> list[Stage]:
        """Skip stages that change settings temporarily: a kill would leave them changed."""
        skipped = [stage for stage in stages if isinstance(stage, WithSettings)]
        if skipped:
            names = listing(sorted({name for stage in skipped for name in stage.values}))
            self._warn_of_silence(
                contender,
                f"is a running server: maintenance that changes {names} temporarily is skipped",
            )
        return [stage for stage in stages if stage not in skipped]

    def measure_sizes(self, contender: RunningContender, tables: Sequence[str], rows: int) -> None:
        """Refresh a contender's statistics, and ask it for the sizes of its tables."""
        query = contender.family.sizes(contender.server.site, tables)
        self.maintain(contender, list(query.before), rows)
        answers = self.driver.sql(contender.target, query.statements)
        contender.sizes = query.read([answer.rows for answer in answers])

    def measure_buffer_pool(self, contender: RunningContender) -> None:
        """Ask a contender for the size of its page cache."""
        size = self._answer(contender, contender.family.buffer_pool(contender.server.site))
        if size is not None:
            contender.buffer_pool_bytes = size

    def read_page_size(self, contender: RunningContender) -> None:
        """Ask a contender on this machine for the page size of its data files."""
        if not contender.is_remote:
            query = contender.family.page_size(contender.server.site)
            contender.page_bytes = self._answer(contender, query)

    def read_facts(self, contender: RunningContender, rows: int) -> dict[str, dict[str, float]]:
        """Ask a contender for facts about its tables of `rows` rows; empty if it has none."""
        if contender.is_remote:  # its facts include the load of other users
            return {}
        return self._answer(contender, contender.family.facts(contender.server.site), rows) or {}

    def read_counters(self, contender: RunningContender) -> dict[str, float]:
        """Ask a contender for its server's counters; empty if it has none."""
        if contender.is_remote:
            return {}
        return self._answer(contender, contender.family.counters(contender.server.site)) or {}

    def read_settings(self, contender: RunningContender) -> None:
        query = contender.family.settings_in_force(contender.server.site)
        in_force = self._answer(contender, query)
        if in_force is not None:
            before = contender.settings_in_force
            contender.settings_in_force = in_force
            if not before:
                for warning in contender.settings_not_as_given():
                    self._view.warning(warning)

    def _answer(
        self, contender: RunningContender, query: Query[T] | None, rows: int = 0
    ) -> T | None:
        """Return the answer to a query that a server may not support; None, with a warning, if so.

        `rows` is the number of rows of its tables.
        """
        if query is None:
            return None
        self.maintain(contender, list(query.before), rows)

        def warn(error: TargetError) -> None:
            self._warn_of_silence(contender, f"does not describe itself: {error}")

        return try_query(contender.target, query, self.driver, warn)

    def _warn_of_silence(self, contender: RunningContender, what: str) -> None:
        if contender.name not in self._silent:
            self._silent.add(contender.name)
            self.warn(f"{contender.name} {what}")

    def wait_until_idle(self, contenders: Sequence[RunningContender], limit: Second) -> bool:
        """Wait until all of them are idle; return False if `limit` passed before."""
        deadline = self._clock.monotonic() + limit
        idle = [probe for contender in contenders for probe in contender.idle_probes()]
        before = [attempt(probe) for probe in idle]
        calm = 0
        while calm < _IDLE_LOOKS and self._clock.monotonic() < deadline:
            self._clock.sleep(_LOOK_EVERY)
            now = [attempt(probe) for probe in idle]
            uses = map(use_between, idle, before, now)
            most = max((use["cpu_s"] for use in uses if use is not None), default=0.0)
            calm = calm + 1 if most < _IDLE_SHARE * _LOOK_EVERY else 0
            before = now
        return calm >= _IDLE_LOOKS

    def _start(self, contender: RunningContender) -> None:
        if not contender.server.alive():
            self._view.phase(f"{'using' if contender.is_remote else 'starting'} {contender.name}")
            contender.start()
            self.read_settings(contender)

    def _stop(self, contender: RunningContender) -> None:
        if not contender.is_remote:
            self._view.phase(f"stopping {contender.name}")
        contender.server.stop()
        self._keep_log(contender)

    def drop(self, contender: RunningContender, error: Exception) -> None:
        """Drop a contender because of an error; `guard` does so for its server's errors.

        Raises:
            SlowdustError: no contender is left.
        """
        contender.failed = reason = explain_failure(contender, error)
        if contender.handle is not None:
            contender.handle.stop(Shutdown.AT_ONCE)
            self._keep_log(contender)
        if self._observing is not None:
            self.warn(f"{self._observing} of {contender.name} failed: {reason}")
        else:
            if contender.handle is not None:
                # On a full disk its files may be in the way of the others.
                contender.handle.remove()
            if self._on_failure is not None:
                self._on_failure(contender)
        if not self.running():
            raise SlowdustError("no contender is left")

    def _keep_log(self, contender: RunningContender) -> None:
        name = re.sub(r"[^A-Za-z0-9.@#-]+", "_", contender.name).strip("_.")
        number = self.all.index(contender) + 1
        log = contender.server.log_path
        if log is None:
            return
        try:
            shutil.copyfile(log, self._logs / f"{number}-{name}{self._log_suffix}.log")
        except OSError as error:
            self._view.warning(f"cannot copy the log of {contender.name}: {error}")


MakeFreezer = Callable[[Sequence[RunningContender], Callable[[str], None]], "Freezer"]
"""Makes a `Freezer` from contenders and a function that shows warnings."""


class Freezer:
    """Suspends servers; all of them are resumed when the context exits."""

    def __init__(self, contenders: Sequence[RunningContender], warn: Callable[[str], None]) -> None:
        self._contenders = contenders
        self._warn = warn

    def __enter__(self) -> Freezer:
        return self

    def __exit__(self, *error: object) -> None:
        self.thaw_all()

    def thaw_all(self) -> None:
        for contender in self._contenders:
            if contender.failed is None:
                contender.server.thaw()

    def run_only(self, chosen: RunningContender) -> None:
        """Suspend all servers except the chosen contender's, and resume that one."""
        for contender in self._contenders:
            if contender is not chosen and contender.failed is None:
                try:
                    contender.server.freeze()
                except SlowdustError as error:
                    self._warn(f"{contender.name} runs concurrently with {chosen.name}: {error}")
        chosen.server.thaw()


_FIRST_LOOK: Second = 0.05


def carry_out(
    driver: Driver,
    target: Target,
    stages: Sequence[Stage],
    rows: int,
    warn: Callable[[str], None],
) -> None:
    """Carry out the stages in order; `warn` gets a sentence for each that exceeded its limit.

    `rows` is the number of rows of the tables, which decides how long a statement may take.
    """
    for stage in stages:
        if isinstance(stage, Statements):
            driver.sql(
                target,
                stage.texts,
                parallel=os.cpu_count() or 1,
                limit=driver.patience.maintenance(rows),
            )
        elif isinstance(stage, WithSettings):
            before = _values(driver, target, stage)
            driver.sql(target, [stage.write(*pair) for pair in stage.values.items()])
            carry_out(driver, target, stage.stages, rows, warn)
            driver.sql(target, [stage.write(*pair) for pair in reversed(before.items())])
        elif not _wait_for(driver, target, stage):
            warn(f"timed out after {stage.limit:.0f} s, waiting until {stage.what}")


def _values(driver: Driver, target: Target, stage: WithSettings) -> dict[str, str]:
    """Read the current values of the settings that a stage changes."""
    values: dict[str, str] = {}
    answers = driver.sql(target, [stage.read(name) for name in stage.values])
    for name, answer in zip(stage.values, answers, strict=True):
        ((value,),) = answer.rows
        if value is None:
            raise SlowdustError(f"{target.dbms} has no value of {name} to restore afterwards")
        values[name] = value
    return values


def _wait_for(driver: Driver, target: Target, stage: WaitUntil) -> bool:
    deadline = time.monotonic() + stage.limit
    pause = _FIRST_LOOK  # usually the condition holds already, or will in a moment
    while True:
        (answer,) = driver.sql(target, [stage.statement])
        if stage.is_done(answer.rows):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _LOOK_EVERY)


def supported_tests(
    tests: Sequence[Test], contenders: Sequence[ResolvedContender | RunningContender]
) -> tuple[list[Test], list[str]]:
    """Return the tests that the base and another contender support, and sentences about the rest.

    The first contender is the base. A sentence names a contender, the tests it lacks and why.
    """
    base, *others = contenders
    left: list[Test] = []
    lacked: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for test in tests:
        reasons = {each.name: each.lacks(test) for each in contenders}
        for name, reason in reasons.items():
            if reason is not None:
                lacked[name, reason][test.curve or test.name] = None
        unopposed = bool(others) and all(reasons[other.name] is not None for other in others)
        if not unopposed and reasons[base.name] is None:
            left.append(test)
    return left, [
        f"{name} does not support {listing([*what])}: {reason}"
        for (name, reason), what in lacked.items()
    ]


def skip_unsupported_tests(
    steps: Sequence[PlannedStep], contenders: Sequence[RunningContender]
) -> list[str]:
    """Skip the steps without a comparison; return sentences about the unsupported tests."""
    left, sentences = supported_tests([step.test for step in steps], contenders)
    for step in steps:
        if step.test not in left:
            step.chosen = False
    return sentences
