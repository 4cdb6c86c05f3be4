"""mongod, in the directory that SLOWDUST_MONGOD names or on PATH; skipped without one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.benchmarks.slap import SLAP
from slowdust.builds import Build, from_directory
from slowdust.dbms import family
from slowdust.dbms.settings import shipped_configs
from slowdust.dbms.stages import Statements
from slowdust.errors import UsageError
from tests.integration.driver_process import ROWS, TABLES, Driver, keeping_rows
from tests.integration.servers import Server, new_instance
from tests.integration.slowdust_command import Workplace
from tests.queries import answered

DIRECTORY_VARIABLE = "SLOWDUST_MONGOD"
MONGODB = family("mongodb")
SMALL = ("--rows", "2000", "--slice", "25ms", "--budget", "8s", "--incarnations", "2")
CACHE = "storage.wiredTiger.engineConfig.cacheSizeGB"


@pytest.fixture(scope="module")
def directory() -> Path:
    """The directory of a build of mongod."""
    named = os.environ.get(DIRECTORY_VARIABLE)
    on_path = shutil.which("mongod")
    if named is None and on_path is None:
        pytest.skip(f"there is no mongod on PATH, and {DIRECTORY_VARIABLE} names no directory")
    return Path(named) if named else Path(str(on_path)).resolve().parent


@pytest.fixture(scope="module")
def build(directory: Path) -> Build:
    """The build; its version is one that the driver speaks with."""
    build = from_directory(directory)
    try:
        MONGODB.choose_engine(build, None)
    except UsageError as refusal:
        pytest.skip(str(refusal))
    return build


@pytest.fixture(scope="module")
def server(build: Build) -> Iterator[Server]:
    """A server whose writes wait for the journal, with tables of the test shape."""
    with new_instance(build, {"writeConcern.j": "true"}) as instance:
        instance.start()
        running = Server(instance)
        with Driver() as process:
            process.load(running.target())
        yield running


def answer(driver: Driver, server: Server, command: str) -> list[list[str | None]]:
    (result,) = driver.sql(server.target(), command)
    rows: list[list[str | None]] = result["rows"]
    return rows


def documents(driver: Driver, server: Server) -> float:
    facts = answered(MONGODB.facts(server.instance.site), partial(answer, driver, server))
    return facts["server"]["documents"]


@pytest.mark.parametrize("clients", [1, 4])
def test_every_test_runs_without_errors(server: Server, driver: Driver, clients: int) -> None:
    for test in keeping_rows("mongodb", SLAP, MICRO):
        session = driver.open(server.target(), test, clients)
        ran = driver.run(session, 0.05)
        driver.close(session)
        assert set(ran["errors"]) <= ({"mongodb/112"} if clients > 1 else set()), test
        assert ran["operations"] > 0, test


def test_the_server_reports_what_its_family_reads(server: Server, driver: Driver) -> None:
    site, target = server.instance.site, server.target()
    for stage in MONGODB.after_load(site, []):
        assert isinstance(stage, Statements)
        driver.sql(target, *stage.texts)
    assert documents(driver, server) == TABLES * ROWS
    ask = partial(answer, driver, server)
    sizes = answered(MONGODB.sizes(site, []), ask)
    assert 0 < sizes.index_bytes < sizes.data_bytes
    assert answered(MONGODB.buffer_pool(site), ask) == 1 << 28
    in_force = answered(MONGODB.settings_in_force(site), ask)
    assert CACHE in in_force
    assert all(value.as_given for value in in_force.values())


def test_the_server_counts_its_work(server: Server, driver: Driver) -> None:
    site = server.instance.site

    def counted() -> dict[str, float]:
        return answered(MONGODB.counters(site), partial(answer, driver, server))

    before = counted()
    session = driver.open(server.target(), "point-query")
    operations = driver.run(session, 0.1)["operations"]
    driver.close(session)
    after = counted()
    assert after["documents_examined"] - before["documents_examined"] >= operations
    assert after["page_requests"] > before["page_requests"]


@pytest.mark.parametrize("config", sorted({*shipped_configs("mongodb")} - {"lsm"}))
def test_every_configuration_starts_and_keeps_its_rows(
    build: Build, driver: Driver, config: str
) -> None:
    settings = MONGODB.settings(config, {}, 4, engine="wiredtiger")
    with new_instance(build, dict(settings.required)) as instance:
        instance.start()
        server = Server(instance)
        driver.load(server.target())
        instance.stop()
        instance.start()
        assert documents(driver, server) == TABLES * ROWS


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("storage.wiredTiger.engineConfig.cacheSizeMB=1", "cacheSizeMB"),
        ("setParameter.noSuchParameter=1", "'setParameter.noSuchParameter'"),
        ("storage.wiredTiger.collectionConfig.blockCompressor=zst", "zst"),
        ("storage.syncPeriodSecs=soon", "syncPeriodSecs"),
        ("storage.dbPath=/tmp", "storage.dbPath "),
    ],
)
def test_settings_that_are_refused(
    directory: Path, build: Build, workplace: Workplace, setting: str, message: str
) -> None:
    del build  # a server that can be used
    tests = ("--tests", "point-query")
    errors = workplace.errors(
        "compare", str(directory), f"{directory}:durable", *tests, "--set", setting, expect=2
    )
    assert message in errors.splitlines()[-1]


def test_two_configurations_are_compared(
    directory: Path, build: Build, workplace: Workplace
) -> None:
    del build
    tests = ("--tests", "point-query,update-index", "--count", "off")
    contenders = (f"{directory}:default", f"{directory}:zlib")
    workplace.run("compare", *contenders, *tests, *SMALL, "--name", "pair")
    report = workplace.report("pair")
    assert [result["errors"] for result in report["results"]] == [0] * 4
    assert all(info["data_bytes"] > 0 for info in report["contender_info"])
    assert workplace.nothing_is_left()
