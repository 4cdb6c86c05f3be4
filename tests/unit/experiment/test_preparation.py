"""Tables are prepared again until they are alike, and reloaded in every second start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Literal, cast

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.benchmarks.micro import MICRO
from slowdust.dbms.stages import Query
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data, Driver, Patience, TargetError
from slowdust.experiment.driver.protocol import Failed, ResultSet
from slowdust.experiment.engine.open_test import OpenTest
from slowdust.experiment.engine.schedule import in_turn
from slowdust.experiment.engine.sliced import LoadedTables
from slowdust.experiment.live import PlainView
from slowdust.experiment.passes.companions import Counters
from slowdust.experiment.plan import PlannedStep
from slowdust.store.manifest import BuildFacts, ContenderFacts
from slowdust.store.preparation import Preparation, ServerCounters

NAMES = ("a", "b")
BUILD = BuildFacts(source="directory", version="17.6", sha256="x")
FACTS = [
    ContenderFacts(name=name, dbms="postgres", build=BUILD, config="default", settings={})
    for name in NAMES
]
DATA = Data(tables=1, rows=1000, seed=1)
ROWS = 1000
Failure = Literal["connection", "server"]


class PretendedContenders:
    """Two contenders that count their loads; `pages` says what the second has in each reading."""

    driver = None

    def __init__(self, pages: list[float] | None = None) -> None:
        self.all = [
            SimpleNamespace(
                name=name,
                keeps_tables=True,
                family=SimpleNamespace(write_out=lambda site: [f"write out {site}"]),
                server=SimpleNamespace(site=name),
            )
            for name in NAMES
        ]
        self.loads = 0
        self.maintained: list[str] = []
        self.totals = 0.0
        self.is_idle = True
        self.limits: list[float] = []
        self.warnings: list[str] = []
        self._pages = iter(pages or [])

    def for_each(self, action: Callable[[SimpleNamespace], object], turn: int = 0) -> None:
        for contender in in_turn(self.all, turn):
            action(contender)

    def start(self, number: int) -> None:
        del number

    def running(self) -> list[SimpleNamespace]:
        return self.all

    def wait_until_idle(self, contenders: list[SimpleNamespace], limit: float) -> bool:
        assert contenders == self.all
        self.limits.append(limit)
        return self.is_idle

    def maintain(self, contender: SimpleNamespace, stages: list[str], rows: int) -> None:
        del contender
        assert rows == ROWS
        self.maintained += stages

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def read_facts(self, contender: SimpleNamespace, rows: int) -> dict[str, dict[str, float]]:
        assert rows == ROWS
        pages = 100.0 if contender.name == "a" else next(self._pages, 100.0)
        return {"sbtest1": {"pages": pages}}

    def read_counters(self, contender: SimpleNamespace) -> dict[str, float]:
        del contender
        self.totals += 50.0
        return {"heap_blocks": self.totals}


class CountedLoads(LoadedTables):
    """Tables whose load is only counted."""

    loads = 0
    order = ""

    def _load(self, contender: RunningContender) -> None:
        self.order += contender.name
        self.loads += 1

    def maintain_one(self, contender: object, driver: object) -> None:
        del contender, driver


def tables_of(contenders: PretendedContenders) -> tuple[CountedLoads, list[Preparation]]:
    kept: list[Preparation] = []
    pretended = cast("Contenders", contenders)
    return CountedLoads(pretended, DATA, PlainView(), FACTS, kept), kept


def prepare(pages: list[float]) -> tuple[int, list[Preparation]]:
    """The number of loads of each contender, and what is kept of them."""
    tables, kept = tables_of(PretendedContenders(pages))
    tables.start(3)
    return tables.loads // len(NAMES), kept


def test_equal_tables_are_prepared_once() -> None:
    times, kept = prepare([100.0])
    assert times == 1
    assert [(record.contender, record.incarnation, record.repeated) for record in kept] == [
        ("a", 3, 0),
        ("b", 3, 0),
    ]


def test_different_tables_are_prepared_again(capsys: pytest.CaptureFixture[str]) -> None:
    times, kept = prepare([150.0, 100.0])
    assert times == 2
    assert [record.repeated for record in kept] == [1, 1]
    assert [record.facts["sbtest1"]["pages"] for record in kept] == [100.0, 100.0]
    assert "b: sbtest1 has 150 pages" in capsys.readouterr().err


def test_differences_that_stay_are_kept_after_three_preparations(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times, kept = prepare([150.0, 160.0, 170.0, 180.0])
    assert times == 3
    assert kept[1].facts["sbtest1"]["pages"] == 170.0
    assert capsys.readouterr().err.count("b: sbtest1 has") == 3


def test_unchanged_tables_serve_two_starts() -> None:
    tables, kept = tables_of(PretendedContenders())
    loads = []
    for incarnation in range(1, 6):
        tables.start(incarnation)
        loads.append(tables.loads // len(NAMES))
    assert loads == [1, 1, 2, 2, 3]
    assert [record.after for record in kept[::2]] == ["load", "restart", "load", "restart", "load"]


def test_servers_get_time_to_become_idle_after_load_and_writes(
    snapshot: SnapshotAssertion,
) -> None:
    contenders = PretendedContenders()
    tables, _ = tables_of(contenders)
    tables.start(1)
    tables.maintain(budget=60.0)
    tables.maintain(budget=7200.0)
    assert contenders.limits == [30.0, 30.0, pytest.approx(60.0, abs=0.1)]
    assert contenders.warnings == []
    contenders.is_idle = False
    tables.load()
    assert contenders.warnings == snapshot


def test_written_tables_are_loaded_each_time() -> None:
    tables, _ = tables_of(PretendedContenders())
    for incarnation in range(1, 4):
        tables.start(incarnation)
        tables.note_writes()
    assert tables.loads == 3 * len(NAMES)


def test_tables_that_a_restart_made_differ_are_loaded() -> None:
    tables, kept = tables_of(PretendedContenders([100.0, 150.0, 150.0, 100.0]))
    tables.start(1)
    tables.start(2)
    assert tables.loads == 2 * len(NAMES)
    assert [(record.after, record.moment) for record in kept[::2]] == [("load", 1), ("load", 2)]


def test_tables_stay_that_are_alike_once_a_restart_is_written_out() -> None:
    contenders = PretendedContenders([100.0, 150.0, 100.0])
    tables, kept = tables_of(contenders)
    tables.start(1)
    tables.start(2)
    assert tables.loads == len(NAMES)
    assert contenders.maintained == ["write out a", "write out b"]
    assert [(record.after, record.moment) for record in kept[::2]] == [("load", 1), ("restart", 2)]


def test_steps_are_noted_on_the_preparation_before_them() -> None:
    tables, kept = tables_of(PretendedContenders())
    (test,) = MICRO.matching(["point-query"])
    tables.start(1)
    tables.note_step(PlannedStep(test, 1))
    tables.maintain(budget=60.0)
    for _ in range(2):
        tables.note_step(PlannedStep(test, 1))
    assert [(record.after, record.steps) for record in kept[::2]] == [
        ("load", ["point-query@1"]),
        ("writes", ["point-query@1"]),
    ]


def test_work_is_the_difference_of_totals() -> None:
    contenders = cast("Contenders", PretendedContenders())
    manifest = SimpleNamespace(counters=[])
    counters = Counters(contenders, SimpleNamespace(manifest=manifest))  # type: ignore[arg-type]
    (test,) = MICRO.matching(["point-query"])
    step = PlannedStep(test, 4)
    counters.before(step)
    done = SimpleNamespace(step=step, start=2, operations={"a": 10})
    counters.after(cast("OpenTest", done))
    assert manifest.counters == [
        ServerCounters(
            step="point-query@4",
            contender="a",
            incarnation=2,
            operations=10,
            amounts={"heap_blocks": 100.0},
        )
    ]


class Answers(Driver):
    """Takes the place of a driver: every statement fails in one way, or has one row."""

    def __init__(self, failure: Failure | None) -> None:
        self._failure = failure
        self.patience = Patience()

    def sql(
        self,
        target: object,
        statements: Sequence[str],
        parallel: int = 1,
        limit: float | None = None,
    ) -> list[ResultSet]:
        del target, parallel
        assert limit == self.patience.operation
        if self._failure:
            raise TargetError(Failed(kind=self._failure, message="no such view"))
        return [ResultSet(columns=[], rows=[["work_mem", "3MB"]]) for _ in statements]


def described(
    failure: Failure | None, tmp_path: Path, kept: list[str] | None = None
) -> list[dict[str, float]]:
    """Describe a server's work twice; `kept` gets the warnings for the report."""
    view = PlainView()
    contenders = Contenders([], Answers(failure), tmp_path, view)
    contenders.on_warning((kept if kept is not None else []).append)
    query = Query(("SELECT",), lambda answers: {"heap_blocks": float(len(answers[0]))})
    family = SimpleNamespace(counters=lambda site: query)
    contender = SimpleNamespace(
        name="a",
        family=family,
        target=None,
        server=SimpleNamespace(site=None),
        is_remote=False,
    )
    return [contenders.read_counters(cast("RunningContender", contender)) for _ in range(2)]


def test_a_server_that_does_not_answer_is_warned_of_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert described(None, tmp_path) == [{"heap_blocks": 1.0}] * 2
    kept: list[str] = []
    assert described("server", tmp_path, kept) == [{}, {}]
    [line] = kept
    assert line.startswith("a ")
    assert line.endswith("no such view")
    assert capsys.readouterr().err.count("no such view") == 1
    with pytest.raises(TargetError):
        described("connection", tmp_path)
