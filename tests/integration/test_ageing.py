"""Contenders of different speed have the same rows after any write test."""

import random
from pathlib import Path

import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.engine.open_test import OpenTest, Pace
from slowdust.experiment.engine.sliced import LoadedTables
from slowdust.experiment.live import PlainView
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.setup import create_contenders, resolve_contenders
from slowdust.experiment.spec.spec import parse_spec
from slowdust.store.folder import Folder
from slowdust.store.slice import Slice
from tests.tiers.selection import full

DATA = Data(tables=2, rows=5000, seed=3)
IDS = "SELECT count(*), sum(id::bigint * id) FROM sbtest{}"
CONTENT = "SELECT id, k, c FROM sbtest{} ORDER BY id"
SLOWER = {"contender": "postgres@15.8", "set": {"log_statement": "all"}}
WRITES = ["update-index", "update-nonindex", "update-inlist", "write-only", "delete", "insert"]


# Which of several clients is the last to write to a row, the scheduler decides.
@pytest.mark.usefixtures("data_root")
@pytest.mark.parametrize(
    ("clients", "named", "question"),
    [
        (1, ["sqlite@3.17.0", "sqlite@3.50.2"], CONTENT),
        pytest.param(3, [SLOWER, "postgres@17.6"], IDS, marks=full),
    ],
)
def test_data_ages_alike(tmp_path: Path, clients: int, named: list[object], question: str) -> None:
    spec = parse_spec({"name": "ageing", "contenders": named})
    folder, view = Folder(tmp_path), PlainView()
    folder.logs.mkdir()
    resolved = resolve_contenders(spec, view)
    with Driver() as driver, create_contenders(resolved, driver, folder, view) as contenders:
        LoadedTables(contenders, DATA, view).start(1)
        measured = []
        for test in WRITES:
            measured.append(run_two_blocks(contenders, test, clients))
            old, new = (contents(contenders, place, question) for place in (0, 1))
            assert old == new, test
        # Neither may get far ahead of the other, so that both may do as much in a single test.
        assert any(len({*done.values()}) > 1 for done in measured), "both were as fast"


def run_two_blocks(contenders: Contenders, test: str, clients: int) -> dict[str, int]:
    """Operations that were measured, by contender."""
    pace = Pace(discard=0.01, warmup=0.05, rate=None)
    (chosen,) = MICRO.matching([test])
    run = OpenTest(contenders, PlannedStep(chosen, clients), 1, pace, data=DATA)
    done = dict.fromkeys(contenders.names, 0)

    def keep(record: Slice) -> None:
        done[record.place.contender] += record.measured.operations or 0

    run.open()
    run.warm_up()
    run.record_speed(0.05)  # None where one contender is much slower than the other
    for number in range(2):
        run.block(number, 0.05, random.Random(1), keep)
    run.close()
    return done


def contents(contenders: Contenders, place: int, question: str) -> list[list[list[str | None]]]:
    target = contenders.running()[place].target
    statements = [question.format(table) for table in range(1, DATA.tables + 1)]
    return [result.rows for result in contenders.driver.sql(target, statements)]
