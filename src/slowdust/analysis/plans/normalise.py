"""Normalise plans: remove differences between versions' texts that do not change the execution.

Conditions are compared without the parts that depend on versions, aliases and values.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from slowdust.formats.plans import SUBQUERY, PlanNode

_ONLY_PASSING = ("Append", "Merge Append", "Parallel Append", "Result", "Subquery Scan")
"""Operators that do nothing with one input and no condition; some versions omit them."""
_APPENDS = ("Append", "Parallel Append")
_CHANGING = ("Insert", "Update", "Delete", "Merge")
_SAID_IN_SOME_VERSIONS = ("Backward index scan",)
_CHECKED = "Using where"
_ANNOUNCING = "EXECUTE "
"""Prefix of a step that SQLite before 3.24 prints where it executes a subquery."""
_MADE_NUMBERS = re.compile(r"[\d,]+")
_UNION = "union result"
"""A table of MySQL that every version creates temporarily, though not every version reports it."""
_INDEX_MAP = re.compile(r" \(index map: [^)]*\)")
_MADE_KEY = re.compile(r"<auto_\w+>|(?:distinct_)?key\d*")
"""An index that the server creates on a derived table."""
_ALTERNATIVES = re.compile(
    r"alternatives: SubPlan (?P<run>[^\s()]+) or hashed SubPlan (?P<hashed>[^\s()]+)"
)
_COMPUTED = ("CO-ROUTINE", "MATERIALIZE")
_FLAT_STEPS = ("SCAN", "SEARCH", "USE TEMP")


@dataclass(frozen=True)
class Node:
    """A node of a normalised plan: equal nodes execute in the same way."""

    operator: str
    name: str
    """The relation that it reads: the same text in both plans, independent of aliases."""
    index: str
    join: str
    role: str
    conditions: tuple[tuple[str, tuple[str, ...]], ...]
    """Placement -> conditions, sorted."""
    remarks: tuple[str, ...]
    workers: int
    children: tuple[Node, ...]
    origin: PlanNode = field(compare=False)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


def normalise(base: PlanNode, other: PlanNode) -> tuple[Node, Node]:
    """Return both plans normalised, with a common name for each relation."""
    base, other = _decided(_simplified(base), other), _decided(_simplified(other), base)
    if _is_flat(base) != _is_flat(other):
        base, other = _flattened(base), _flattened(other)
    base, other = _called(base, other, _computed(other)), _called(other, base, _computed(base))
    of_base, of_other = _names(base, other)
    nodes = _node(base, of_base, _hashed(base)), _node(other, of_other, _hashed(other))
    ours, theirs = map(_without_checks, nodes)
    return (ours, theirs) if ours == theirs else nodes


def _without_checks(node: Node) -> Node:
    """Return a node without MySQL's remark that the server checks a condition.

    The remark alone is no difference: versions since 5.6 drop conditions that the access ensures.
    """
    remarks = tuple(each for each in node.remarks if each != _CHECKED)
    return replace(node, remarks=remarks, children=tuple(map(_without_checks, node.children)))


def _simplified(node: PlanNode) -> PlanNode:
    children = tuple(
        _simplified(child) for child in node.children if not child.operator.startswith(_ANNOUNCING)
    )
    inputs = [child for child in children if not child.role]
    if node.operator in _ONLY_PASSING and len(inputs) == 1 and not node.conditions:
        others = (child for child in children if child.role)
        role = node.role or inputs[0].role
        return replace(inputs[0], children=(*others, *inputs[0].children), role=role)
    if node.operator in _CHANGING:
        children = tuple(
            each
            for child in children
            for each in (child.children if child.operator in _APPENDS else (child,))
        )
    return replace(node, children=children)


def _decided(plan: PlanNode, other: PlanNode) -> PlanNode:
    """Return a plan with one of two alternative subplans, if the choice is made at execution.

    Versions before 14 print both; the one in the other plan is kept.
    """
    texts = [text for node in plan.walk() for _, text in node.conditions]
    found = [match for text in texts for match in _ALTERNATIVES.finditer(text)]
    if not found or any(_ALTERNATIVES.search(t) for n in other.walk() for _, t in n.conditions):
        return plan
    kept, dropped = ("hashed", "run") if _hashed(other) else ("run", "hashed")
    roles = {f"SubPlan {match[dropped]}" for match in found}
    written = "hashed SubPlan" if kept == "hashed" else "SubPlan"

    def below(node: PlanNode) -> PlanNode:
        conditions = tuple(
            (placement, _ALTERNATIVES.sub(rf"{written} \g<{kept}>", text))
            for placement, text in node.conditions
        )
        children = tuple(below(child) for child in node.children if child.role not in roles)
        return replace(node, conditions=conditions, children=children)

    return below(plan)


def _is_flat(plan: PlanNode) -> bool:
    """Return whether no step is nested, as SQLite printed its plans before 3.24."""
    return not plan.operator and not any(child.children for child in plan.children)


def _flattened(plan: PlanNode) -> PlanNode:
    """Return the innermost steps of a plan, in a fixed order."""
    if plan.operator:
        return plan
    steps = [
        replace(step, children=())
        for step in plan.walk()
        if not step.children and step.operator.startswith(_FLAT_STEPS)
    ]
    key = ("alias", "operator", "index")
    return replace(
        plan, children=tuple(sorted(steps, key=lambda step: [getattr(step, name) for name in key]))
    )


def _computed(plan: PlanNode) -> frozenset[str]:
    return frozenset(each.relation for each in plan.walk() if each.operator in _COMPUTED)


def _called(plan: PlanNode, other: PlanNode, computed: frozenset[str]) -> PlanNode:
    """Return a plan whose numbered subqueries have the names of the other plan's at the same
    places."""
    alias = plan.alias
    if alias == SUBQUERY and plan.operator == other.operator and other.alias in computed:
        alias = other.alias
    pairs = zip(plan.children, other.children, strict=False)
    children = [_called(child, match, computed) for child, match in pairs]
    return replace(plan, alias=alias, children=(*children, *plan.children[len(children) :]))


def _hashed(plan: PlanNode) -> frozenset[str]:
    texts = (text for node in plan.walk() for _, text in node.conditions)
    return frozenset(number for text in texts for number in hashed_subplans(text))


_ORDERED_KEYS = ("Sort Key", "Presorted Key")
_Names = Mapping[tuple[str, str], str]
"""(relation, alias) -> name."""


def _names(base: PlanNode, other: PlanNode) -> tuple[_Names, _Names]:
    """Return the names of the relations of both plans.

    Aliases in both plans identify a relation. Aliases in only one plan are paired in reading order.
    """
    names: tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]] = ({}, {})
    aliases = _aliases(base), _aliases(other)
    for relation in dict.fromkeys([*aliases[0], *aliases[1]]):
        ours, theirs = aliases[0].get(relation, []), aliases[1].get(relation, [])
        alone = [alias for alias in theirs if alias not in ours]
        missing = [alias for alias in ours if alias not in theirs]
        pairs = dict(zip(alone, missing, strict=True)) if len(alone) == len(missing) else {}
        is_one = len(ours) <= 1 and len(theirs) <= 1 and bool(relation)
        for alias in ours:
            names[0][relation, alias] = _name(relation, alias, is_one=is_one)
        for alias in theirs:
            known = pairs.get(alias, alias)
            names[1][relation, alias] = _name(relation, known, is_one=is_one)
    return names


def _name(relation: str, alias: str, *, is_one: bool) -> str:
    if not relation or is_one or relation == alias:
        return relation or alias
    return f"{relation} {alias}"


def _aliases(plan: PlanNode) -> dict[str, list[str]]:
    """Return relation -> its aliases in reading order; '' if unknown."""
    found: dict[str, list[str]] = defaultdict(list)
    for node in plan.walk():
        alias = _without_numbers(node.alias)
        if alias and node.operator not in _CHANGING and alias not in found[node.relation]:
            found[node.relation].append(alias)
    return found


def _without_numbers(name: str) -> str:
    """Return the name of a table created by the server, `<derived2>`, without its number."""
    return _MADE_NUMBERS.sub("", name) if name.startswith("<") else name


def _node(node: PlanNode, names: _Names, hashed: frozenset[str]) -> Node:
    alias = _without_numbers(node.alias)
    is_change = node.operator in _CHANGING
    name = node.relation if is_change else names.get((node.relation, alias), "")
    return Node(
        operator=node.operator,
        name=name,
        index=_MADE_KEY.sub("<made>", node.index) if name.startswith("<") else node.index,
        join=node.join,
        role=_role(node.role, hashed),
        conditions=tuple(sorted(_conditions(node.conditions))),
        remarks=() if node.role == _UNION else tuple(sorted(_remarks(node.remarks))),
        workers=node.workers,
        children=tuple(_node(child, names, hashed) for child in node.children),
        origin=node,
    )


def _conditions(
    conditions: Sequence[tuple[str, str]],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for placement, text in conditions:
        if placement == "ref":
            yield "key parts", (f"{text.count(',') + 1}",)
        elif placement == "constraints":
            yield placement, (" ".join(text.split()),)
        elif placement in _ORDERED_KEYS:
            yield placement, keys(text)
        elif placement.endswith("Key"):
            yield placement, tuple(sorted(keys(text)))
        elif parts := conjuncts(text):
            yield placement, parts


def _role(role: str, hashed: frozenset[str]) -> str:
    kind, _, rest = role.partition(" ")
    if kind == "SubPlan":
        return "hashed SubPlan" if rest.split(" ")[0] in hashed else "SubPlan"
    if kind == "InitPlan":
        return "InitPlan"
    return "" if role == "primary" else role


def _remarks(remarks: Iterable[str]) -> Iterator[str]:
    for remark in remarks:
        if remark not in _SAID_IN_SOME_VERSIONS:
            yield _INDEX_MAP.sub("", remark)


_TYPE = (
    r"(?:character varying|double precision|bit varying|interval(?: \w+)?"
    r'|(?:timestamp|time)(?:\(\d+\))? with(?:out)? time zone|(?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+))?)'
)
_CAST = re.compile(rf"::{_TYPE}(?:\(\d+(?:, ?\d+)?\))?(?:\[\])*")
_STRING = re.compile(r"[EB]?'(?:[^']|'')*'")
_TOKEN = re.compile(
    r'(?:"(?:[^"]|"")*"|[A-Za-z_]\w*|\$\d+)(?:\.(?:"[^"]*"|\w+))*|[-+*/<>=~!@#%^&|?]+'
)
_NUMBER = re.compile(r"(?<![\w$.\"])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?\b")
_INIT_PLAN = re.compile(r"\(InitPlan [^()]*\)\.col\d+")
_OF_SUBPLAN = re.compile(r"\(?(?P<hashed>hashed )?SubPlan (?P<number>[^()\s]+)\)?(?:\.col\d+)?")
_QUALIFIER = re.compile(r'(?:"[^"]*"|[A-Za-z_]\w*)\.(?=["A-Za-z_])')
_WINDOW = re.compile(r" OVER (?:\([^()]*\)|\"[^\"]+\"|\w+)")
"""The window of a function: `(?)` before version 18, and its name since then."""
_MIRRORED = {">": "<", ">=": "<=", "?": ""}
_NOT_WORDS = frozenset({"ARRAY", "VALUE"})
_KEYWORDS = frozenset({"AND", "OR", "NOT", "ANY", "ALL", "IS", "NULL", "SUBPLAN", "EXISTS", "ROW"})


def hashed_subplans(text: str) -> Iterator[str]:
    for found in _OF_SUBPLAN.finditer(text):
        if found["hashed"]:
            yield found["number"]


def conjuncts(text: str) -> tuple[str, ...]:
    """Return the parts of a condition, sorted: each part joined by AND as its sorted words.

    Values, casts, qualifiers and numbers of subplans are dropped, and the sides of a comparison are
    not ordered. `IS NOT NULL` is dropped too: versions since 17 omit it if the table implies it.
    """
    text = _INIT_PLAN.sub("", _WINDOW.sub("", _CAST.sub("", _STRING.sub("", text))))
    parts = (part for part in _parts(_without_tests(text)) if not part.endswith(" IS NOT NULL"))
    return tuple(sorted(filter(None, map(_words, parts))))


def keys(text: str) -> tuple[str, ...]:
    """Return the keys of a sort or a group as written, in order.

    Qualifiers, casts and numbers of subplans are dropped, and values are `?`.
    """
    text = _INIT_PLAN.sub("?", _CAST.sub("", _STRING.sub("?", text)))
    text = _OF_SUBPLAN.sub("SubPlan", _NUMBER.sub("?", text))
    text = re.sub(r"\$\d+", "?", _QUALIFIER.sub("", text))
    return tuple(_without_parentheses(part) for part in _split(text, ", "))


def columns(conjunct: str) -> list[str]:
    names = (word for word in conjunct.split(" ") if re.match(r'["\w]', word))
    return [name for name in dict.fromkeys(names) if name.upper() not in _KEYWORDS]


def _without_tests(text: str) -> str:
    """Reduce `ANY (id = (SubPlan 1).col1)`, as versions since 17 print it, to its subplan."""
    for found in reversed([*re.finditer(r"\b(?:ANY|ALL|EXISTS) ?\(", text)]):
        end = _closing(text, found.end() - 1)
        subplan = _OF_SUBPLAN.search(text, found.end(), end)
        if subplan is not None:
            text = f"{text[: found.start()]}SubPlan {subplan['number']}{text[end + 1 :]}"
    return _OF_SUBPLAN.sub("SubPlan", text)


def _parts(text: str) -> Iterator[str]:
    text = _without_parentheses(text)
    pieces = _split(text, " AND ")
    if len(pieces) == 1:
        yield text
        return
    for piece in pieces:
        yield from _parts(piece)


def _without_parentheses(text: str) -> str:
    text = text.strip()
    while text.startswith("(") and _closing(text, 0) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _split(text: str, separator: str) -> list[str]:
    """Split a text at the separators outside parentheses."""
    depth = start = 0
    pieces = []
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and text.startswith(separator, place):
            pieces.append(text[start:place])
            start = place + len(separator)
    return [*pieces, text[start:]]


def _closing(text: str, opening: int) -> int:
    """Return the index of the parenthesis that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    return len(text)


def _words(part: str) -> str:
    tokens = _TOKEN.findall(_NUMBER.sub("", part))
    words = (_MIRRORED.get(token, token.rpartition(".")[2]) for token in tokens)
    return " ".join(
        sorted(word for word in words if word and word not in _NOT_WORDS and word[0] != "$")
    )
