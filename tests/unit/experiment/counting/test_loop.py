"""Counting where servers fail, on contenders that only pretend to be under callgrind."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.benchmarks.model import Test
from slowdust.dbms.family import Shutdown
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.counting import loop as counting_loop
from slowdust.experiment.counting import sliced
from slowdust.experiment.counting.budget import CountBudget
from slowdust.experiment.counting.loop import CountingLoop
from slowdust.experiment.counting.session import REPEATS, Repeat, Windows
from slowdust.experiment.counting.sliced import SliceProcedure
from slowdust.experiment.counting.starts import MOST_STARTS, STARTS, counted_steps
from slowdust.experiment.driver.process import Driver, TargetError
from slowdust.experiment.driver.protocol import Failed
from slowdust.experiment.journal import Journal, new_manifest
from slowdust.experiment.live import PlainView
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.slices.loop import method_of_slices
from slowdust.experiment.slices.tables import LoadedTables
from slowdust.experiment.spec.spec import parse_spec
from slowdust.instances.programs import InstanceError
from slowdust.store.count import INSTRUCTIONS, CountedRun
from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import BuildFacts, ContenderFacts, Counting, LeftOut
from slowdust.store.measured import Measured
from slowdust.store.slice import Place, Slice

TESTS = ("point-query", "delete", "insert")
SPEC = parse_spec(
    {"name": "x", "contenders": ["postgres@17.6", "postgres@18.4"], "tests": list(TESTS)}
)
BASE, OTHER = NAMES = ("postgres@17.6", "postgres@18.4")
CALLGRIND = (
    "version: 1\ncreator: callgrind-3.19.0\npid: 7\nthread: 1\npart: 1\n"
    "desc: Trigger: Client Request: slowdust\npositions: line\nevents: Ir\nsummary: 40\n\n"
    "ob=(1) /bin/postgres\nfl=(1) a.c\nfn=(1) work\n0 40\n\ntotals: 40\n"
)
REFUSED = TargetError(Failed(kind="server", message="the query is refused"))
GONE = TargetError(Failed(kind="connection", message="the server closed the connection"))


@dataclass
class PretendedServer:
    """A contender whose server does nothing, and forgets its tables."""

    name: str
    errors: dict[str, Exception] = field(default_factory=dict)
    """Test -> what carrying out its operations raises."""
    restless: str | None = None
    """A test that each start of the server makes 10% dearer or cheaper."""
    warming: str | None = None
    """A test whose first window takes twice the instructions of the others."""
    starts: int = 0
    failed: str | None = None
    keeps_tables: bool = False
    target: None = None

    def lacks(self, test: Test) -> None:
        del test

    @property
    def instance(self) -> SimpleNamespace:
        return SimpleNamespace(
            start_under_callgrind=self._start,
            stop=lambda how=Shutdown.ORDERLY: None,
            check_alive=lambda: None,
            log_tail=lambda _: [],
            log_path=None,
        )

    server = handle = instance

    def _start(self, options: Sequence[str]) -> None:
        del options
        self.starts += 1
        if "start" in self.errors:
            raise self.errors["start"]


class PretendedSession:
    """A session whose operations take ten instructions each."""

    def __init__(
        self, driver: Driver, contender: PretendedServer, step: PlannedStep, start: int, first: int
    ) -> None:
        del driver, first
        self._error = contender.errors.get(step.test.name)
        self._is_warming = contender.warming == step.test.name
        self._instructions = 40
        if contender.restless == step.test.name:
            self._instructions += 4 * (-1) ** start

    def repeats(
        self, callgrind: object, data: object, windows: Windows, most: float
    ) -> list[Repeat]:
        del callgrind, data, most
        if self._error is not None:
            raise self._error
        operations = windows.operations
        runs = [self._instructions * operations] * REPEATS
        runs[0] *= 1 + self._is_warming
        return [
            Repeat(CountedRun(operations=operations, own={INSTRUCTIONS: own}), (CALLGRIND,))
            for own in runs
        ]


def pretended_driver(cpus: list[int]) -> AbstractContextManager[list[int]]:
    return nullcontext(cpus)


@dataclass
class Outcome:
    """What a count left behind."""

    counted: dict[str, list[tuple[str, int]]]
    """Contender -> its tests and starts, as they came."""
    warnings: list[str]
    servers: list[PretendedServer]
    profiles: set[tuple[str, int, str]]
    left_out: LeftOut | None


def count(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *servers: PretendedServer,
    budget: float = 600.0,
    timed: Sequence[Slice] = (),
) -> Outcome:
    monkeypatch.setattr(sliced, "CountedSession", PretendedSession)
    monkeypatch.setattr(counting_loop, "Driver", pretended_driver)
    monkeypatch.setattr(counting_loop, "usable_cpus", lambda: [0])  # one after the other
    monkeypatch.setattr(LoadedTables, "load_one", lambda *of: None)
    monkeypatch.setattr(LoadedTables, "maintain_one", lambda *of: None)
    view = PlainView()
    all_ = cast("list[RunningContender]", list(servers))
    driver = cast("Driver", SimpleNamespace(waits=SimpleNamespace()))
    contenders = Contenders(all_, driver, tmp_path, view)
    facts = [
        ContenderFacts(
            name=server.name,
            dbms="postgres",
            build=BuildFacts(source="directory", version="17.6"),
            config="default",
            settings={},
        )
        for server in servers
    ]
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        manifest = new_manifest(SPEC, facts, method_of_slices(SPEC), "1", {})
        manifest.counting = Counting(source="valgrind")
        writer.append(*timed)
        journal = Journal(SPEC, writer, manifest)
        contenders.on_failure(lambda contender: pytest.fail(f"{contender.name} has failed"))
        contenders.on_warning(journal.warn)
        with contenders.observing("counting the work"):
            procedure = SliceProcedure(SPEC, contenders, journal, view)
            CountingLoop(procedure, contenders, journal, view, budget=CountBudget(budget)).run()
        counted: dict[str, list[tuple[str, int]]] = {server.name: [] for server in servers}
        for record in folder.read_counts():
            if record.place.repeat == 0:
                place = record.place.test, record.place.incarnation
                counted[record.place.contender].append(place)
        profiles = journal.profiled("callgrind")
    assert all(server.failed is None for server in servers)
    left_out = None if manifest.counting is None else manifest.counting.left_out
    return Outcome(counted, journal.manifest.warnings, list(servers), profiles, left_out)


def after_each_start(*tests: str) -> list[tuple[str, int]]:
    return [(test, start) for start in range(1, STARTS + 1) for test in tests]


def test_what_uses_up_rows_is_counted_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [step.test.name for step in counted_steps(SPEC)] == ["point-query", "insert", "delete"]
    outcome = count(tmp_path, monkeypatch, *map(PretendedServer, NAMES))
    assert outcome.counted[BASE] == after_each_start("point-query", "insert", "delete")
    assert outcome.counted == dict.fromkeys(NAMES, outcome.counted[BASE])
    assert outcome.profiles == {(test, 1, name) for test in TESTS for name in NAMES}
    assert not outcome.warnings


def test_what_there_is_no_time_for_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = [*map(PretendedServer, NAMES)]
    slow = {"point-query": 1.0, "insert": 1.0, "delete": 100.0}
    monkeypatch.setattr(SliceProcedure, "expected", lambda _, step: slow[step.test.name])
    monkeypatch.setattr(CountBudget, "note", lambda *of: None)  # it takes no time here
    outcome = count(tmp_path, monkeypatch, *servers, budget=60.0)
    assert set(outcome.counted[BASE]) == set(after_each_start("point-query", "insert"))
    assert outcome.left_out is not None
    assert outcome.left_out.tests == ["delete"]
    assert outcome.left_out.budget_s == 60.0
    assert outcome.left_out.advised_s > STARTS * 100.0


def test_what_takes_longer_than_its_budget_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = [*map(PretendedServer, NAMES)]
    monkeypatch.setattr(CountBudget, "is_overdue", True)
    outcome = count(tmp_path, monkeypatch, *servers, budget=0.5)
    assert outcome.counted != dict.fromkeys(
        NAMES, after_each_start("point-query", "insert", "delete")
    )
    assert not outcome.warnings, "no server has failed"


def test_what_starts_leave_undecided_is_counted_after_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = PretendedServer(BASE), PretendedServer(OTHER, restless="insert")
    outcome = count(tmp_path, monkeypatch, *servers)
    more = [("insert", start) for start in range(STARTS + 1, MOST_STARTS + 1)]
    expected = [*after_each_start("point-query", "insert", "delete"), *more]
    assert outcome.counted == dict.fromkeys(NAMES, expected)


def test_more_starts_are_bounded_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowdust.experiment.counting.starts.PATIENCE", -1.0)
    servers = PretendedServer(BASE), PretendedServer(OTHER, restless="insert")
    begun = 0.0

    def later() -> float:
        nonlocal begun
        begun += 1.0
        return begun

    clock = SimpleNamespace(monotonic=later)
    monkeypatch.setattr("slowdust.experiment.counting.starts.time", clock)
    outcome = count(tmp_path, monkeypatch, *servers)
    assert outcome.counted[OTHER][-1] == ("insert", STARTS + 1)


def test_a_test_that_is_refused_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = PretendedServer(BASE), PretendedServer(OTHER, {"insert": REFUSED})
    outcome = count(tmp_path, monkeypatch, *servers)
    assert outcome.counted[BASE] == after_each_start("point-query", "insert", "delete")
    assert outcome.counted[OTHER] == after_each_start("point-query", "delete")
    [warning] = outcome.warnings
    assert warning == (
        f"the work of insert of {OTHER} was not counted: server error: the query is refused"
    )


def test_what_the_base_refuses_is_not_counted_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = PretendedServer(BASE, {"insert": REFUSED}), PretendedServer(OTHER)
    outcome = count(tmp_path, monkeypatch, *servers)
    assert outcome.counted[OTHER] == after_each_start("point-query", "delete")


@pytest.mark.parametrize("error", [GONE, InstanceError("it ended"), SlowdustError("no orders")])
def test_a_server_that_fails_ends_its_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    servers = PretendedServer(BASE), PretendedServer(OTHER, {"insert": error})
    outcome = count(tmp_path, monkeypatch, *servers)
    assert outcome.counted[BASE] == after_each_start("point-query", "insert", "delete")
    assert outcome.counted[OTHER] == [("point-query", 1)]
    [warning] = outcome.warnings
    assert warning.startswith(f"counting the work of {OTHER} failed: ")
    assert str(error) in warning
    assert servers[1].starts == 1


def test_without_the_base_nothing_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = PretendedServer(BASE, {"start": InstanceError("it does not start")})
    other = PretendedServer(OTHER)
    outcome = count(tmp_path, monkeypatch, base, other)
    assert other.starts <= 1, "no second start"
    [warning] = outcome.warnings
    assert warning == f"counting the work of {BASE} failed: it does not start"


def test_a_failure_outside_of_the_servers_is_a_warning_too(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    contenders = Contenders([], cast("Driver", None), tmp_path, PlainView())
    server = PretendedServer(BASE)
    contenders.all = cast("list[RunningContender]", [server])
    warnings: list[str] = []
    contenders.on_warning(warnings.append)
    with contenders.observing("sampling the functions"):
        raise SlowdustError("perf is gone")
    assert warnings == snapshot
    assert server.failed is None


def timed_slice(contender: str, test: str, failed: int) -> Slice:
    """A timed slice of a thousand executions."""
    return Slice(
        place=Place(benchmark="micro", test=test, clients=1, contender=contender),
        qps=1000.0,
        measured=Measured(operations=1000 - failed, errors={"22012": failed} if failed else {}),
    )


@pytest.mark.parametrize(("failed", "counted"), [(9, ["insert"]), (10, []), (1000, [])])
def test_a_test_that_failed_in_the_timed_part_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: int, counted: list[str]
) -> None:
    timed = [timed_slice(BASE, "insert", failed), timed_slice(OTHER, "insert", 0)]
    outcome = count(tmp_path, monkeypatch, *map(PretendedServer, NAMES), timed=timed)
    expected = after_each_start("point-query", *counted, "delete")
    assert outcome.counted == dict.fromkeys(NAMES, expected)
    assert outcome.left_out is None, "that is for tests that time was lacking for"


def test_a_test_whose_work_still_changes_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = [PretendedServer(name, warming="point-query") for name in NAMES]

    outcome = count(tmp_path, monkeypatch, *servers)

    assert min(server.starts for server in servers) >= STARTS
    [warning] = outcome.warnings
    assert "point-query" in warning
    assert "-50.0%" in warning
