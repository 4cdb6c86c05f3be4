from pathlib import Path

import pytest

from slowdust.errors import UsageError
from slowdust.experiment.spec.contender_name import distinct, parse_contender


def test_takes_a_named_contender_apart() -> None:
    name = parse_contender("postgres@17.6:small")
    assert (name.dbms, name.version, name.config) == ("postgres", "17.6", "small")


def test_takes_engine_and_environment() -> None:
    name = parse_contender("mariadb@11.4.5/rocksdb:small+jemalloc+MALLOC_CONF=narenas:1,dirty:0")
    assert (name.dbms, name.version, name.engine) == ("mariadb", "11.4.5", "rocksdb")
    assert name.config == "small"
    assert name.environment.allocator == "jemalloc"
    assert name.environment.variables == {"MALLOC_CONF": "narenas:1,dirty:0"}


def test_engine_and_environment_may_be_left_out() -> None:
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
    ("written", "part", "why"),
    [
        ("a@1/heap", "engine", "names its engine already"),
        ("a@1:default", "config", "names its config already"),
        ("./build+glibc", "environment", "names its environment already"),
        ("./build", "engine", r"slowdust builds add NAME DIRECTORY` and write DBMS@NAME/ENGINE"),
    ],
)
def test_parts_that_cannot_be_added(written: str, part: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_contender(written).with_parts({part: "x"})


@pytest.mark.parametrize(
    "written", ["postgres", "@17", "postgres@", "postgres@17 6", "", "17.6", "postgres@17:"]
)
def test_refuses_malformed_contenders(written: str) -> None:
    with pytest.raises(UsageError, match="is not a contender"):
        parse_contender(written)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("mysql@9.7.4+hoard", r"'mysql@9.7.4\+hoard': '\+hoard' is not an environment"),
        ("postgres://me@somewhere/db", "already run"),
    ],
)
def test_says_what_it_cannot_run(written: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_contender(written)


def test_numbers_repeated_contenders() -> None:
    assert distinct(["a", "b", "a", "a"]) == ["a", "b", "a#2", "a#3"]
    assert distinct(["a", "a#2", "a"]) == ["a", "a#2", "a#3"]
