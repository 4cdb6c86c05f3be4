"""Plans of SQLite, and of FerretDB over it: EXPLAIN QUERY PLAN's steps, a line each."""

from __future__ import annotations

import re

from slowdust.formats.plans.node import Outline, PlanNode

_CONSTRAINTS = r"(?: \((?P<constraints>[^()]*(?:\([^()]*\)[^()]*)*)\))?"
_STEP = re.compile(
    r"(?P<verb>SCAN|SEARCH) (?:TABLE )?(?:(?P<subquery>SUBQUERY )(?=\S))?(?P<table>.+?)"
    r"(?: AS (?P<alias>\S+))?"
    r"(?: USING (?P<how>(?:AUTOMATIC |PARTIAL |COVERING )*)"
    r"(?:INDEX(?: (?!\()(?P<index>.+?))?|(?P<key>(?:INTEGER )?PRIMARY KEY))"
    rf"(?: FOR IN-OPERATOR)?{_CONSTRAINTS})?"
    r"(?: VIRTUAL TABLE INDEX (?P<virtual>.*?))?"
    r"(?: (?:LEFT|RIGHT|FULL|EXISTS)(?:-JOIN)?)?(?: \(~\d+ rows?\))?"
)
_CONSTANTS = re.compile(r"SCAN (?:\d+ )?CONSTANT ROWS?")
_FILTER = re.compile(rf"(?P<operator>BLOOM FILTER) ON (?P<table>.+?){_CONSTRAINTS}")
_NUMBERED = re.compile(
    r"(?P<operator>(?:EXECUTE )?(?:CORRELATED |REUSE )?(?:LIST |SCALAR )?SUBQUERY"
    r"|CO-ROUTINE|MATERIALIZE|INDEX)(?: (?P<name>.*))?"
)
"""A step whose name or number its version has chosen."""
_GENERATED = re.compile(r"\(?subquery-?\w*\)?|\d+|0x[0-9a-f]+", re.IGNORECASE)
SUBQUERY = "(subquery)"
"""The name of all subqueries that a version has numbered: newer ones have the statement's names."""
_PART_OF_ORDER = re.compile(r"(?:RIGHT PART|LAST (?:\d+ )?TERMS?) OF ")
_INDENT = "  "


def parse(text: str) -> PlanNode:
    """Return a root whose children are the steps at the left."""
    nodes = [
        ((len(line) - len(line.lstrip())) // len(_INDENT), _step(line))
        for line in text.splitlines()
    ]
    tree = Outline(nodes).tree()
    return tree if not tree.operator else PlanNode("", children=(tree,))


def _step(line: str) -> PlanNode:
    text = line.strip()
    if _CONSTANTS.fullmatch(text):
        return PlanNode("SCAN CONSTANT ROW", (line,))
    if found := _STEP.fullmatch(text):
        name = found["alias"] or found["table"].strip('"')
        remarks = (found["how"] or "").split()
        if found["virtual"]:
            remarks.append(f"VIRTUAL TABLE INDEX {found['virtual']}")
        return PlanNode(
            operator=found["verb"],
            lines=(line,),
            alias=SUBQUERY if _GENERATED.fullmatch(name) else name,
            index=found["index"] or found["key"] or "",
            conditions=_constraints(found["constraints"]),
            remarks=tuple(remarks),
        )
    if found := _FILTER.fullmatch(text):
        return PlanNode(
            operator=found["operator"],
            lines=(line,),
            alias=found["table"],
            conditions=_constraints(found["constraints"]),
        )
    if found := _NUMBERED.fullmatch(text):
        return PlanNode(found["operator"], (line,), relation=found["name"] or "")
    return PlanNode(_PART_OF_ORDER.sub("PART OF ", text), (line,))


def _constraints(text: str | None) -> tuple[tuple[str, str], ...]:
    return (("constraints", text),) if text else ()
