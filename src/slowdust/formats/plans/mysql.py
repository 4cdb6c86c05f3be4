"""Plans of MySQL and MariaDB: the driver's line for each table of the tabular EXPLAIN."""

from __future__ import annotations

import re

from slowdust.formats.plans.node import PlanNode

_LINE = re.compile(
    r"(?P<table>\S.*?): (?P<access>\S+)(?: (?P<key>[^;(][^;]*?))?(?: \((?P<ref>[^;]*)\))?"
)
_ROLE = re.compile(
    r"(?P<role>primary|(?:dependent |uncacheable )?(?:subquery|derived|union)|union result"
    r"|materialized|lateral derived|recursive union)(?: \d+)?"
)
_JOIN_BUFFER = re.compile(r"Using join buffer(?: \((?P<how>.*)\))?")
_ALGORITHMS = (
    ("BNLH", "hash join"),
    ("hash join", "hash join"),
    ("BKA", "batched key access"),
    ("Batched Key Access", "batched key access"),
)
"""Words of versions for the algorithm of a join buffer, and its name; else a block nested loop."""


def parse(text: str) -> PlanNode:
    """Return a root whose children are the tables, in the order in which they are joined."""
    return PlanNode("", children=tuple(_table(line) for line in text.splitlines()))


def _table(line: str) -> PlanNode:
    head, *words = line.split("; ")
    found = _LINE.fullmatch(head)
    if found is None:
        return PlanNode(head, (line,), remarks=tuple(words))
    role = join = ""
    remarks = []
    for word in words:
        if part := _ROLE.fullmatch(word):
            role = part["role"]
        elif buffer := _JOIN_BUFFER.fullmatch(word):
            join = _algorithm(buffer["how"] or "")
        else:
            remarks.append(word)
    return PlanNode(
        operator=found["access"],
        lines=(line,),
        alias=found["table"],
        index=found["key"] or "",
        join=join,
        role=role,
        conditions=(("ref", found["ref"]),) if found["ref"] else (),
        remarks=tuple(remarks),
    )


def _algorithm(how: str) -> str:
    return next((name for word, name in _ALGORITHMS if word in how), "block nested loop")
