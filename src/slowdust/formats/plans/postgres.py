"""Plans of Postgres: JSON documents, and the text of EXPLAIN.

A document is written as the text first, in the words of `EXPLAIN (COSTS OFF)`, so that there is one
reader and a plan looks as its users know it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from slowdust.formats.plans.node import Outline, PlanNode

_Document = Mapping[str, Any]

_STRATEGIES = {
    "Sorted": "GroupAggregate",
    "Hashed": "HashAggregate",
    "Mixed": "MixedAggregate",
}
_IN_HEADING = frozenset(
    {
        *("Node Type", "Strategy", "Partial Mode", "Operation", "Command", "Join Type"),
        *("Parallel Aware", "Async Capable", "Scan Direction", "Custom Plan Provider"),
        *("Index Name", "Relation Name", "Schema", "Alias", "Function Name", "CTE Name"),
        *("Table Function Name", "Tuplestore Name", "Parent Relationship", "Subplan Name"),
    }
)
_NOT_PRINTED = frozenset(
    {"Startup Cost", "Total Cost", "Plan Rows", "Plan Width", "Inner Unique", "Output"}
)
"""Costs and estimates, and what the text tells only when it is asked for more."""
_NAMES = ("Relation Name", "Function Name", "CTE Name", "Table Function Name", "Tuplestore Name")
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_$]*")

_COSTS = re.compile(r" *\((?:cost|actual|never)\b.*\)$")
_LABEL = re.compile(r"(?:InitPlan|SubPlan|CTE) .*")
_TARGET = re.compile(r"(?:Insert|Update|Delete|Merge) on .*")
"""A partition that a node changes: it stands below the node's first line, and is no node."""
_NAME = r'(?:"(?:[^"]|"")*"|[^\s"]+)'
_HEADING = re.compile(
    rf"(?P<operator>.*?)(?: using (?P<index>{_NAME}))?"
    rf"(?: on (?P<relation>{_NAME})(?: (?P<alias>{_NAME}))?)?"
)
_JOIN = re.compile(
    r"(?P<parallel>Parallel )?(?:(?P<loop>Nested Loop)|(?P<how>Merge|Hash))"
    r"(?: (?P<kind>[A-Z].*?))? Join"
)
_PLACEMENTS = re.compile(r"(?!Rows Removed)(?:.* )?(?:Cond|Condition|Filter|Key|Keys|By)")
_WORKERS = "Workers Planned"
_JIT = "JIT"
_OPTION = re.compile(r"(\w+) true")
_EVERY_JIT = ("Expressions", "Deforming")


def parse(text: str) -> PlanNode:
    """Return the tree of a JSON document, or of EXPLAIN's text."""
    lines = text.splitlines()
    if text.lstrip().startswith("["):
        try:
            document = msgspec.json.decode(text, type=list[dict[str, Any]])[0]
            lines = [*_written(document["Plan"], 0, ""), *_jit_lines(document.get(_JIT))]
        except (msgspec.MsgspecError, LookupError, TypeError, AttributeError):
            pass  # a text as any other
    return _read(lines)


def _written(node: _Document, indent: int, arrow: str) -> Iterator[str]:
    """Yield the lines of a node and all beneath it."""
    yield " " * indent + arrow + _heading(node)
    below = indent + len(arrow) + 2
    for key, value in node.items():
        for line in _property(key, value):
            yield " " * below + line
    for child in node.get("Plans", ()):
        label = child.get("Subplan Name")
        if label:
            yield " " * below + label
        yield from _written(child, below + (2 if label else 0), "->  ")


def _heading(node: _Document) -> str:
    kind = str(node["Node Type"])
    if kind == "ModifyTable":
        kind = node["Operation"]
    elif kind == "Aggregate":
        kind = _STRATEGIES.get(node.get("Strategy", ""), kind)
        mode = node.get("Partial Mode", "Simple")
        kind = kind if mode == "Simple" else f"{mode} {kind}"
    elif kind == "SetOp":
        hashed = "Hash" if node.get("Strategy") == "Hashed" else ""
        kind = f"{hashed}{kind} {node.get('Command', '')}".rstrip()
    elif "Join Type" in node and node["Join Type"] != "Inner":
        kind = f"{kind.removesuffix(' Join')} {node['Join Type']} Join"
    elif "Custom Plan Provider" in node:
        kind = f"{kind} ({node['Custom Plan Provider']})"
    if node.get("Scan Direction") == "Backward":
        kind += " Backward"
    parallel = "Parallel " if node.get("Parallel Aware") else ""
    return f"{parallel}{kind}{_place(node)}"


def _place(node: _Document) -> str:
    """Return what a node works on: ' using index on table alias'."""
    index = node.get("Index Name")
    relation = next((node[name] for name in _NAMES if name in node), None)
    alias = node.get("Alias")
    if relation is None:
        relation, alias = alias, None
    if node["Node Type"] == "Bitmap Index Scan":
        relation, index = index, None
    words = f" using {_quoted(index)}" if index else ""
    if relation:
        words += f" on {_quoted(relation)}"
    return words + (f" {_quoted(alias)}" if alias and alias != relation else "")


def _quoted(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return name
    return '"' + name.replace('"', '""') + '"'


def _property(key: str, value: object) -> Iterator[str]:
    """Yield the lines that the text has for a key of a document."""
    if key in _IN_HEADING or key in _NOT_PRINTED or value in (False, 0):
        return
    if key == "Grouping Sets" and isinstance(value, list):
        for each in value:
            for name, sets in each.items():
                if name.endswith("Keys"):
                    yield from (f"{name[:-1]}: {', '.join(keys) or '()'}" for keys in sets)
    elif isinstance(value, list) and all(isinstance(each, str) for each in value):
        yield f"{key}: {_on_one_line(', '.join(value))}"
    elif isinstance(value, (str, int, float)):
        yield f"{key}: {_on_one_line(str(value).lower() if value is True else str(value))}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split("\n"))


def _jit_lines(jit: _Document | None) -> list[str]:
    if not jit:
        return []
    options = [name for name, is_on in jit.get("Options", {}).items() if is_on]
    return ["JIT:", f"  Options: {', '.join(f'{name} true' for name in options)}"]


@dataclass
class _Open:
    """A node that is being read."""

    column: int
    heading: str
    role: str
    lines: list[str]
    properties: list[tuple[str, str]] = field(default_factory=list)

    def node(self) -> PlanNode:
        if self.heading == "JIT:":
            return self._jit()
        found = _HEADING.fullmatch(self.heading)
        operator, index, relation, alias = (
            (found["operator"], found["index"], found["relation"], found["alias"])
            if found
            else (self.heading, None, None, None)
        )
        if operator == "Bitmap Index Scan":
            index, relation = relation, None
        join = _JOIN.fullmatch(operator)
        if join is not None:
            operator = (join["parallel"] or "") + (join["loop"] or f"{join['how']} Join")
        workers = next((value for key, value in self.properties if key == _WORKERS), "0")
        return PlanNode(
            operator=operator,
            lines=tuple(self.lines),
            relation=_unquoted(relation),
            alias=_unquoted(alias or relation),
            index=_unquoted(index),
            join=(join["kind"] or "") if join is not None else "",
            role=self.role,
            conditions=tuple(
                (key, value) for key, value in self.properties if _PLACEMENTS.fullmatch(key)
            ),
            workers=int(workers) if workers.isdigit() else 0,
        )

    def _jit(self) -> PlanNode:
        """Return JIT as a node; the size of what it compiles is an estimate as costs are."""
        options = (value for key, value in self.properties if key == "Options")
        used = {name for value in options for name in _OPTION.findall(value)}
        remarks = tuple(sorted(used.difference(_EVERY_JIT)))
        return PlanNode(_JIT, tuple(self.lines), remarks=remarks)


def _unquoted(name: str | None) -> str:
    if name is None:
        return ""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _read(lines: Sequence[str]) -> PlanNode:
    opened: list[_Open] = []
    role, label = "", []
    for line in lines:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        is_node = text.startswith("->") or not opened or text == "JIT:"
        if not is_node and _LABEL.fullmatch(text):
            role, label = text, [line]
            continue
        if not is_node and opened[-1].heading == "JIT:":
            indent = 0
        if is_node:
            heading = _COSTS.sub("", text.removeprefix("->").strip())
            column = indent + 1 if opened else 0  # a root of one line has its inputs beneath it
            shown = [*label, _COSTS.sub("", line)]
            opened.append(_Open(column, heading, role, shown))
            role, label = "", []
            continue
        opened[-1].lines.append(line)
        key, colon, value = text.partition(": ")
        if colon and not _TARGET.fullmatch(text):
            opened[-1].properties.append((key, value))
    return Outline([(each.column, each.node()) for each in opened]).tree()
