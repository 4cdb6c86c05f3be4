"""What goes wrong behind a long step leaves its record, on contenders that only pretend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from slowdust.dbms.family import Stage
from slowdust.experiment.contenders import Contender, Field
from slowdust.experiment.driver.process import Driver, TargetError
from slowdust.experiment.driver.protocol import Failed, PlanText
from slowdust.experiment.journal import Journal, method_of_steps, new_manifest
from slowdust.experiment.live import PlainView
from slowdust.experiment.spec.spec import parse_spec
from slowdust.experiment.steps.loop import LongSteps
from slowdust.experiment.steps.step import LongStep, Turn
from slowdust.experiment.steps.workload import Server, workload_for
from slowdust.instances.instance import InstanceError
from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import BuildFacts, ContenderFacts
from slowdust.store.slice import Slice
from tests.unit.synthetic_steps import insert_experiment

SPEC = parse_spec(
    {
        "name": "x",
        "contenders": ["postgres@17.6"],
        "benchmark": "insert",
        "tests": ["l.i1"],
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
    starts: int = 0

    @property
    def server(self) -> SimpleNamespace:
        return SimpleNamespace(
            site=None,
            allocator=None,
            stop=lambda _: None,
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


class PretendedField:
    """One contender; to measure sizes after a step goes wrong as told."""

    def __init__(self, error: Exception) -> None:
        self.contenders = [PretendedServer()]
        self.names = [NAME]
        self.measured = 0
        self._error = error

    def running(self) -> list[PretendedServer]:
        return self.contenders

    @contextmanager
    def guard(self, contender: PretendedServer) -> Iterator[None]:
        del contender
        yield

    def start_servers(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def measure_sizes(self, *of: object) -> None:
        del of
        self.measured += 1
        if self.measured == 2:
            raise self._error

    def wait_until_idle(self, contenders: Sequence[PretendedServer], limit: float) -> None:
        del contenders, limit


def pretend_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    _, slices = insert_experiment([NAME])
    by_test = {piece.place.test: piece for piece in slices}

    def prepare(self: LongStep, turn: Turn) -> list[PlanText]:
        del self, turn
        return []

    def perform(self: LongStep, turn: Turn, idle: list[Contender], on_progress: object) -> Slice:
        del self, idle, on_progress
        turn.tables.rows = turn.tables.written = 1000
        record = by_test[turn.test.name]
        assert record.step is not None
        record.step.table_bytes = None
        record.step.settled_s = None
        return record

    def count_rows(self: LongStep, turn: Turn) -> int:
        del self, turn
        return 1000

    monkeypatch.setattr(LongStep, "prepare", prepare)
    monkeypatch.setattr(LongStep, "perform", perform)
    monkeypatch.setattr(LongStep, "count_rows", count_rows)
    monkeypatch.setattr(LongStep, "abandon", lambda self, turn: None)


@pytest.mark.parametrize(
    "error",
    [
        TargetError(Failed(kind="server", message="it went away")),
        InstanceError("it went away"),
    ],
)
def test_a_step_stays_measured_whatever_its_tables_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    pretend_to_measure(monkeypatch)
    field = PretendedField(error)
    workload = workload_for(SPEC.insert_options, [Server(200, None)])
    method = method_of_steps(SPEC, 1, workload.method([1]))
    driver = SimpleNamespace(create=lambda *of: None)
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        journal = Journal(SPEC, writer, new_manifest(SPEC, [FACTS], method, "1", {}))
        long_steps = LongSteps(
            cast("Driver", driver), cast("Field", field), journal, workload, PlainView(), seed=1
        )
        long_steps.run(1)
        kept = {piece.place.test: piece.step for piece in folder.read_slices()}
    assert list(kept) == ["l.i0", "l.x", "l.i1"]
    index = kept["l.x"]
    assert index is not None
    assert index.rows_counted == 1000
    assert index.table_bytes is None
    assert index.settled_s is None
    after = kept["l.i1"]
    assert after is not None
    assert after.table_bytes == 2
    manifest = journal.manifest
    assert not manifest.failed_steps
    finished, restarted = manifest.warnings
    assert finished.startswith(f"{NAME} finished l.x@1 of incarnation 1, and failed in what")
    assert "it went away" in finished
    assert "started again after l.x@1, before these steps: l.i1@1" in restarted
    assert field.contenders[0].starts == 1
