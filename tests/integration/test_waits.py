"""Waits of real servers: locks, the disk, and a disk that is slower by a known time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from slowdust.analysis.waits import waits_of
from slowdust.dbms import family
from slowdust.dbms.environment import SYNC_DELAY, Environment
from slowdust.experiment.announced import Announced
from slowdust.experiment.contender import ResolvedContender, RunningContender
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.loop import OpenExperiment, measure
from slowdust.experiment.journal import open_journal
from slowdust.experiment.live import PlainView
from slowdust.experiment.passes.slices import make_slice_method
from slowdust.experiment.passes.waits import Observer, PlannedWindow, Waits
from slowdust.experiment.setup import create_contenders, resolve_contenders
from slowdust.experiment.spec.spec import parse_spec
from slowdust.instances.instance import Instance
from slowdust.store.count import WindowPlace
from slowdust.store.folder import Folder, writing
from slowdust.store.waits import WaitKind, WaitWindow
from tests.integration.conftest import GetBuildOf, MakeInstance
from tests.tiers.selection import full

ROWS = 2000
REPEATS = 3
CLIENTS = 8
DELAY_US = 4000
SLOW_DISK_US = 20_000
"""Extra time of fsync on a slow disk: far more than other users of the disk cause."""
DURABLE: Mapping[str, Mapping[str, str]] = {
    "postgres": {"synchronous_commit": "on"},
    # With a binlog, the row stays locked until it is on disk.
    "innodb": {"innodb_flush_log_at_trx_commit": "1", "log_bin": "on", "sync_binlog": "1"},
    "rocksdb": {"rocksdb_flush_log_at_trx_commit": "1"},
}
"""DBMS or engine -> settings with which every commit waits for the disk."""


@contextmanager
def observed(instance: Instance) -> Iterator[Driver]:
    """A driver with an open session `s` of update-one on a server that reports its waits."""
    instance.observe_waits()
    instance.start()
    with Driver() as driver:
        data = Data(1, ROWS, 1)
        driver.load(instance.target(), data, lambda done, total: None)
        yield driver


def window(instance: Instance, driver: Driver, seconds: float = 0.5) -> WaitWindow:
    """Observe the session while all clients update the same row."""
    opened = driver.open(
        "s", instance.target(), Data(1, ROWS, 1), test="update-one", clients=CLIENTS
    )
    driver.run("s", Stop(seconds=0.2))
    place = WindowPlace(
        benchmark="micro",
        test="update-one",
        clients=CLIENTS,
        contender="c",
        incarnation=1,
        repeat=0,
    )
    site = instance.site
    settings = family(site.build.dbms).settings("small", {}, 1, engine=site.engine)
    resolved = ResolvedContender("c", site.build, site.engine, instance.environment, settings)
    planned = PlannedWindow(
        place, RunningContender(resolved, instance), opened.server_processes, seconds
    )
    with Driver() as sampling:
        seen = Observer(driver, sampling, pytest.fail).observe(planned, partial(driver.run, "s"))
    driver.close("s")
    return seen


@pytest.mark.parametrize(
    ("named", "engine", "event"),
    [
        ("postgres@17.6", None, "Lock/transactionid"),
        ("mysql@9.7.4", "innodb", "innodb/row lock"),
        *(
            pytest.param(f"mysql@{version}", "innodb", "innodb/row lock", marks=full)
            for version in ("5.6.24", "5.7.22", "8.0.15")
        ),
        ("mariadb@10.11.18", "rocksdb", "rocksdb/row lock"),
    ],
)
def test_clients_of_one_row_wait_for_its_lock_and_for_the_disk(
    builds: GetBuildOf, make_instance: MakeInstance, named: str, engine: str | None, event: str
) -> None:
    dbms, version = named.split("@")
    settings = DURABLE[engine or dbms]
    # Each commit takes so long that what else happens on the machine does not matter.
    slow = Environment(variables={SYNC_DELAY: str(DELAY_US)})
    instance = make_instance(builds(dbms, version), settings, engine=engine, environment=slow)
    with observed(instance) as driver:
        seen = window(instance, driver)
    (waits,) = waits_of([seen], "c", ["c"])
    kinds: dict[WaitKind, float] = waits.kinds
    assert kinds["lock"] > 0.4 * waits.time_us
    assert waits.waits[0].event == event
    assert waits.syncs is not None
    assert waits.syncs.us is not None
    assert DELAY_US < waits.syncs.us < 10 * DELAY_US
    assert 0.3 < waits.syncs.per_operation < 3
    assert waits.sessions is not None
    assert waits.sessions.run_us is not None
    assert 0 < waits.sessions.run_us < waits.time_us
    assert waits.sessions.asleep_us


@full
def test_a_disk_that_is_slower_by_a_known_time_is_named(
    data_root: Path, builds: GetBuildOf
) -> None:
    builds("postgres", "17.6")
    slower = f"postgres@17.6+{SYNC_DELAY}={SLOW_DISK_US}"
    spec = parse_spec(
        {
            "name": "syncs",
            "contenders": ["postgres@17.6", slower],
            "set": {"synchronous_commit": "on"},
            "rows": ROWS,
            "tests": ["update-nonindex"],
            "warmup": 0.1,
        }
    )
    view, folder = PlainView(), Folder(data_root / "results" / "syncs")
    with ExitStack() as stack:
        writer = stack.enter_context(writing(folder))
        driver = stack.enter_context(Driver())
        resolved = resolve_contenders(spec, view)
        running = stack.enter_context(create_contenders(resolved, driver, folder, view, []))
        journal = open_journal(spec, writer, running, view, make_slice_method(spec))
        experiment = OpenExperiment(spec, running, journal, view, Announced(view))
        for _ in range(2):  # then nothing is missing any more
            measure(experiment, [Waits(experiment, starts=1, repeats=REPEATS)])
    windows = folder.read_waits()
    assert len(windows) == 2 * REPEATS
    first, second = running.names
    _, slow = waits_of(windows, first, [first, second])
    assert slow.syncs is not None
    assert slow.syncs.per_operation == pytest.approx(1.0, abs=0.2)
    beside = slow.syncs.us_beside
    assert beside is not None
    assert beside.is_certain
    # A call that was asleep waits for a CPU as well, where others use it.
    assert 0.9 * SLOW_DISK_US < beside.change < 20 * SLOW_DISK_US
    assert "(IO/WalSync)" in slow.words_of_change
    assert "one fdatasync takes" in slow.words_of_change
