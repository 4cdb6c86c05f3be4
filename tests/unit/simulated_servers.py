"""Simulated servers: contenders of known speed, and a clock that their operations advance.

All but the servers, their driver and the clock is Slowdust's own.
"""

from __future__ import annotations

import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from slowdust.accounts import Account
from slowdust.benchmarks.micro import MICRO
from slowdust.builds.model import Build
from slowdust.dbms.access import Access, Listen, Target
from slowdust.dbms.environment import Environment
from slowdust.dbms.family import Shutdown, Site
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.sqlite import FAMILY
from slowdust.experiment.announced import Announced
from slowdust.experiment.contender import ResolvedContender, RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data, Driver, Patience
from slowdust.experiment.driver.protocol import (
    Create,
    Opened,
    Performed,
    PlanText,
    Prepare,
    Prepared,
    Ran,
    ResultSet,
    Stop,
    Until,
    UntilOperations,
    UntilSeconds,
)
from slowdust.experiment.engine.loop import OpenExperiment
from slowdust.experiment.engine.open_test import OpenTest, Pace
from slowdust.experiment.journal import Journal, new_manifest
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import Status
from slowdust.instances.callgrind import Callgrind
from slowdust.instances.instance import Instance
from slowdust.store.folder import SLICES_FILE, Folder, Writer
from slowdust.store.manifest import BuildFacts, ContenderFacts, Executed, Method
from slowdust.store.slice import Slice
from slowdust.store.step import RoleUse
from slowdust.store.storage import Records
from tests.unit.synthetic_contenders import NO_ANSWERS, ran

COMMAND_S = 0.001
"""Time of a command in addition to its work."""
CALLGRIND = (
    "version: 1\ncreator: callgrind-3.19.0\npid: 7\nthread: 1\npart: 1\n"
    "desc: Trigger: Client Request: slowdust\npositions: line\nevents: Ir\nsummary: {0}\n\n"
    "ob=(1) /bin/server\nfl=(1) a.c\nfn=(1) work\n0 {0}\n\ntotals: {0}\n"
)


@dataclass
class Machine:
    """A machine with its servers; it is their clock, and the view of the experiment, too."""

    operation: Mapping[str, float]
    """Contender -> seconds that an operation takes."""
    restart: Mapping[str, float] = field(default_factory=dict)
    """Test -> standard deviation of what a start does to one contender's ln speed."""
    noise: float = 0.03
    """The same of each run."""
    loading: float = 0.5
    """Seconds that loading one contender takes."""
    agrees: bool = False
    """Whether the user, once asked, wants more time."""
    errors: dict[tuple[str, str], list[Exception | None]] = field(default_factory=dict)
    """Contender and a test, `start` or `sizes` -> the errors of its calls; None: no error.
    The last one repeats."""
    instructions: Callable[[str, str, int], int] = lambda contender, test, start: 10
    """Returns the instructions of an operation of a contender, a test and a start."""
    plans: Collection[str] = ()
    """The contenders that tell their plans, with the operations that they executed for them."""
    now: float = 0.0
    ran: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Contender -> seconds of its runs."""
    operations: Counter[str] = field(default_factory=Counter)
    """Contender -> operations of its runs."""
    starts: dict[str, int] = field(default_factory=dict)
    loads: int = 0
    done: list[str] = field(default_factory=list)
    """The sessions that were opened, in their order: `CONTENDER|TEST@CLIENTS|START`."""
    phases: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    """The status at the end of each turn."""
    told: list[tuple[float, float]] = field(default_factory=list)
    """Moment, and the end that was announced then."""
    announced: Announced | None = None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.now += seconds

    def fail(self, contender: str, what: str) -> None:
        """Raise what something on a contender raises next."""
        due = self.errors.get((contender, what), [])
        error = due.pop(0) if len(due) > 1 else next(iter(due), None)
        if error is not None:
            raise error

    def took(self, session: str) -> float:
        """Return the seconds of an operation in the next run of a session."""
        contender, step, start, *_ = [*session.split("|"), "", ""]
        moved = random.Random(f"{step}/{start}/{contender}").gauss(
            0, self.restart.get(step.partition("@")[0], 0.0)
        )
        noise = random.Random(f"{session}/{self.now}").gauss(0, self.noise)
        return float(self.operation[contender] * np.exp(-moved - noise))

    def phase(self, text: str) -> None:
        self.phases.append(text)
        if self.announced is not None:
            self.told.append((self.now, self.announced.end))

    def progress(self, done: int, total: int) -> None: ...

    def waiting(self, why: str, so_far: float) -> None: ...

    def block(self, status: Status) -> None:
        if status.left is not None:
            self.told.append((self.now, self.now + status.left))

    def step_done(self, status: Status) -> None:
        self.statuses.append(status)
        self.block(status)

    def confirm(self, question: str) -> bool:
        self.questions.append(question)
        return self.agrees

    def warning(self, text: str) -> None:
        self.warnings.append(text)


@dataclass
class _Session:
    contender: str
    test: str
    start: int
    operations: int = 0
    seconds: float = 0.0
    clients: int = 1
    work: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 0
    """Bytes that a step adds to the tables at its end."""


class SimulatedDriver:
    """The driver of such servers: each session goes forward by operations."""

    version = "1"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.patience = Patience()
        self.subject = ""
        self._sessions: dict[str, _Session] = {}
        self.rows: dict[str, int] = {}
        """Contender -> the rows in its tables of long steps."""

    def __enter__(self) -> SimulatedDriver:
        return self

    def __exit__(self, *error: object) -> None: ...

    def another(self, cpus: Sequence[int] | None = None) -> SimulatedDriver:
        del cpus
        return SimulatedDriver(self.machine)

    def load(self, target: Target, data: object, on_progress: object) -> None:
        del target, data, on_progress
        self.machine.now += self.machine.loading
        self.machine.loads += 1

    def open(self, name: str, target: Target, data: object, *, test: str, **_: object) -> Opened:
        del data
        self.machine.now += COMMAND_S
        self.machine.done.append(name)
        start = int("".join(filter(str.isdigit, name.rsplit("|", maxsplit=1)[-1])) or 0)
        self._sessions[name] = _Session(target.database, test, start)
        return Opened(id=1, session=name, unit="operations/s", statements=[], server_processes=[7])

    def explain(self, session: str, operations: int) -> list[PlanText]:
        """Execute operations for half a second, one at the least, and none for more than 5 s."""
        if session not in self._sessions:
            return []
        contender = self._sessions[session].contender
        took = self.machine.operation[contender]
        fits = min(operations, max(1, int(np.ceil(0.5 / took))))
        self.machine.now += min(5.0, fits * took)
        executed = Executed(operations=fits, executions=fits, amounts={})
        return [PlanText("SELECT", "scan", executed)] if contender in self.machine.plans else []

    def run(self, session: str, stop: Stop, *_: object, **__: object) -> Ran:
        """Carry out whole operations as the driver does, one at the least."""
        open_ = self._sessions[session]
        self.machine.fail(open_.contender, open_.test)
        took, first = self.machine.took(session), open_.operations
        count = 1 if stop.seconds is None else max(1, int(np.ceil(stop.seconds / took)))
        if stop.positions is not None:
            left = max(0, stop.positions[0] - first)
            count = left if stop.seconds is None else min(count, left)
        open_.operations += count
        self.machine.ran[open_.contender] += count * took
        self.machine.operations[open_.contender] += count
        self.machine.now += count * took + COMMAND_S
        return ran(count, count * took or took, [open_.operations])

    def advance(self, session: str, positions: list[int]) -> Ran:
        return self.run(session, Stop(positions=positions))

    def close(self, session: str) -> None:
        self._sessions.pop(session, None)

    def create(self, command: Create) -> None:
        self.rows[command.target.database] = 0

    def prepare(self, command: Prepare) -> Prepared:
        contender, step, start = command.session.split("|")
        self.machine.done.append(command.session)
        self._sessions[command.session] = _Session(
            contender, step.partition("@")[0], int(start), clients=command.clients,
            work=command.work,
        )  # fmt: skip
        return Prepared(id=1, session=command.session, statements=[], seats=[])

    def perform(
        self, session: str, until: Until | None, limit: float, on_progress: object
    ) -> Performed:
        """Carry out commits, indexes or queries up to the end of a chunk, or of the step."""
        del limit, on_progress
        open_ = self._sessions[session]
        self.machine.fail(open_.contender, open_.test)
        took, kind = self.machine.took(session), open_.work["kind"]
        per_commit = open_.work.get("rows_per_commit", 0)
        if kind == "query":
            end = open_.work["seconds"]
            seconds = until.seconds if isinstance(until, UntilSeconds) else end
            count = int((seconds - open_.seconds) / took)
            over = seconds >= end
        else:
            rows = open_.work.get("rows", 0)
            last = -(-rows // per_commit) if per_commit else 3
            goal = until.operations if isinstance(until, UntilOperations) else last
            count, over = goal - open_.operations, goal >= last
        open_.operations += count
        open_.seconds += count * took
        self.machine.now += count * took + COMMAND_S
        grown = open_.operations * per_commit * open_.clients if kind == "load" else 0
        if over:
            self.rows[open_.contender] += grown
        role = {"load": "insert", "replace": "insert"}.get(kind, kind)
        use = RoleUse(
            statements=open_.operations,
            rows=open_.operations * (per_commit or 1),
            seconds=open_.seconds,
            latency=NO_ANSWERS,
        )
        return Performed(
            id=1,
            session=session,
            over=over,
            chunk_seconds=count * took,
            started=0.0,
            seconds=open_.seconds,
            roles={role: use},
            growth=[grown],
        )

    def sql(
        self, target: Target, statements: Sequence[str], *_: object, **__: object
    ) -> list[ResultSet]:
        return [ResultSet([], self._answer(target, each)) for each in statements]

    def _answer(self, target: Target, statement: str) -> list[list[str | None]]:
        site = cast("Site", None)
        if statement in FAMILY.sizes(site, []).statements:
            self.machine.fail(target.database, "sizes")
            return [["3000", "2000", "1000"]]
        if statement.startswith("SELECT count(*)"):
            return [[str(self.rows[target.database])]]
        pages = FAMILY.page_size(site).statements + FAMILY.buffer_pool(site).statements
        if statement in pages:
            return [["4096"]]
        return []


class SimulatedCallgrind(Callgrind):
    """Counts the operations between two orders."""

    def __init__(self, machine: Machine, name: str, start: int) -> None:
        self._machine = machine
        self._name = name
        self._start = start

    def start(self, operation: Callable[[], object], thread: int = 0) -> None:
        del thread
        operation()

    stop = start

    def dump(self, operation: Callable[[], object], thread: int = 0) -> str:
        del thread
        operation()
        own = [each for each in self._machine.done if each.startswith(f"{self._name}|")]
        test = own[-1].split("|")[1].partition("@")[0]
        return CALLGRIND.format(self._machine.instructions(self._name, test, self._start))


class SimulatedServer(Instance):
    """A server that starts in no time."""

    def __init__(self, machine: Machine, name: str, build: Build, folder: Path) -> None:
        self.machine = machine
        self.name = name
        self.directory = folder
        self.delay = self.syncs = self.memory_limit = self.frozen_group = None
        self.events: list[str] = []
        """The calls that it got."""
        self._site = Site(
            build, Account("me", os.getuid(), os.getgid()), folder, folder / "config", folder, 1,
            Access(Listen.SOCKET), AcceptedSettings({}, (), {}),
        )  # fmt: skip
        self._runs = False
        self._counted = 0

    def start(self) -> None:
        self.machine.fail(self.name, "start")
        self.machine.starts[self.name] = self.machine.starts.get(self.name, 0) + 1
        self._runs = True

    def start_under_callgrind(self, options: Sequence[str] = ()) -> Callgrind:
        self.start()
        self._counted += 1
        return SimulatedCallgrind(self.machine, self.name, self._counted)

    def stop(self, shutdown: Shutdown = Shutdown.ORDERLY) -> None:
        self._runs = False

    def freeze(self) -> None:
        self.events.append("stands still")

    def thaw(self) -> None:
        self.events.append("goes on")

    def observe_waits(self) -> None: ...

    def alive(self) -> bool:
        return self._runs

    def check_alive(self) -> None: ...

    def remove(self) -> None: ...

    def log_tail(self, lines: int) -> list[str]:
        return []

    def target(self) -> Target:
        return Target(
            dbms="sqlite", host=None, socket="/s", port=1, user="me", password=None,
            database=self.name,
        )  # fmt: skip

    freezing = "signals"
    log_path = subject = allocator = None  # type: ignore[assignment]
    pid = 7


class _Unsynced(Records):
    """Records without a sync of each, which would take longer than all that is tested."""

    def append(self, *records: msgspec.Struct) -> None:
        self._file.writelines(msgspec.json.encode(record) + b"\n" for record in records)


def simulated_contender(machine: Machine, name: str, folder: Path) -> RunningContender:
    """Return a contender on a machine, with a server that does not run yet."""
    facts = BuildFacts(source="directory", version=name.partition("@")[2], sha256=name)
    build = Build("sqlite", facts.version, folder, "directory", folder / "server", facts)
    settings = Settings(config="default", required={}, optional={}, create={})
    resolved = ResolvedContender(name, build, None, Environment(), settings)
    return RunningContender(resolved, SimulatedServer(machine, name, build, folder))


def simulated_contenders(machine: Machine, folder: Path) -> Contenders:
    """Return the contenders of a machine, with its driver, clock and view."""
    all_ = [simulated_contender(machine, name, folder) for name in machine.operation]
    return Contenders(all_, cast("Driver", SimulatedDriver(machine)), folder, machine, machine)


@contextmanager
def opened(machine: Machine, test: str, folder: Path) -> Iterator[OpenTest]:
    """Open the sessions of a test of one client on a machine's servers."""
    (chosen,) = MICRO.matching([test])
    data, pace = Data(tables=1, rows=10, seed=1), Pace(discard=0.01, warmup=0.1, rate=None)
    contenders = simulated_contenders(machine, folder)
    sessions = OpenTest(contenders, PlannedStep(chosen, 1), 1, pace, data=data, clock=machine)
    sessions.open()
    yield sessions
    sessions.close()


@contextmanager
def simulated(
    machine: Machine,
    spec: Spec,
    folder: Path,
    method_of: Callable[[Contenders], Method],
    announced: Announced | None = None,
    *,
    kept: Sequence[Slice] = (),
) -> Iterator[OpenExperiment]:
    """Open an experiment on a machine's servers; `kept` are slices that it has already."""
    contenders = simulated_contenders(machine, folder)
    facts = [
        ContenderFacts(
            name=each.name, dbms="sqlite", build=each.build_facts, config="default", settings={}
        )
        for each in contenders.all
    ]
    opened = Folder(folder / "x")
    opened.logs.mkdir(parents=True, exist_ok=True)
    path = opened.path / SLICES_FILE
    with path.open("a+b") as slices:
        writer = Writer(opened, _Unsynced(path, slices))
        writer.append(*kept)
        slices.flush()
        manifest = new_manifest(spec, facts, method_of(contenders), "1", {})
        journal = Journal(spec, writer, manifest)
        contenders.on_warning(journal.warn)
        announced = announced or Announced(machine, clock=machine)
        yield OpenExperiment(spec, contenders, journal, machine, announced, machine)
