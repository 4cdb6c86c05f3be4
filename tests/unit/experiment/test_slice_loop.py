"""The loop of slices without servers: a clock that slices move on, and speeds that are known."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from slowdust.experiment.contenders import Contenders
from slowdust.experiment.journal import Journal, new_manifest
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.slices import blocks, loop
from slowdust.experiment.slices.length import RUN, SpeedRecord
from slowdust.experiment.slices.schedule import block_order
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.experiment.view import Status
from slowdust.store.folder import Folder, Writer, writing
from slowdust.store.manifest import Method
from slowdust.store.slice import Slice
from tests.unit.synthetic import synthetic_manifest, synthetic_slice

NAMES = ["postgres@15.8", "postgres@17.6"]
RESTART_S = 0.05
"""What opening, explaining and warming up take of a turn."""


@dataclass
class World:
    """A machine without noise but that of restarts and slices."""

    restart: dict[str, float]
    """Test -> standard deviation of what a restart does to one contender's ln QPS."""
    now: float = 0.0
    recorded: list[str] = field(default_factory=list)
    lengths: set[tuple[str, float]] = field(default_factory=set)
    phases: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    settled: list[int | None] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def phase(self, text: str) -> None:
        self.phases.append(text)

    def progress(self, done: int, total: int) -> None: ...

    def block(self, status: Status) -> None: ...

    def step_done(self, status: Status) -> None:
        self.settled.append(status.settled)

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def speed(self, step: PlannedStep, incarnation: int, name: str, block: int, slot: int) -> float:
        seed = f"{step.key}/{incarnation}/{name}"
        moved = random.Random(seed).gauss(0, self.restart[step.test.name])
        noise = random.Random(f"{seed}/{block}/{slot}").gauss(0, 0.03)
        return float(10_000 * np.exp(moved + noise))


def sessions_in(world: World) -> type:
    class Sessions:
        """A step's sessions, whose slices take the world's time."""

        positions = (1,)
        next_operation = 1

        def __init__(
            self, contenders: object, step: PlannedStep, incarnation: int, *_: object, **__: object
        ) -> None:
            self.step, self.incarnation = step, incarnation

        def open(self) -> None: ...

        def close(self) -> None: ...

        def age(self, positions: list[int]) -> None: ...

        def read_plans(self, keep: object) -> None: ...

        def used_up(self) -> bool:
            return False

        def warm_up(self) -> float:
            world.now += RESTART_S
            return 10_000.0

        def record_speed(self, seconds: float) -> SpeedRecord:
            world.recorded.append(self.step.key)
            world.now += seconds
            count = int(seconds / RUN)
            return SpeedRecord(np.full(count, 50.0), np.full(count, RUN), 0.002)

        def block(
            self, number: int, length: float, rng: random.Random, keep: Callable[[Slice], None]
        ) -> None:
            world.lengths.add((self.step.key, length))
            for slot, place in enumerate(block_order(len(NAMES), rng)):
                name = NAMES[place]
                qps = world.speed(self.step, self.incarnation, name, number, slot)
                record = synthetic_slice(contender=name, test=self.step.test.name, qps=qps)
                record.place = self.step.place(name, self.incarnation, slot, number)
                world.now += length
                keep(record)

    return Sessions


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    with writing(Folder(tmp_path / "x")) as opened:
        yield opened


@pytest.fixture
def run(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> Callable[[World, Spec], Journal]:
    monkeypatch.setattr(Writer, "append", lambda *_: None)

    def run_spec(world: World, spec: Spec) -> Journal:
        idle = SimpleNamespace(data=None, **dict.fromkeys(("start", "note_writes"), lambda: None))
        monkeypatch.setattr(loop, "LoadedTables", lambda *_: idle)
        monkeypatch.setattr(loop, "StepSessions", sessions_in(world))
        monkeypatch.setattr(loop, "time", world)
        monkeypatch.setattr(blocks, "time", world)
        monkeypatch.setattr(Journal, "record_servers", lambda *_: None)
        running = [SimpleNamespace(name=name, failed=None) for name in NAMES]
        contenders = SimpleNamespace(
            names=NAMES, running=lambda: running, comparable=True, stop=lambda: None
        )

        def journal_of(method: Method) -> Journal:
            facts = synthetic_manifest(NAMES, ["scan"], (1,), 1, 1).contenders
            return Journal(spec, writer, new_manifest(spec, facts, method, "1", {}))

        measured = loop.SliceLoop(spec, cast(Contenders, contenders), journal_of, world)
        measured.run()
        return measured.journal

    return run_spec


def spec_of(tests: list[str], **keys: Any) -> Spec:
    return parse_spec({"name": "x", "contenders": NAMES, "tests": tests, **keys})


def test_no_test_stops_early_without_a_verdict_that_holds_at_the_end(
    run: Callable[[World, Spec], Journal],
) -> None:
    tests = ["point-query", "random-points.100", "random-points.10", "hot-points"]
    restart = {"point-query": 0.004, "hot-points": 0.05}
    world = World({test: restart.get(test, 0.003) for test in tests})
    journal = run(world, spec_of(tests, budget="60s", slice="50ms"))
    assert any("is open again" in phase for phase in world.phases)
    assert any(step.settled for step in journal.steps)
    assert any(not step.settled for step in journal.steps)
    assert journal.manifest.spent_s == pytest.approx(60, abs=3), "what is unsure gets the rest"
    counts = [count for count in world.settled if count is not None]
    assert any(later < earlier for earlier, later in zip(counts, counts[1:], strict=False))
    assert journal.manifest.settled == [step.key for step in journal.steps if step.settled]


def test_each_test_has_one_length_in_all_incarnations(
    run: Callable[[World, Spec], Journal],
) -> None:
    world = World({"point-query": 0.05, "scan": 0.05, "random-points.10": 0.05})
    journal = run(world, spec_of([*world.restart], budget="60s"))
    assert sorted(world.recorded) == sorted(step.key for step in journal.steps)
    assert sorted(world.lengths) == sorted(journal.manifest.method.slice_lengths.items())
    assert {step.turns_done for step in journal.steps} >= {4}


def test_a_given_length_is_taken_and_nothing_recorded(
    run: Callable[[World, Spec], Journal],
) -> None:
    world = World({"point-query": 0.05})
    journal = run(world, spec_of(["point-query"], budget="20s", slice="80ms"))
    assert world.recorded == []
    assert world.lengths == {("point-query@1", 0.08)}
    assert journal.manifest.method.slice_lengths == {}


def test_a_small_budget_is_exceeded_with_a_warning_and_few_blocks(
    run: Callable[[World, Spec], Journal],
) -> None:
    world = World({"point-query": 0.05, "scan": 0.05})
    journal = run(world, spec_of([*world.restart], budget="1s"))
    assert world.warnings == [
        "the budget of 1s will be exceeded: 2 tests in 4 incarnations take at least 12s"
    ]
    assert world.recorded == []
    assert [step.turns_done for step in journal.steps] == [4, 4]
    assert [len(step.slices) for step in journal.steps] == [4 * 2 * 4] * 2
