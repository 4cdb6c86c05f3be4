"""Introductions of running servers that speak MongoDB's protocol."""

from __future__ import annotations

import json

import pytest

from slowdust.dbms import family
from slowdust.dbms.by_url import Dialect, Introduction
from tests.queries import read


def dialect() -> Dialect:
    words = family("mongodb").by_url
    assert words is not None
    return words.dialect


def rows(reply: object) -> list[list[str | None]]:
    return [[json.dumps(reply)]]


def introduced(build: object, names: list[str], database: str = "bench") -> Introduction:
    batch = [{"name": name, "type": "collection"} for name in names]
    collections = {"cursor": {"id": 0, "firstBatch": batch}, "ok": 1.0}
    return read(dialect().introduction(database), rows(build), rows(collections))


@pytest.mark.parametrize(
    ("told", "version", "product"),
    [
        ({"version": "7.0.14"}, "7.0.14", "MongoDB"),
        (
            {"version": "7.0.14-8", "psmdbVersion": "7.0.14-8"},
            "7.0.14-8",
            "Percona Server for MongoDB",
        ),
        ({"version": "7.0.42", "ferretdbVersion": "v1.24.2"}, "7.0.42", "FerretDB 1.24.2"),
    ],
)
def test_a_server_says_who_made_it(told: object, version: str, product: str) -> None:
    introduction = introduced(told, [])
    assert (introduction.version, introduction.product) == (version, product)


def test_collections_of_others_match_a_database_that_is_not_slowdusts() -> None:
    names = ["system.views", "orders", "customers"]
    told = {"version": "7.0.14"}
    assert introduced(told, names).foreign_tables == ["bench.customers", "bench.orders"]
    assert introduced(told, names, "slowdust_0123abcd").foreign_tables == []


@pytest.mark.parametrize(
    ("status", "engine"),
    [
        ({"storageEngine": {"name": "wiredTiger", "persistent": True}}, "wiredtiger"),
        ({"storageEngine": {"name": "inMemory"}}, "inmemory"),
        ({"storageEngine": {"name": "another"}}, None),
        ({"process": "ferretdb"}, None),
    ],
)
def test_the_engine_is_known_where_the_server_reports_one_that_is(
    status: object, engine: str | None
) -> None:
    assert read(dialect().engine, rows(status)) == engine


def test_a_database_is_dropped_to_be_made() -> None:
    drop = [{"dropDatabase": 1, "$db": "slowdust_0123abcd"}]
    assert [json.loads(each) for each in dialect().create("slowdust_0123abcd")] == drop
    assert [json.loads(each) for each in dialect().drop("slowdust_0123abcd")] == drop
