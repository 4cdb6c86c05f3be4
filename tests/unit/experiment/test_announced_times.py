"""What is announced is kept, by simulated servers whose operations are slow or fast."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from slowdust.experiment import announced as announcing
from slowdust.experiment import outlook
from slowdust.experiment.announced import MOST, Announced
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.patience import Waits
from slowdust.experiment.driver.process import Data
from slowdust.experiment.driver.protocol import Ran, Stop
from slowdust.experiment.journal import Journal, new_manifest
from slowdust.experiment.slices import blocks, loop, remaining
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.experiment.view import Status
from slowdust.store.folder import Folder, Writer, writing
from slowdust.store.manifest import Method
from slowdust.store.slice import Place, Slice
from tests.unit.synthetic import synthetic_manifest, synthetic_slice
from tests.unit.synthetic_contenders import ran

NAMES = ["sqlite@3.17.0", "sqlite@3.26.0"]
KEPT = 1.25
"""Largest ratio between the end and the last announcement, in nine of ten."""


@dataclass
class World:
    """A machine whose clock is moved on by what servers do; it is driver and view, too."""

    operation: Mapping[str, float]
    """Contender -> seconds that an operation takes."""
    loading: float = 1.0
    """Seconds that one contender takes to start and load."""
    agrees: bool = False
    """Whether the user, once asked, wants more time."""
    now: float = 0.0
    told: list[tuple[float, float]] = field(default_factory=list)
    """Moment, and the end that was announced then."""
    phases: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)
    announced: Announced | None = None
    draws: random.Random = field(default_factory=lambda: random.Random(1))
    waits: Waits = field(default_factory=lambda: Waits(None))

    def monotonic(self) -> float:
        return self.now

    def phase(self, text: str) -> None:
        self.phases.append(text)
        if self.announced is not None:
            self.told.append((self.now, self.announced.end))

    def progress(self, done: int, total: int) -> None: ...

    def waiting(self, why: str, so_far: float) -> None: ...

    def block(self, status: Status) -> None:
        assert status.left is not None
        self.told.append((self.now, self.now + status.left))

    step_done = block

    def confirm(self, question: str) -> bool:
        self.questions.append(question)
        return self.agrees

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def load(self, number: int) -> None:
        del number
        self.now += len(NAMES) * self.loading

    def open(self, *_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(server_processes=[])

    def explain(self, session: str, operations: int) -> list[object]:
        """Execute operations for half a second, one at the least, and none for more than 5 s."""
        took = self.operation[session.partition("|")[0]]
        self.now += min(5.0, min(operations, max(1, int(np.ceil(0.5 / took)))) * took)
        return []

    def close(self, session: str) -> None:
        del session

    def advance(self, session: str, positions: list[int]) -> Ran:
        return self.run(session, Stop(positions=positions))

    def run(self, session: str, stop: Stop, *_: object, **__: object) -> Ran:
        """Carry out whole operations as the driver does, one at the least."""
        took = self.operation[session.partition("|")[0]] * float(np.exp(self.draws.gauss(0, 0.05)))
        first = self.done.get(session, 0)
        count = 1 if stop.seconds is None else max(1, int(np.ceil(stop.seconds / took)))
        if stop.positions is not None:
            left = max(0, stop.positions[0] - first)
            count = left if stop.seconds is None else min(count, left)
        self.done[session] = first + count
        self.now += count * took + 0.001
        return ran(count, count * took, [first + count])


@dataclass
class Server:
    """A contender of the world."""

    name: str
    failed: None = None
    is_remote: bool = False
    target: None = None

    def lacks(self, test: object) -> None:
        del test

    def window(self, running: object) -> SimpleNamespace:
        del running
        return SimpleNamespace(open=lambda: None, close=lambda: None)

    def refuse_fatal_errors(self, errors: object, what: str) -> None:
        del errors, what


def slice_in(place: Place, run: Ran, *_: object, **__: object) -> Slice:
    record = synthetic_slice(contender=place.contender, test=place.test, qps=run.qps)
    record.place = place
    record.measured.operations, record.measured.seconds = run.operations, run.seconds
    return record


@dataclass
class Outcome:
    """An experiment that has ended."""

    world: World
    journal: Journal
    announced: Announced
    expected: float

    @property
    def missed(self) -> float:
        """How many times as long it took as was announced last.

        Of one that came to its end that is what stood when two thirds of the time had passed.
        """
        if self.announced.ended_early:
            return self.world.now / self.announced.end
        standing = [end for at, end in self.world.told if at <= self.world.now * 2 / 3]
        return self.world.now / (standing or [self.expected])[-1]


@pytest.fixture
def experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[World, Spec], Outcome]]:
    monkeypatch.setattr(Writer, "append", lambda *_: None)
    monkeypatch.setattr(outlook, "usual_time", lambda *_: 0.0)
    monkeypatch.setattr(Journal, "record_servers", lambda *_: None)
    monkeypatch.setattr(blocks, "slice_of", slice_in)
    folders = iter(range(1000))

    def run(world: World, spec: Spec) -> Outcome:
        names = ("load", "note_writes", "maintain", "tidy")
        idle = SimpleNamespace(
            data=Data(1, 100_000, 1), **dict.fromkeys(names, lambda *_: None), start=world.load
        )
        monkeypatch.setattr(loop, "LoadedTables", lambda *_: idle)
        uncounted = SimpleNamespace(totals=lambda _: {}, keep=lambda *_: None)
        monkeypatch.setattr(loop, "Counters", lambda *_: uncounted)
        for module in (announcing, blocks, loop, remaining):
            monkeypatch.setattr(module, "time", world)
        servers = [Server(name) for name in NAMES]
        contenders = SimpleNamespace(
            names=NAMES,
            all=servers,
            driver=world,
            running=lambda: servers,
            having=lambda _: servers,
            comparable=True,
            guard=lambda _: nullcontext(),
            for_each=lambda action: [action(server) for server in servers],
            stop=lambda: None,
        )
        expected = outlook.outlook_of(spec, tmp_path / "none")
        world.announced = Announced(world, expected.wall, MOST * expected.wall)
        with writing(Folder(tmp_path / str(next(folders)))) as writer:

            def journal_of(method: Method) -> Journal:
                facts = synthetic_manifest(NAMES, ["scan"], (1,), 1, 1).contenders
                return Journal(spec, writer, new_manifest(spec, facts, method, "1", {}))

            measured = loop.SliceLoop(
                spec, cast("Contenders", contenders), journal_of, world, world.announced
            )
            measured.run()
        return Outcome(world, measured.journal, world.announced, expected.wall)

    yield run


def spec_of(budget: float, *tests: str) -> Spec:
    keys = {"name": "x", "contenders": NAMES, "tests": list(tests), "budget": budget}
    return parse_spec({**keys, "count": "off"})


def cases() -> Iterator[tuple[World, Spec]]:
    """Draw experiments: how far speeds differ, how slow operations are, how long loading takes."""
    draw = random.Random(7)
    for ratio in (1.0, 2.0, 30.0, 1000.0):
        for slow in (0.001, 0.3, 2.0, 30.0):
            loading = 10 ** draw.uniform(-0.5, 0.7)
            tests = draw.choice(
                [["scan"], ["update-index"], ["scan", "update-index", "hot-points"]]
            )
            budget = draw.choice([20.0, 60.0])
            operation = {NAMES[0]: slow / ratio, NAMES[1]: slow}
            yield World(operation, loading=loading), spec_of(budget, *tests)


def test_what_is_announced_is_kept(experiment: Callable[[World, Spec], Outcome]) -> None:
    outcomes = [experiment(*case) for case in cases()]
    assert not any(outcome.world.agrees for outcome in outcomes)
    assert all(outcome.world.now <= MOST * outcome.expected for outcome in outcomes)
    kept = [outcome.missed <= KEPT for outcome in outcomes]
    assert sum(kept) >= 0.9 * len(kept), [outcome.missed for outcome in outcomes]


def turns_of(outcome: Outcome) -> list[tuple[int, int]]:
    """Return the starts and slices of each step."""
    return [(step.turns_done, len(step.slices)) for step in outcome.journal.steps]


@pytest.mark.parametrize("slow", [0.003, 0.3, 8.0])
@pytest.mark.parametrize("test", ["scan", "update-index"])
def test_far_differences_are_decided_by_few_operations(
    experiment: Callable[[World, Spec], Outcome], test: str, slow: float
) -> None:
    world = World({NAMES[0]: slow / 500, NAMES[1]: slow})
    outcome = experiment(world, spec_of(120.0, test))
    assert outcome.journal.manifest.settled == [f"{test}@1"]
    assert outcome.world.now < outcome.expected
    [(starts, slices)] = turns_of(outcome)
    assert starts == 3, "one with few tests has four, unless it is that far"
    assert slices <= 3 * 4 * 20
    if slow > 1:
        assert slices == 3 * 4, "one block of each start"


def test_equals_with_slow_operations_have_no_verdict_soon(
    experiment: Callable[[World, Spec], Outcome],
) -> None:
    outcome = experiment(World(dict.fromkeys(NAMES, 1.0)), spec_of(20.0, "scan"))
    assert outcome.journal.manifest.settled == []
    assert turns_of(outcome) == [(4, 4 * 4)]


def test_the_first_operation_corrects_what_was_announced(
    experiment: Callable[[World, Spec], Outcome],
) -> None:
    world = World({NAMES[0]: 0.001, NAMES[1]: 3.0})
    outcome = experiment(world, spec_of(20.0, "scan"))
    [line] = [phase for phase in world.phases if "an operation takes" in phase]
    assert line.startswith("scan: an operation takes ")
    assert f" on {NAMES[1]}: about " in line
    assert not outcome.announced.ended_early


@pytest.mark.parametrize("agrees", [False, True])
def test_the_user_is_asked_before_it_takes_twice_as_long(
    experiment: Callable[[World, Spec], Outcome], *, agrees: bool
) -> None:
    world = World(dict.fromkeys(NAMES, 6.0), agrees=agrees)
    outcome = experiment(world, spec_of(20.0, "scan"))
    [question] = world.questions
    assert question.startswith("scan: an operation takes 6")
    assert question.endswith("were announced: take that time?")
    assert outcome.announced.ended_early != agrees
    assert (outcome.world.now > MOST * outcome.expected) == agrees
    if not agrees:
        assert any("with what is measured by then" in phase for phase in world.phases)


def test_time_of_others_and_of_builds_is_not_limited(experiment: object) -> None:
    del experiment
    world = World(dict.fromkeys(NAMES, 1.0))
    announced = Announced(world, 100.0, 200.0, builds=20.0)
    begun = announced.room
    announced.leave_out(0.0)
    announced.got_builds()
    assert announced.room == pytest.approx(begun - MOST * 20.0, abs=1.0)
    assert announced.allows(150.0)
    assert not announced.allows(170.0)
    assert not announced.allows(1.0), "what follows it has no time either"
