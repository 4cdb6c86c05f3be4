"""The loop of slices without servers: a clock that slices move on, and speeds that are known."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import cast

import numpy as np
import pytest

from slowdust.analysis.comparison.verdict import MINIMUM_BLOCKS
from slowdust.experiment.announced import Announced
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data
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

    def confirm(self, question: str) -> bool:
        del question
        return False

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def waiting(self, why: str, so_far: float) -> None:
        self.warnings.append(why)

    def speed(self, step: PlannedStep, incarnation: int, name: str, block: int, slot: int) -> float:
        seed = f"{step.key}/{incarnation}/{name}"
        moved = random.Random(seed).gauss(0, self.restart[step.test.name])
        noise = random.Random(f"{seed}/{block}/{slot}").gauss(0, 0.03)
        return float(10_000 * np.exp(moved + noise))


def sessions_in(world: World) -> type:
    class Sessions:
        """A step's sessions, whose slices take the world's time."""

        positions = (1,)
        is_over = has_given_up = False
        next_operations: Mapping[str, int] = MappingProxyType({})
        operations: Mapping[str, int] = MappingProxyType({})

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

        slowest_operation = 0.0001
        slowest = NAMES[0]

        def fewest_blocks(self, length: float) -> int:
            return MINIMUM_BLOCKS

        def expected_block(self, length: float) -> float:
            return 2 * len(NAMES) * length

        def warm_up(self, has_time: object) -> float:
            del has_time
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
        idle = SimpleNamespace(
            data=Data(1, 1000, 1), **dict.fromkeys(("start", "note_writes"), lambda *_: None)
        )
        monkeypatch.setattr(loop, "LoadedTables", lambda *_: idle)
        uncounted = SimpleNamespace(totals=lambda _: {}, keep=lambda *_: None)
        monkeypatch.setattr(loop, "Counters", lambda *_: uncounted)
        monkeypatch.setattr(loop, "StepSessions", sessions_in(world))
        monkeypatch.setattr(loop, "time", world)
        monkeypatch.setattr(blocks, "time", world)
        monkeypatch.setattr(Journal, "record_servers", lambda *_: None)
        running = [
            SimpleNamespace(name=name, failed=None, is_remote=False, lacks=lambda _: None)
            for name in NAMES
        ]
        contenders = SimpleNamespace(
            names=NAMES,
            all=running,
            running=lambda: running,
            having=lambda _: running,
            comparable=True,
            stop=lambda: None,
        )

        def journal_of(method: Method) -> Journal:
            facts = synthetic_manifest(NAMES, ["scan"], (1,), 1, 1).contenders
            return Journal(spec, writer, new_manifest(spec, facts, method, "1", {}))

        measured = loop.SliceLoop(
            spec, cast(Contenders, contenders), journal_of, world, Announced(world)
        )
        measured.run()
        return measured.journal

    return run_spec


def spec_of(tests: list[str], **keys: str) -> Spec:
    return parse_spec({"name": "x", "contenders": NAMES, "tests": tests, **keys})


@dataclass
class LosingJudge:
    """Settles scan after three turns, until point-query has had four."""

    names: list[str]
    margin: float
    journal: Journal

    def settled(self, others: list[str], lacking: object) -> set[str]:
        del lacking
        assert others == NAMES[1:]
        turns = {step.test.name: step.turns_done for step in self.journal.steps}
        return {"scan@1"} if turns["scan"] >= 3 and turns["point-query"] < 4 else set()

    def status(
        self, step: PlannedStep, extent: str, measured: float, budget: float, settled: int | None
    ) -> Status:
        return Status(step.test.name, 1, 1, 3, extent, [], measured, budget, settled)


def test_a_test_that_loses_its_verdict_gets_turns_while_the_budget_lasts(
    run: Callable[[World, Spec], Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "Judge", LosingJudge)
    world = World({"point-query": 0.05, "scan": 0.05, "hot-points": 0.05})
    journal = run(world, spec_of([*world.restart], budget="90s", slice="50ms"))
    assert world.phases == ["scan is open again: its verdict no longer holds"]
    turns = {step.test.name: step.turns_done for step in journal.steps}
    assert turns["point-query"] == turns["hot-points"] == 6
    assert turns["scan"] == 5, "it was settled in one of the incarnations"
    assert journal.manifest.settled == []
    assert journal.manifest.spent_s == pytest.approx(90, abs=3)
    counts = [count for count in world.settled if count is not None]
    assert set(counts) == {0, 1}


def test_what_is_settled_leaves_the_budget_to_the_others(
    run: Callable[[World, Spec], Journal],
) -> None:
    world = World({"point-query": 0.0, "random-points.100": 0.0, "hot-points": 0.2})
    journal = run(world, spec_of([*world.restart], budget="70s", slice="50ms"))
    slices = {step.test.name: len(step.slices) for step in journal.steps}
    settled = {step.test.name for step in journal.steps if step.settled}
    assert settled == {"point-query", "random-points.100"}
    assert slices["hot-points"] > slices["point-query"]
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
