"""Generated plans and schemas: names and numbers make no difference, operators do."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from slowdust.analysis.plans.compare import compare_plans
from slowdust.formats.plans import PlanNode, parse_plan

Document = dict[str, Any]

TABLES = ("orders", "customers", "Items", "part_1")
COLUMNS = ("id", "customer", "day", "total")
SCANS = ("Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan")
JOINS = ("Hash Join", "Nested Loop", "Merge Join")
ABOVE = ("Sort", "Limit", "Aggregate", "Materialize", "Gather")
NEWER = {"Async Capable": False, "Disabled": False, "Inner Unique": False}


@dataclass
class Writer:
    """Writes a shape as a document, in the words of a version, with its own aliases and numbers."""

    prefix: str
    number: int
    is_new: bool
    qualifies: bool
    appends: bool
    scans: int = 0

    def document(self, shape: Document) -> str:
        return json.dumps([{"Plan": self.node(shape), "Planning Time": self.number}])

    def node(self, shape: Document) -> Document:
        costs = {"Total Cost": self.number * 1.5, "Plan Rows": self.number, "Plan Width": 4}
        more: Document = {**costs, **(NEWER if self.is_new else {})}
        if "relation" in shape:
            return self._scan(shape, more)
        kind: Document = {"Node Type": shape["kind"]}
        if shape["kind"] in JOINS:
            kind |= {"Join Type": shape["join"]}
        if shape["kind"] == "Gather":
            kind |= {"Workers Planned": shape["workers"]}
        return kind | more | {"Plans": [self.node(child) for child in shape["children"]]}

    def _scan(self, shape: Document, more: Document) -> Document:
        self.scans += 1
        alias = f"{self.prefix}{self.scans}"
        qualifier = f'"{alias}".' if " " in alias else f"{alias}."
        column = f"{qualifier if self.qualifies else ''}{shape['column']}"
        scan: Document = {
            "Node Type": shape["kind"],
            "Relation Name": shape["relation"],
            "Alias": alias,
            **more,
        }
        if shape["kind"].startswith("Index"):
            scan["Index Name"] = shape["index"]
        if shape["kind"] == "Bitmap Heap Scan":
            below = {"Node Type": "Bitmap Index Scan", "Index Name": shape["index"], **more}
            scan["Plans"] = [below]
        scan[shape["placement"]] = f"({column} = {self._value()})"
        if self.appends:
            return {"Node Type": "Append", "Subplans Removed": self.number, **more, "Plans": [scan]}
        return scan

    def _value(self) -> str:
        return f"'{self.number}'::bigint" if self.is_new else f"${self.number}"


def scans() -> st.SearchStrategy[Document]:
    return st.fixed_dictionaries(
        {
            "kind": st.sampled_from(SCANS),
            "relation": st.sampled_from(TABLES),
            "index": st.sampled_from(("orders_day", "pkey")),
            "column": st.sampled_from(COLUMNS),
            "placement": st.sampled_from(("Index Cond", "Filter")),
        }
    )


def shapes() -> st.SearchStrategy[Document]:
    return st.recursive(
        scans(),
        lambda below: st.one_of(
            st.fixed_dictionaries(
                {
                    "kind": st.sampled_from(JOINS),
                    "join": st.sampled_from(("Inner", "Left", "Semi")),
                    "children": st.lists(below, min_size=2, max_size=2),
                }
            ),
            st.fixed_dictionaries(
                {
                    "kind": st.sampled_from(ABOVE),
                    "workers": st.integers(1, 8),
                    "children": st.lists(below, min_size=1, max_size=1),
                }
            ),
        ),
        max_leaves=6,
    )


def writers() -> st.SearchStrategy[Writer]:
    return st.builds(
        Writer,
        prefix=st.sampled_from(("a", "part_", "Alias ")),
        number=st.integers(1, 999),
        is_new=st.booleans(),
        qualifies=st.booleans(),
        appends=st.booleans(),
    )


def leaves(shape: Document) -> Iterator[Document]:
    if "relation" in shape:
        yield shape
    for child in shape.get("children", ()):
        yield from leaves(child)


def postgres(text: str) -> PlanNode:
    return parse_plan(text, "postgres")


@given(shapes(), writers(), writers())
def test_aliases_values_and_costs_make_no_difference(
    shape: Document, writer: Writer, other: Writer
) -> None:
    comparison = compare_plans(postgres(writer.document(shape)), postgres(other.document(shape)))
    assert comparison.differences == ()


@given(shapes(), writers(), writers(), st.data())
def test_another_access_always_makes_one(
    shape: Document, writer: Writer, other: Writer, data: st.DataObject
) -> None:
    before = writer.document(shape)
    scan = data.draw(st.sampled_from([*leaves(shape)]))
    changed = data.draw(scans())
    assume(changed["kind"] != scan["kind"])
    scan["kind"] = changed["kind"]

    comparison = compare_plans(postgres(before), postgres(other.document(shape)))

    assert comparison.differences
    assert any(scan["relation"] in words for words in comparison.differences) or (
        "other differences" in comparison.differences[-1]
    )
    assert comparison.other


ACCESSES = ("ALL", "range PRIMARY", "ref k_1 (const)", "index k_2", "eq_ref PRIMARY ({0})")


@given(st.lists(st.sampled_from(ACCESSES), min_size=1, max_size=5), st.data())
def test_tables_of_mysql(accesses: list[str], data: st.DataObject) -> None:
    def plan(prefix: str, accesses: list[str]) -> PlanNode:
        lines = (
            f"{prefix}{place}: {access.format(f'{prefix}{place - 1}.id')}; Using where"
            for place, access in enumerate(accesses)
        )
        return parse_plan("\n".join(lines), "mysql")

    assert compare_plans(plan("a", accesses), plan("b", accesses)).is_same
    place = data.draw(st.integers(0, len(accesses) - 1))
    changed = data.draw(st.sampled_from(ACCESSES))
    assume(changed != accesses[place])
    others = [*accesses[:place], changed, *accesses[place + 1 :]]
    assert not compare_plans(plan("a", accesses), plan("a", others)).is_same


@dataclass(frozen=True)
class Schema:
    """Tables of SQLite with an index each, and a statement that joins them."""

    columns: tuple[str, ...]
    """The indexed column of each table."""
    is_outer: bool
    is_sorted: bool
    subquery: bool

    def create(self, connection: sqlite3.Connection) -> None:
        for place, column in enumerate(self.columns):
            connection.execute(f"CREATE TABLE t{place} (a INT, b INT, c INT, payload TEXT)")
            connection.execute(f"CREATE INDEX i{place} ON t{place} ({column})")

    def statement(self, prefix: str, value: int) -> str:
        first = f"{prefix}0"
        sql = f"SELECT {first}.payload FROM t0 AS {first}"
        for place, column in enumerate(self.columns[1:], 1):
            alias = f"{prefix}{place}"
            kind = "LEFT JOIN" if self.is_outer else "CROSS JOIN"
            sql += f" {kind} t{place} AS {alias} ON {alias}.{column} = {prefix}{place - 1}.b"
        sql += f" WHERE {first}.{self.columns[0]} = {value}"
        if self.subquery:
            inner = f"{prefix}x"
            sql += f" AND {first}.c IN (SELECT {inner}.a FROM t0 AS {inner} WHERE {inner}.b > 3)"
        return sql + (f" ORDER BY {first}.payload" if self.is_sorted else "")


def explained(connection: sqlite3.Connection, sql: str) -> PlanNode:
    depths: dict[int, int] = {}
    lines = []
    for number, parent, _, detail in connection.execute(f"EXPLAIN QUERY PLAN {sql}"):
        depths[number] = depths[parent] + 1 if parent in depths else 0
        lines.append("  " * depths[number] + detail)
    return parse_plan("\n".join(lines), "sqlite")


@given(
    st.builds(
        Schema,
        columns=st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple),
        is_outer=st.booleans(),
        is_sorted=st.booleans(),
        subquery=st.booleans(),
    ),
    st.data(),
)
def test_schemas_of_sqlite(schema: Schema, data: st.DataObject) -> None:
    connection = sqlite3.connect(":memory:", cached_statements=0)
    schema.create(connection)
    plan = explained(connection, schema.statement("x", 5))
    renamed = explained(connection, schema.statement("y", 7))
    assert compare_plans(plan, renamed).differences == ()
    dropped = data.draw(st.integers(0, len(schema.columns) - 1))
    connection.execute(f"DROP INDEX i{dropped}")
    comparison = compare_plans(plan, explained(connection, schema.statement("x", 5)))
    connection.close()
    assert any(words.startswith(f"x{dropped}: ") for words in comparison.differences)
    assert comparison.base
