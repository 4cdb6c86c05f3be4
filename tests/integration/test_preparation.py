"""Real servers after preparation; servers whose tables differ are prepared again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from slowdust.analysis.preparation import differences
from slowdust.dbms import family
from slowdust.dbms.access import Target
from slowdust.dbms.stages import Row
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders, carry_out
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.engine.sliced import LoadedTables
from slowdust.experiment.live import PlainView
from slowdust.experiment.setup import create_contenders, resolve_contenders
from slowdust.experiment.spec.spec import parse_spec
from slowdust.store.folder import Folder
from slowdust.store.manifest import BuildFacts, ContenderFacts
from slowdust.store.preparation import Preparation
from tests.integration.conftest import GetBuildOf, MakeInstance
from tests.integration.servers import MYSQL_BETWEEN, NEW_MYSQL, ROCKSDB, SharedServers
from tests.queries import answered
from tests.tiers.selection import full

ROWS = 20_000
LOADS = 3
SERVERS = (
    *(pytest.param(name, marks=full) for name in MYSQL_BETWEEN),
    NEW_MYSQL,
    pytest.param("mariadb@11.4.5/innodb", marks=full),
    ROCKSDB,
)


@pytest.mark.parametrize("version", ["10.23", "18.4"])
def test_every_loaded_page_is_all_visible_and_a_rounded_setting_is_reported(
    builds: GetBuildOf, make_instance: MakeInstance, version: str
) -> None:
    given = {"shared_buffers": "100001kB", "work_mem": "1GB"}
    instance = make_instance(builds("postgres", version), given)
    assert instance.settings.values["synchronous_commit"] == "off"
    instance.start()
    postgres, target = family("postgres"), instance.target()
    with Driver() as driver:
        ask = partial(rows_of, driver, target)
        for seed in range(LOADS):
            driver.load(target, Data(1, ROWS, seed), lambda done, total: None)
            carry_out(driver, target, postgres.after_load(instance.site, ["sbtest1"]), ROWS, print)
            facts = answered(postgres.facts(instance.site), ask)
            # Since version 16 the pages after the last row may be empty.
            assert facts["sbtest1"]["pages"] > 500
            assert facts["sbtest1"]["pages_not_all_visible"] < 64
            assert facts["sbtest1"]["rows"] == ROWS
            assert facts["sbtest1.sbtest1_pkey"]["height"] == 2
        in_force = answered(postgres.settings_in_force(instance.site), ask)
    assert in_force.keys() == instance.settings.values.keys()
    assert {name: value.text for name, value in in_force.items() if not value.as_given} == {
        "shared_buffers": "100000kB"
    }


@pytest.mark.parametrize("named", SERVERS)
def test_two_loads_of_one_build_are_alike(shared_servers: SharedServers, named: str) -> None:
    dbms, version = named.partition("/")[0].split("@")
    instance = shared_servers(named).instance
    kind, target = family(dbms), instance.target()
    records = []
    with Driver() as driver:
        ask = partial(rows_of, driver, target)
        for name in ("first", "second"):
            driver.load(target, Data(1, ROWS, 1), lambda done, total: None)
            carry_out(driver, target, kind.after_load(instance.site, ["sbtest1"]), ROWS, print)
            facts = answered(kind.facts(instance.site), ask)
            assert {"server", "sbtest1.PRIMARY", "sbtest1.k_1"} <= facts.keys()
            records.append(
                Preparation(contender=name, incarnation=1, moment=1, after="load", facts=facts)
            )
        in_force = answered(kind.settings_in_force(instance.site), ask)
    build = BuildFacts(source="directory", version=version)
    contenders = [
        ContenderFacts(name=name, dbms=dbms, build=build, config="small", settings={})
        for name in ("first", "second")
    ]
    assert [difference.sentence() for difference in differences(records, contenders)] == []
    assert len(in_force) > 15
    assert {name for name, value in in_force.items() if not value.as_given} == set()


def rows_of(driver: Driver, target: Target, statement: str) -> Sequence[Row]:
    """The rows that a statement returns."""
    (answer,) = driver.sql(target, [statement])
    return answer.rows


class Spoiled(LoadedTables):
    """Tables that are spoiled on the second contender after the first preparations."""

    spoil = 0

    def _load(self, contender: RunningContender) -> None:
        super()._load(contender)
        if contender is self._contenders.all[1] and self.spoil:
            self.spoil -= 1
            update = "UPDATE sbtest1 SET k = k + 1 WHERE id % 3 = 0"
            self._contenders.driver.sql(contender.target, [update])


def test_different_tables_are_prepared_again_and_then_reported(
    builds: GetBuildOf, data_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert data_root
    builds("postgres", "17.6")
    spec = parse_spec({"name": "alike", "contenders": ["postgres@17.6", "postgres@17.6"]})
    folder, view = Folder(tmp_path), PlainView()
    folder.logs.mkdir()
    resolved = resolve_contenders(spec, view)
    kept: list[Preparation] = []
    with Driver() as driver, create_contenders(resolved, driver, folder, view) as contenders:
        facts = facts_of(contenders)
        tables = Spoiled(contenders, Data(1, ROWS, 1), view, facts, kept)
        tables.spoil = 1
        tables.start(1)
        assert [record.repeated for record in kept] == [1, 1]
        assert not differences(kept, facts), "the second load was alike"
        assert "preparing again" in capsys.readouterr().err
        tables.spoil = 3
        tables.load()
        assert [record.repeated for record in kept[2:]] == [2, 2]
        names = {difference.subject for difference in differences(kept[2:], facts)}
        assert "sbtest1" in names
        assert "measured anyway" in capsys.readouterr().err


def facts_of(contenders: Contenders) -> list[ContenderFacts]:
    return [
        ContenderFacts(
            name=contender.name,
            dbms="postgres",
            build=contender.build_facts,
            config="default",
            settings={},
        )
        for contender in contenders.all
    ]
