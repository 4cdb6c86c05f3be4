"""What goes wrong behind a long step leaves its record, on contenders that only pretend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, cast

import pytest

from slowdust.benchmarks.steps import Server, StepBenchmark
from slowdust.dbms.settings import InForce
from slowdust.dbms.stages import Stage
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Failed, PlanText
from slowdust.experiment.journal import Journal, new_manifest
from slowdust.experiment.judging import Judge
from slowdust.experiment.live import PlainView
from slowdust.experiment.plan import plan
from slowdust.experiment.round_trips import RoundTrips
from slowdust.experiment.spec.spec import parse_spec
from slowdust.experiment.steps.forecast import Forecast
from slowdust.experiment.steps.loop import StepLoop
from slowdust.experiment.steps.step import StepRunner
from slowdust.experiment.steps.turn import ContenderTurn
from slowdust.instances.programs import InstanceError
from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import BuildFacts, ContenderFacts, Method
from slowdust.store.slice import Slice
from tests.unit.synthetic_steps import STEPS, insert_experiment

SPEC = parse_spec(
    {
        "name": "x",
        "contenders": ["postgres@17.6"],
        "benchmark": "insert",
        "tests": ["l.i1"],
        "incarnations": 1,
        "insert": {"rows": [1000, 100]},
    }
)
NAME = "postgres@17.6"
FACTS = ContenderFacts(
    name=NAME,
    dbms="postgres",
    build=BuildFacts(source="directory", version="17.6", sha256="a", binary_bytes=1),
    config="insert",
    settings={},
)


@dataclass
class PretendedServer:
    """A contender that counts its starts."""

    name: str = NAME
    keeps_tables: bool = True
    target: None = None
    sizes: SimpleNamespace = field(
        default_factory=lambda: SimpleNamespace(data_bytes=3, table_bytes=2, index_bytes=1)
    )
    buffer_pool_bytes: None = None
    settings_in_force: dict[str, InForce] = field(default_factory=dict)
    starts: int = 0
    failed: None = None
    is_remote: bool = False

    def settings_not_as_given(self) -> list[str]:
        return []

    @property
    def server(self) -> SimpleNamespace:
        return SimpleNamespace(
            site=None,
            allocator=None,
            freezing="signals",
            stop=lambda _: None,
            freeze=lambda: None,
            thaw=lambda: None,
            check_alive=lambda: None,
            log_tail=lambda _: [],
        )

    @property
    def family(self) -> SimpleNamespace:
        def nothing(site: None, tables: Sequence[str]) -> list[Stage]:
            del site, tables
            return []

        return SimpleNamespace(after_load=nothing, after_writes=nothing, after_step=nothing)

    def start(self) -> None:
        self.starts += 1


class PretendedContenders:
    """One contender; measuring the sizes of its second step fails with an error."""

    def __init__(self, error: Exception) -> None:
        self.all = [PretendedServer()]
        self.names = [NAME]
        self.driver = SimpleNamespace(
            create=lambda *of: None, close=lambda session: None, explain=lambda *_, **__: []
        )
        self.measured = 0
        self.stops = 0
        self.comparable = False
        self._error = error

    def running(self) -> list[PretendedServer]:
        return self.all

    @contextmanager
    def guard(self, contender: PretendedServer) -> Iterator[None]:
        del contender
        yield

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self.stops += 1

    def read_facts(self, *of: object) -> dict[str, dict[str, float]]:
        del of
        return {"purchases1": {"dead_rows": 7.0, "rows": 1000.0}, "server": {"undo_logs": 3.0}}

    def measure_sizes(self, *of: object) -> None:
        del of
        self.measured += 1
        if self.measured == 2:
            raise self._error

    def wait_until_idle(self, contenders: Sequence[PretendedServer], limit: float) -> None:
        del contenders, limit


@dataclass
class PretendedMeasurement:
    """The measurement of a step that does nothing, in any number of chunks."""

    turn: ContenderTurn
    record: Slice
    seconds: float = 0.0

    def perform(self, until: object, on_progress: object) -> float:
        del until, on_progress
        return 1.0

    def perform_chunk(self, place: object, until: object, on_progress: object) -> None:
        del place, until, on_progress

    def finish(self) -> Slice:
        self.turn.tables.rows = self.turn.tables.written = 1000
        self.record.place.incarnation = self.turn.incarnation
        assert self.record.step is not None
        self.record.step.table_bytes = None
        self.record.step.settled_s = None
        return self.record


def pretend_to_measure(monkeypatch: pytest.MonkeyPatch, *steps: str) -> None:
    _, slices = insert_experiment([NAME], steps or STEPS)
    by_test = {record.place.test: record for record in slices}

    def prepare(self: StepRunner, turn: ContenderTurn) -> list[PlanText]:
        del self, turn
        return []

    def begin(
        self: StepRunner, turn: ContenderTurn, idle: list[RunningContender]
    ) -> PretendedMeasurement:
        del self, idle
        return PretendedMeasurement(turn, by_test[turn.test.name])

    def count_rows(self: StepRunner, turn: ContenderTurn) -> int:
        del self, turn
        return 1000

    monkeypatch.setattr(StepRunner, "prepare", prepare)
    monkeypatch.setattr(StepRunner, "begin", begin)
    monkeypatch.setattr(StepRunner, "count_rows", count_rows)


@pytest.mark.parametrize(
    ("error", "is_remote", "again"),
    [
        (TargetError(Failed(kind="server", message="it went away")), False, "server was started"),
        (TargetError(Failed(kind="server", message="it went away")), True, "clients connected"),
        (InstanceError("it went away"), False, "server was started"),
    ],
)
def test_a_step_stays_measured_whatever_its_tables_say(
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    is_remote: bool,
    again: str,
) -> None:
    pretend_to_measure(monkeypatch)
    pretended = PretendedContenders(error)
    pretended.all[0].is_remote = is_remote
    monkeypatch.setattr(RoundTrips, "measure", lambda _: None)
    benchmark = SPEC.configured_benchmark()
    assert isinstance(benchmark, StepBenchmark)
    workload = benchmark.workload([Server(200, None)])
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:

        def journal_of(method: Method) -> Journal:
            return Journal(SPEC, writer, new_manifest(SPEC, [FACTS], method, "1", {}))

        loop = StepLoop(SPEC, workload, cast("Contenders", pretended), journal_of, PlainView())
        loop.run()
        kept = {record.place.test: record.step for record in folder.read_slices()}
    assert list(kept) == ["l.i0", "l.x", "l.i1"]
    index = kept["l.x"]
    assert index is not None
    assert index.rows_counted == 1000
    assert index.table_bytes is None
    assert index.settled_s is None
    after = kept["l.i1"]
    assert after is not None
    assert after.table_bytes == 2
    assert (after.dead_rows, after.history_length) == (7, 3)
    manifest = loop.journal.manifest
    assert not manifest.failed_steps
    finished, restarted = manifest.warnings
    assert finished.startswith(f"{NAME} finished l.x@1 of incarnation 1, and failed in what")
    assert "it went away" in finished
    assert f"its {again} again after l.x@1, before these steps: l.i1@1" in restarted
    assert pretended.all[0].starts == 1


def test_holds_change_their_order_from_incarnation_to_incarnation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = parse_spec(
        {
            "name": "x",
            "contenders": [NAME],
            "benchmark": "insert",
            "tests": ["l.i1"],
            "incarnations": 2,
            "insert": {"rows": [1000, 100], "hold": [0, 60]},
        }
    )
    names = [step.test.name for step in plan(spec)]
    pretend_to_measure(monkeypatch, *names)
    benchmark = spec.configured_benchmark()
    assert isinstance(benchmark, StepBenchmark)
    workload = benchmark.workload([Server(200, None)])
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:

        def journal_of(method: Method) -> Journal:
            return Journal(spec, writer, new_manifest(spec, [FACTS], method, "1", {}))

        pretended = PretendedContenders(InstanceError("it went away"))
        pretended.measured = 2  # of what follows, nothing fails
        StepLoop(spec, workload, cast("Contenders", pretended), journal_of, PlainView()).run()
        kept = [record.place.test for record in folder.read_slices()]
    alone, beside = names[:3], names[3:]
    assert beside == [f"{name}.hold60" for name in alone]
    assert kept == [*alone, *beside, *beside, *alone]


class BudgetCase(NamedTuple):
    """A budget for incarnations that take 3 s each, two of which are planned."""

    budget: str
    incarnations: int
    comparable: bool = True
    settled: bool = False
    warnings: tuple[str, ...] = ()


@pytest.mark.parametrize(
    "case",
    [
        BudgetCase("10s", 3),
        BudgetCase("10s", 1, settled=True),
        BudgetCase("10s", 2, comparable=False),
        BudgetCase(
            "5s",
            2,
            warnings=("the budget of 5s will be exceeded: 2 incarnations take about 6s",),
        ),
    ],
    ids=["as many as fit", "until all is settled", "one contender", "too little for the plan"],
)
def test_a_budget_has_whole_incarnations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: BudgetCase
) -> None:
    spec = parse_spec(
        {
            "name": "x",
            "contenders": [NAME],
            "benchmark": "insert",
            "tests": ["l.i1"],
            "incarnations": 2,
            "budget": case.budget,
            "insert": {"rows": [1000, 100]},
        }
    )
    names = {step.key for step in plan(spec)}
    pretended = PretendedContenders(InstanceError("it went away"))
    pretended.measured, pretended.comparable = 2, case.comparable
    pretend_to_measure(monkeypatch)
    monkeypatch.setattr(Forecast, "elapsed", property(lambda _: 3.0 * pretended.stops))
    settled = names if case.settled else set[str]()
    monkeypatch.setattr(Judge, "settled", lambda *_: settled if pretended.stops else set())
    benchmark = spec.configured_benchmark()
    assert isinstance(benchmark, StepBenchmark)
    workload = benchmark.workload([Server(200, None)])
    with writing(Folder(tmp_path / "x")) as writer:

        def journal_of(method: Method) -> Journal:
            return Journal(spec, writer, new_manifest(spec, [FACTS], method, "1", {}))

        loop = StepLoop(spec, workload, cast("Contenders", pretended), journal_of, PlainView())
        loop.run()
    assert pretended.stops == case.incarnations
    assert loop.journal.manifest.warnings == list(case.warnings)
    assert loop.journal.manifest.spent_s == pytest.approx(3.0 * (case.incarnations - 1))
