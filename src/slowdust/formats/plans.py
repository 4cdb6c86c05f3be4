"""Read plans printed by servers as trees of operators.

A plan of Postgres is a JSON document or the text of EXPLAIN. A document is first written as text,
as by `EXPLAIN (COSTS OFF)`, so one reader is enough. Plans of MySQL and MariaDB have a line from
the driver for each table of the tabular EXPLAIN; plans of SQLite, and of FerretDB on SQLite, the
steps of EXPLAIN QUERY PLAN, a line each; plans of MongoDB a line from the driver for each stage,
with its inputs indented.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import msgspec


@dataclass(frozen=True)
class PlanNode:
    """An operator with its inputs, in the server's words.

    The root of a plan that is a list of steps has neither an operator nor lines.
    """

    operator: str
    """The server's word: 'Index Scan', 'Hash Join', 'ref', 'SEARCH', 'IXSCAN'."""
    lines: tuple[str, ...] = ()
    """The node's own lines as printed by the server, indented; its inputs' lines follow."""
    relation: str = ""
    """The table, function or CTE that it reads or changes, if the server prints it."""
    alias: str = ""
    """The relation's name in the statement."""
    index: str = ""
    join: str = ""
    """The kind of a join, except inner joins: 'Left', 'Semi'; for MySQL, the algorithm of the join
    buffer."""
    role: str = ""
    """The node's role in its parent, unless an input: 'SubPlan 1', 'CTE c', 'dependent
    subquery'."""
    conditions: tuple[tuple[str, str], ...] = ()
    """Conditions and keys with their placement: ('Index Cond', '(id = 5)')."""
    remarks: tuple[str, ...] = ()
    """Other facts about the execution: 'Using filesort', 'COVERING'."""
    workers: int = 0
    """Planned parallel workers."""
    children: tuple[PlanNode, ...] = ()

    def walk(self) -> Iterator[PlanNode]:
        """Yield the node and its descendants, in the order that a server prints them."""
        yield self
        for child in self.children:
            yield from child.walk()


def _tree(nodes: Sequence[tuple[int, PlanNode]]) -> PlanNode:
    """Return the tree of nodes, each given with its column.

    A node belongs to the last preceding node further to the left. If several nodes are leftmost,
    they get a root without an operator.
    """
    left = deque(nodes)

    def siblings(beyond: int) -> tuple[PlanNode, ...]:
        """Take the next nodes while they begin further to the right than `beyond`."""
        taken: list[PlanNode] = []
        while left and left[0][0] > beyond:
            column, node = left.popleft()
            taken.append(replace(node, children=siblings(column)))
        return tuple(taken)

    roots = siblings(-1)
    return roots[0] if len(roots) == 1 else PlanNode("", children=roots)


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
"""Costs and estimates, and facts that the text has only on request."""
_NAMES = ("Relation Name", "Function Name", "CTE Name", "Table Function Name", "Tuplestore Name")
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_$]*")

_COSTS = re.compile(r" *\((?:cost|actual|never)\b.*\)$")
_LABEL = re.compile(r"(?:InitPlan|SubPlan|CTE) .*")
_TARGET = re.compile(r"(?:Insert|Update|Delete|Merge) on .*")
"""A partition that a node changes: it is printed below the node's first line, and is not a node."""
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


def _parse_postgres(text: str) -> PlanNode:
    """Return the tree of a JSON document, or of EXPLAIN's text."""
    lines = text.splitlines()
    if text.lstrip().startswith("["):
        try:
            document = msgspec.json.decode(text, type=list[dict[str, Any]])[0]
            written = [*_written(document["Plan"], 0, "")]
            if jit := document.get(_JIT):
                used = [f"{name} true" for name, is_on in jit.get("Options", {}).items() if is_on]
                written += ["JIT:", f"  Options: {', '.join(used)}"]
            lines = written
        except (msgspec.MsgspecError, LookupError, TypeError, AttributeError):
            pass  # not a document
    return _read(lines)


def _written(node: _Document, indent: int, arrow: str) -> Iterator[str]:
    """Yield the lines of a node and its descendants."""
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
    """Return the relation and index of a node: ' using index on table alias'."""
    index = node.get("Index Name")
    relation = next((node[name] for name in _NAMES if name in node), None)
    alias = node.get("Alias")
    if relation is None:
        relation, alias = alias, None
    if node["Node Type"] == "Bitmap Index Scan":
        relation, index = index, None

    def quoted(before: str, name: str | None) -> str:
        if name and not _PLAIN_NAME.fullmatch(name):
            name = '"' + name.replace('"', '""') + '"'
        return f"{before}{name}" if name else ""

    named = quoted(" using ", index) + quoted(" on ", relation)
    return named + (quoted(" ", alias) if alias != relation else "")


def _property(key: str, value: object) -> Iterator[str]:
    """Yield the lines of the text for a key of a document."""
    if key in _IN_HEADING or key in _NOT_PRINTED or value in (False, 0):
        return
    if key == "Grouping Sets" and isinstance(value, list):
        for each in value:
            for name, sets in each.items():
                if name.endswith("Keys"):
                    yield from (f"{name[:-1]}: {', '.join(keys) or '()'}" for keys in sets)
        return
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    if isinstance(value, (str, int, float)):
        text = "true" if value is True else str(value).replace("\n", " ")
        yield f"{key}: {text}"


@dataclass
class _Open:
    """A node being read."""

    column: int
    heading: str
    role: str
    lines: list[str]
    properties: list[tuple[str, str]] = field(default_factory=list)

    def node(self) -> PlanNode:
        if self.heading == "JIT:":
            # The size of compiled code is an estimate, like costs.
            options = (value for key, value in self.properties if key == "Options")
            used = {name for value in options for name in _OPTION.findall(value)}
            remarks = tuple(sorted(used.difference(_EVERY_JIT)))
            return PlanNode(_JIT, tuple(self.lines), remarks=remarks)
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
            column = indent + 1 if opened else 0  # inputs of a one-line root are below it
            shown = [*label, _COSTS.sub("", line)]
            opened.append(_Open(column, heading, role, shown))
            role, label = "", []
            continue
        opened[-1].lines.append(line)
        key, colon, value = text.partition(": ")
        if colon and not _TARGET.fullmatch(text):
            opened[-1].properties.append((key, value))
    return _tree([(each.column, each.node()) for each in opened])


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
"""Words of versions for the algorithm of a join buffer -> name; otherwise a block nested loop."""


def _parse_mysql(text: str) -> PlanNode:
    """Return a root whose children are the tables in join order."""
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
            how = buffer["how"] or ""
            names = (name for version, name in _ALGORITHMS if version in how)
            join = next(names, "block nested loop")
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
"""A step with a name or number chosen by the version."""
_GENERATED = re.compile(r"\(?subquery-?\w*\)?|\d+|0x[0-9a-f]+", re.IGNORECASE)
SUBQUERY = "(subquery)"
"""The name for numbered subqueries; newer versions use the statement's names."""
_PART_OF_ORDER = re.compile(r"(?:RIGHT PART|LAST (?:\d+ )?TERMS?) OF ")


def _parse_sqlite(text: str) -> PlanNode:
    """Return a root whose children are the leftmost steps."""
    tree = _tree_of_lines(text, _step)
    return tree if not tree.operator else PlanNode("", children=(tree,))


def _tree_of_lines(text: str, node: Callable[[str], PlanNode]) -> PlanNode:
    lines = text.splitlines()
    return _tree([((len(line) - len(line.lstrip())) // 2, node(line)) for line in lines])


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


def _parse_mongodb(text: str) -> PlanNode:
    return _tree_of_lines(text, _stage)


def _stage(line: str) -> PlanNode:
    """Parse `STAGE index direction`; the index name may contain blanks."""
    stage, _, rest = line.strip().partition(" ")
    words = rest.split(" ")
    remarks = tuple(word for word in words[-1:] if word in ("forward", "backward"))
    index = " ".join(words[:-1] if remarks else words)
    return PlanNode(stage, (line,), index=index, remarks=remarks)


_READERS: dict[str, Callable[[str], PlanNode]] = {
    "mysql": _parse_mysql,
    "mariadb": _parse_mysql,
    "sqlite": _parse_sqlite,
    "ferretdb": _parse_sqlite,
    "mongodb": _parse_mongodb,
}
_MOST_KEPT = 4096
"""Plans of an experiment are needed by its report, its reasons and its explanations."""


@lru_cache(_MOST_KEPT)
def parse_plan(text: str, dbms: str) -> PlanNode:
    """Parse a plan that the driver has read.

    Plans of Postgres are JSON documents or, in earlier experiments, the text of EXPLAIN. MySQL and
    MariaDB have a line for each table; SQLite and FerretDB a line for each step, indented or, in
    earlier experiments and versions, flat; MongoDB a line for each stage. A line in any other form
    is an operator of its own.
    """
    return _READERS.get(dbms, _parse_postgres)(text)
