import dataclasses
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from slowdust.experiment.spec.contenders import distinct, parse_contender


def test_parses_a_named_contender() -> None:
    name = parse_contender("postgres@17.6:small")
    assert (name.dbms, name.version, name.config) == ("postgres", "17.6", "small")


def test_takes_engine_and_environment() -> None:
    name = parse_contender("mariadb@11.4.5/rocksdb:small+jemalloc+MALLOC_CONF=narenas:1,dirty:0")
    assert (name.dbms, name.version, name.engine) == ("mariadb", "11.4.5", "rocksdb")
    assert name.config == "small"
    assert name.environment.allocator == "jemalloc"
    assert name.environment.variables == {"MALLOC_CONF": "narenas:1,dirty:0"}


def test_an_engine_may_have_a_digit_in_its_name() -> None:
    name = parse_contender("mongodb@4.0.28/mmapv1:small")
    assert (name.version, name.engine, name.config) == ("4.0.28", "mmapv1", "small")


def test_engine_and_environment_may_be_omitted() -> None:
    name = parse_contender("mysql@9.7.4")
    assert (name.engine, name.environment.allocator, name.environment.written) == (None, None, [])


def test_takes_a_directory() -> None:
    name = parse_contender("./pg-patched:small")
    assert (name.directory, name.config, name.dbms) == (Path("pg-patched"), "small", None)


def test_takes_an_environment_of_a_directory() -> None:
    name = parse_contender("./build+jemalloc+A=b:1")
    assert (name.directory, name.config) == (Path("build"), None)
    assert name.environment.written == ["jemalloc", "A=b:1"]
    name = parse_contender("./build:small+X=1")
    assert (name.directory, name.config) == (Path("build"), "small")
    assert parse_contender("/opt/pg+patch").directory == Path("/opt/pg+patch")


def test_parts_keep_the_order_of_a_contenders_name() -> None:
    small = parse_contender("a@1:small")
    assert small.with_parts({"environment": "jemalloc", "engine": "heap"}).text == (
        "a@1/heap:small+jemalloc"
    )
    variable = parse_contender("a@1+X=1")
    assert variable.with_parts({"config": "small", "engine": ""}).text == "a@1:small+X=1"
    assert variable.text == "a@1+X=1"


@pytest.mark.parametrize(
    ("written", "part"),
    [
        ("a@1/heap", "engine"),
        ("a@1:default", "config"),
        ("./build+glibc", "environment"),
        ("./build", "engine"),
    ],
)
def test_parts_that_cannot_be_added(written: str, part: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        parse_contender(written).with_parts({part: "x"})
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    "written", ["postgres", "@17", "postgres@", "postgres@17 6", "", "17.6", "postgres@17:"]
)
def test_refuses_malformed_contenders(written: str) -> None:
    with pytest.raises(UsageError, match=re.escape(repr(written))):
        parse_contender(written)


@pytest.mark.parametrize("written", ["mysql@9.7.4+hoard", "postgres://me:secret@somewhere/db"])
def test_says_what_it_cannot_run(written: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        parse_contender(written)
    assert str(error.value) == snapshot


def test_numbers_repeated_contenders() -> None:
    assert distinct(["a", "b", "a", "a"]) == ["a", "b", "a#2", "a#3"]
    assert distinct(["a", "a#2", "a"]) == ["a", "a#2", "a#3"]


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("postgres@git:REL_17_6", {"version": "git:REL_17_6"}),
        ("postgres@git:REL_17_6+o3", {"version": "git:REL_17_6", "flags": "o3"}),
        (
            "postgres@git:HEAD~1:small+jemalloc+lto",
            {"version": "git:HEAD~1", "config": "small", "flags": "lto"},
        ),
        ("mysql@git:feature/fast", {"version": "git:feature/fast"}),
        ("mysql@git:feature/fast/innodb", {"version": "git:feature/fast", "engine": "innodb"}),
        ("mariadb@source:./server/rocksdb", {"version": "source:./server", "engine": "rocksdb"}),
        (
            "postgres@source:/src/pg.tar.gz:small",
            {"version": "source:/src/pg.tar.gz", "config": "small"},
        ),
        ("sqlite@3.50.2+jemalloc", {"version": "3.50.2"}),
        (
            "sqlite@3.50:durable+jemalloc+o3",
            {"version": "3.50", "config": "durable", "flags": "o3"},
        ),
    ],
)
def test_parses_a_compiled_contender(written: str, parts: dict[str, str]) -> None:
    name = parse_contender(written)
    open_parts = dict.fromkeys(("version", "engine", "config", "flags"))
    assert {part: getattr(name, part) for part in open_parts} == {**open_parts, **parts}
    assert name.environment.written == (["jemalloc"] if "jemalloc" in written else [])
    assert parse_contender(name.text) == dataclasses.replace(name, written=name.text)


def test_flags_are_for_what_is_compiled(snapshot: SnapshotAssertion) -> None:
    name = parse_contender("postgres@git:master")
    assert name.with_parts({"flags": "o3"}).text == "postgres@git:master+o3"
    with pytest.raises(UsageError, match="sets its flags already"):
        parse_contender("postgres@git:master+lto").with_parts({"flags": "o3"})
    with pytest.raises(UsageError) as error:
        parse_contender("postgres@17.6").with_parts({"flags": "o3"})
    assert str(error.value) == snapshot
    with pytest.raises(UsageError, match="unknown flags 'o9'"):
        name.with_parts({"flags": "o9"})
    with pytest.raises(UsageError) as error2:
        parse_contender("postgres@git:master+o2+o3")
    assert str(error2.value) == snapshot
    with pytest.raises(UsageError) as error3:
        parse_contender("postgres@git:master+o7")
    assert str(error3.value) == snapshot
    with pytest.raises(UsageError) as error4:
        parse_contender("postgres@17.6+o3")
    assert str(error4.value) == snapshot


def test_flags_are_for_sqlite_too(snapshot: SnapshotAssertion) -> None:
    name = parse_contender("sqlite@3.50:small+X=1")
    varied = name.with_parts({"flags": "o3"})
    assert varied.text == "sqlite@3.50:small+o3+X=1"
    assert varied.at_version("3.50.2") == "sqlite@3.50.2:small+o3+X=1"
    for refused in ("sqlite@3.50.2+lto", "sqlite@3.50.2+jemalloc+lto"):
        with pytest.raises(UsageError) as error4:
            parse_contender(refused)
        assert str(error4.value) == snapshot
    with pytest.raises(UsageError) as error:
        name.with_parts({"flags": "lto"})
    assert str(error.value) == snapshot
    with pytest.raises(UsageError) as error2:
        parse_contender("sqlite@3.50.2+o2+o3")
    assert str(error2.value) == snapshot
    with pytest.raises(UsageError) as error3:
        parse_contender("sqlite@3.50.2+hoard")
    assert str(error3.value) == snapshot
    with pytest.raises(UsageError, match="/lib"):
        parse_contender("./lib").with_parts({"flags": "o3"})


def test_sources_are_where_they_were_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    name = parse_contender("postgres@source:pg:small+o3").at_absolute_path()
    assert name.text == f"postgres@source:{tmp_path}/pg:small+o3"
    assert parse_contender("postgres@git:master").at_absolute_path().version == "git:master"
