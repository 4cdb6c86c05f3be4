"""Compare two plans of one statement: differences in words, and the lines that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from slowdust.analysis.model import PlanDifference
from slowdust.analysis.plans.normalise import Node, columns, normalise
from slowdust.formats.plans import PlanNode, parse_plan
from slowdust.store.manifest import Plan
from slowdust.wording import counted

_Key = tuple[object, ...]


@dataclass(frozen=True)
class PlanComparison:
    """The differences between two plans; empty if they execute the statement in the same way."""

    differences: tuple[str, ...]
    """The differences in words, at most a few, the most important first."""
    base: Sequence[int]
    """Indices, from 0, of the differing lines of the base's plan; the next field is the other's."""
    other: Sequence[int]

    @property
    def is_same(self) -> bool:
        return not self.differences


def compare_plans(base: PlanNode, other: PlanNode) -> PlanComparison:
    """Return the differences between the plans of one statement on two servers of a DBMS.

    Differences in aliases, values, costs, estimates, numbers of subplans, nodes that only pass rows
    through, and names that changed between versions are ignored.
    """
    ours, theirs = normalise(base, other)
    if ours == theirs:
        return PlanComparison((), (), ())
    differing = _differing(ours, theirs)
    words = differences_in_words(ours, theirs)
    return PlanComparison(words, _lines(base, differing[0]), _lines(other, differing[1]))


def render_plan(plan: PlanNode) -> str:
    """Return a plan as printed by its server, without costs."""
    return "\n".join(line for node in plan.walk() for line in node.lines)


def _lines(plan: PlanNode, differing: Sequence[PlanNode]) -> list[int]:
    marked = set(map(_first_line, differing))
    node_of_line = [node for node in plan.walk() for _ in node.lines]
    return [place for place, node in enumerate(node_of_line) if _first_line(node) in marked]


def _first_line(node: PlanNode) -> tuple[int, tuple[str, ...]]:
    return id(node.lines), node.lines


def _differing(base: Node, other: Node) -> tuple[list[PlanNode], list[PlanNode]]:
    for key in (_own_key, _key_with_place):
        ours, theirs = _by_key(base, key), _by_key(other, key)
        only_in_one = _only_in_first(ours, theirs), _only_in_first(theirs, ours)
        if any(only_in_one):
            return only_in_one
    return [], []


def _by_key(plan: Node, key: Callable[[Node, Node | None], _Key]) -> list[tuple[_Key, PlanNode]]:
    def below(node: Node, above: Node | None) -> Iterator[tuple[_Key, PlanNode]]:
        yield key(node, above), node.origin
        for child in node.children:
            yield from below(child, node)

    return [*below(plan, None)]


def _own_key(node: Node, _above: Node | None) -> _Key:
    own = (node.operator, node.name, node.index, node.join, node.role, node.conditions)
    return (*own, node.remarks, node.workers, tuple(relations(node)))


def _key_with_place(node: Node, above: Node | None) -> _Key:
    return (*_own_key(node, above), above and (above.operator, above.name))


def _only_in_first(
    nodes: Sequence[tuple[_Key, PlanNode]], others: Sequence[tuple[_Key, PlanNode]]
) -> list[PlanNode]:
    left = Counter(key for key, _ in others)
    found = []
    for key, node in nodes:
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(node)
    return found


def plan_differences(
    plans: Sequence[Plan], dbms: Mapping[str, str], base: str
) -> list[PlanDifference]:
    """Return the statements, in order, whose plan differs between contenders of a DBMS.

    `dbms` is contender -> DBMS: plans of different DBMS are not comparable. Contenders of another
    DBMS than the base's are compared with the first contender of their DBMS.
    """
    differences = []
    for (test, statement, kind), texts in _by_statement(plans, dbms).items():
        first = base if base in texts else next(iter(texts))
        trees = {name: parse_plan(text, kind) for name, text in texts.items()}
        compared = {
            name: compare_plans(trees[first], tree) for name, tree in trees.items() if name != first
        }
        if not all(comparison.is_same for comparison in compared.values()):
            differences.append(_difference(test, statement, first, trees, compared))
    return differences


def same_plans(
    plans: Sequence[Plan],
    dbms: Mapping[str, str],
    base: str,
    differences: Sequence[PlanDifference],
) -> dict[str, list[str]]:
    """Return test -> contenders that execute all its statements as the base does.

    Only contenders whose plans were read are included.
    """
    read: dict[str, dict[str, set[str]]] = {}
    for plan in plans:
        if plan.plan and dbms.get(plan.contender) == dbms.get(base):
            by_contender = read.setdefault(plan.test, {})
            by_contender.setdefault(plan.contender, set()).add(plan.statement)
    differing = {
        (each.test, name) for each in differences if each.base == base for name in each.differences
    }
    found = {
        test: [
            name
            for name, statements in by_contender.items()
            if name != base
            and statements == by_contender.get(base)
            and (test, name) not in differing
        ]
        for test, by_contender in read.items()
    }
    return {test: names for test, names in found.items() if names}


def _by_statement(
    plans: Sequence[Plan], dbms: Mapping[str, str]
) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return (test, statement, DBMS) -> contender -> its plan, in the order of `dbms`."""
    by_statement: dict[tuple[str, str, str], dict[str, str]] = {}
    for plan in plans:
        if plan.contender not in dbms or not plan.plan:
            continue  # an unknown contender, or work without a plan
        statement = (plan.test, plan.statement, dbms[plan.contender])
        by_statement.setdefault(statement, {})[plan.contender] = plan.plan
    return {
        statement: {name: texts[name] for name in dbms if name in texts}
        for statement, texts in by_statement.items()
    }


def _difference(
    test: str,
    statement: str,
    base: str,
    trees: Mapping[str, PlanNode],
    compared: Mapping[str, PlanComparison],
) -> PlanDifference:
    marked = {name: list(comparison.other) for name, comparison in compared.items()}
    marked[base] = sorted({place for each in compared.values() for place in each.base})
    return PlanDifference(
        test=test,
        statement=statement,
        base=base,
        plans={name: render_plan(tree) for name, tree in trees.items()},
        differences={
            name: list(comparison.differences)
            for name, comparison in compared.items()
            if not comparison.is_same
        },
        differing_lines={name: marked[name] for name in trees if marked[name]},
    )


_MOST = 4
"""Maximum number of differences that are reported; with more, a reader has to look at the plans."""
_GATHERS = ("Gather", "Gather Merge")
_CHANGING = ("Insert", "Update", "Delete", "Merge")
_PART_OF_OTHERS = (
    *("Hash", "Bitmap Index Scan", "BitmapAnd", "BitmapOr", "JIT", "Append", "FETCH"),
    *_GATHERS,
)
"""Operators that are reported as part of others: hash joins, bitmap scans, workers."""
_FAMILIES = ("Aggregate", "Sort", "SetOp")
_KEYS = ("Key", "By", "Keys")
DIFFERENT_NESTING = "the operators are nested differently"
_PLACES = {
    "Index Cond": "index condition",
    "Filter": "filter",
    "Join Filter": "filter of the join",
    "Join Cond": "condition of the join",
    "One-Time Filter": "one-time filter",
}
_ROW_BY_ROW = "row-by-row join"
_ALWAYS_REPORTED = ("Using filesort", "Using temporary")
"""Remarks of MySQL that do not follow from the access to a table."""
_IN_ACCESS = ("Recheck Cond", "constraints", "key parts")
_JOINS = ("Nested Loop", "Hash Join", "Merge Join")
_SCANS = {
    "Seq Scan": "sequential scan",
    "Index Scan": "index scan on {index}",
    "Index Only Scan": "index-only scan on {index}",
    "Bitmap Heap Scan": "bitmap scan on {index}",
    "Tid Scan": "scan by row address",
    "ALL": "full scan (ALL)",
    "index": "full index scan on {index}",
    "index_merge": "index merge of {index}",
    "COLLSCAN": "full scan (COLLSCAN)",
    "IXSCAN": "index scan on {index}",
}
_VOWELS = "aeiouAEIOU"


def differences_in_words(base: Node, other: Node) -> tuple[str, ...]:
    """Return the differences between two plans that are not the same, the most important first."""
    words = list(dict.fromkeys(chain.from_iterable(find(base, other) for find in _DIFFERENCES)))
    if not words:
        words = [*_conditions(base, other), *_keys(base, other)] or [DIFFERENT_NESTING]
    if len(words) > _MOST:
        words = [*words[: _MOST - 1], f"{len(words) - _MOST + 1} other differences"]
    return tuple(words)


def relations(node: Node) -> list[str]:
    return [each.name for each in node.walk() if each.name and each.operator not in _CHANGING]


def _scans(plan: Node) -> dict[str, list[Node]]:
    """Return relation -> the nodes that read it."""
    scans: dict[str, list[Node]] = {}
    for node in plan.walk():
        if is_scan(node) and node.operator not in (*_CHANGING, "BLOOM FILTER"):
            scans.setdefault(node.name, []).append(node)
    return scans


def _only_in_one(nodes: Sequence[Node], others: Sequence[Node]) -> tuple[str, str]:
    ours, theirs = (Counter(map(access, each)) for each in (nodes, others))
    return " and ".join(ours - theirs), " and ".join(theirs - ours)


def _access(nodes: Sequence[Node]) -> str:
    return " and ".join(dict.fromkeys(map(access, nodes)))


def _labelled(name: str, sentence: str) -> str:
    return f"{name}: {sentence}" if name else sentence


def _accesses(base: Node, other: Node) -> Iterator[str]:
    ours, theirs = _scans(base), _scans(other)
    changes: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name in ours:
        before, after = _only_in_one(ours[name], theirs.get(name, ()))
        if (not before and not after) or name not in theirs:
            continue
        if not before or not after:
            sentence = f"the {before or after} {'is gone' if before else 'was added'}"
            changes.setdefault((name, ""), []).append((name, sentence))
            continue
        kinds = ours[name][0].operator, theirs[name][0].operator
        was, now = _joined_by(ours[name], theirs[name])
        sentence = f"{before}{was and f' {was}'} became {article(after)}{now and f', {now}'}"
        changes.setdefault(kinds, []).append((name, sentence))
    for group in changes.values():
        (name, sentence), *others = group
        if len(others) < 2:
            yield from (_labelled(*each) for each in group)
        else:
            yield f"{_labelled(name, sentence)} (and the same for {len(others)} others)"
    for absent, present, how in ((theirs, ours, "is gone"), (ours, theirs, "was added")):
        alone = [name for name in present if name not in absent]
        if len(alone) == 1:
            (name,) = alone
            yield _labelled(name, f"the {_access(present[name])} {how}")
        elif alone:
            verb = "are gone" if how == "is gone" else "were added"
            yield f"the accesses to {few(alone)} {verb}"


def _joined_by(before: Sequence[Node], after: Sequence[Node]) -> tuple[str, str]:
    joins = before[0].join, after[0].join
    if joins[0] == joins[1] or is_join(before[0]) or is_join(after[0]):
        return "", ""
    was, now = (join and f"joined by a {join}" for join in joins)
    return was, now


def _join_buffers(base: Node, other: Node) -> Iterator[str]:
    """Yield the tables of MySQL whose access is the same and whose join algorithm changed."""
    ours, theirs = _scans(base), _scans(other)
    for name, nodes in ours.items():
        others = theirs.get(name)
        if others is None or is_join(nodes[0]) or nodes[0].join == others[0].join:
            continue
        if _access(nodes) == _access(others):
            before = nodes[0].join or _ROW_BY_ROW
            yield f"{name}: the {before} became a {others[0].join or _ROW_BY_ROW}"


def _joins(base: Node, other: Node) -> Iterator[str]:
    """Yield changes of join algorithms, and of the join order."""
    ours, theirs = _joined(base), _joined(other)
    for names in ours:
        if names not in theirs:
            continue
        before, after = join(ours[names]), join(theirs[names])
        if before != after:
            pair = few(relations(ours[names]))
            yield f"{pair}: the {before} became {article(after)}"
    before_order, after_order = (list(dict.fromkeys(relations(plan))) for plan in (base, other))
    if before_order != after_order and set(before_order) == set(after_order):
        yield _changed("join order", before_order, after_order)


def _joined(plan: Node) -> dict[frozenset[str], Node]:
    """Return the relations of each join -> the join."""
    return {frozenset(relations(node)): node for node in plan.walk() if is_join(node)}


def _subplans(base: Node, other: Node) -> Iterator[str]:
    """Yield the subplans that are hashed on one server and run for each row on the other."""
    kinds = {"SubPlan": "subplan run for each row", "hashed SubPlan": "hashed subplan"}
    ours, theirs = _roles(base, kinds), _roles(other, kinds)
    for names in ours:
        if ours[names] != theirs.get(names, ours[names]):
            before, after = kinds[ours[names]], kinds[theirs[names]]
            yield _labelled(few(names) if names else "", f"the {before} became {article(after)}")


def _roles(plan: Node, kinds: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    return {tuple(relations(node)): node.role for node in plan.walk() if node.role in kinds}


def _parallel(base: Node, other: Node) -> Iterator[str]:
    before, after = _workers(base), _workers(other)
    if before == after:
        return
    if not before or not after:
        number = before or after
        yield _gone_or_added(counted(number, "parallel worker"), number, before)
    else:
        yield f"{counted(after, 'parallel worker')} instead of {before}"


def _workers(plan: Node) -> int:
    gathers = [node for node in plan.walk() if node.operator in _GATHERS]
    return sum(node.workers for node in gathers) or len(gathers)


def _operators(base: Node, other: Node) -> Iterator[str]:
    ours, theirs = _other_operators(base), _other_operators(other)
    gone, added = [*(ours - theirs).elements()], [*(theirs - ours).elements()]
    for family in _FAMILIES:
        for before in [each for each in gone if each.endswith(family)]:
            after = next((each for each in added if each.endswith(family)), None)
            if after is not None:
                gone.remove(before)
                added.remove(after)
                yield f"{after} replaced {before}"
    # Operators are walked from the outermost to the innermost: rows pass them the other way round.
    gone, added = ([*dict.fromkeys(reversed(each))] for each in (gone, added))
    if gone and added:
        yield f"{few(added)} replaced {few(gone)}"
    elif gone or added:
        operators = gone or added
        yield _gone_or_added(few(operators), len(operators), len(gone))


def _gone_or_added(what: str, number: int, gone: int) -> str:
    if gone:
        return f"{what} {'is' if number == 1 else 'are'} gone"
    return f"{what} {'was' if number == 1 else 'were'} added"


def _changed(what: str, before: Sequence[str], after: Sequence[str]) -> str:
    return f"the {what} changed from {', '.join(before)} to {', '.join(after)}"


def _other_operators(plan: Node) -> Counter[str]:
    scans = set(map(id, chain.from_iterable(_scans(plan).values())))
    return Counter(
        operator(node)
        for node in plan.walk()
        if node.operator and id(node) not in scans and not is_join(node)
        if node.operator.removeprefix("Parallel ") not in _PART_OF_OTHERS
        if not node.operator.startswith("Partial ")
    )


def _remarks(base: Node, other: Node) -> Iterator[str]:
    """Yield changes in a server's remarks on tables."""
    ours, theirs = _scans(base), _scans(other)
    for name, nodes in ours.items():
        others = theirs.get(name)
        if others is None:
            continue
        is_alike = _access(nodes) == _access(others)
        before, after = _remarks_of(nodes), _remarks_of(others)
        parts = [*_key_parts(nodes)], [*_key_parts(others)]
        if parts[0] and parts[1] and parts[0] != parts[1] and is_alike:
            was, now = parts[0][0], parts[1][0]
            noun = "key part" if now == "1" else "key parts"
            yield _labelled(name, f"{_access(nodes)} by {now} {noun} instead of {was}")
        for was, now in zip(_partitions(nodes), _partitions(others), strict=False):
            if was != now:
                yield _labelled(name, f"{now} partitions instead of {was}")
        added, gone = (
            [
                each
                for each in remarks
                if each not in rest and (is_alike or each in _ALWAYS_REPORTED)
            ]
            for remarks, rest in ((after, before), (before, after))
        )
        if len(added) == len(gone) == 1:
            yield _labelled(name, f"'{gone[0]}' became '{added[0]}'")
            added, gone = [], []
        yield from (_labelled(name, f"'{each}' was added") for each in added)
        yield from (_labelled(name, f"'{each}' is gone") for each in gone)
        for node, match in zip(nodes, others, strict=False):
            if node.role != match.role and "SubPlan" not in node.role + match.role:
                was, now = node.role or "main query", match.role or "main query"
                yield _labelled(name, f"{now} instead of {was}")


def _remarks_of(nodes: Sequence[Node]) -> list[str]:
    """Return the remarks, except numbers of partitions and words that describe an access."""
    remarks = (each for node in nodes for each in node.remarks)
    return [each for each in remarks if each[1:2].islower() and ": " not in each]


def _partitions(nodes: Sequence[Node]) -> Iterator[str]:
    remarks = (each for node in nodes for each in node.remarks)
    return (each.partition(": ")[2] for each in remarks if each.startswith("partitions: "))


def _key_parts(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        yield from (parts[0] for place, parts in node.conditions if place == "key parts")


def _conditions_of_same(base: Node, other: Node) -> Iterator[str]:
    """Yield the conditions that moved, or exist only on one server.

    If the access to a relation changed, its conditions follow from that and are skipped.
    """
    ours, theirs = _scans(base), _scans(other)
    changed = {
        name
        for name in {*ours, *theirs}
        if _access(ours.get(name, ())) != _access(theirs.get(name, ()))
    }
    if not changed and {*_joined(base)} == {*_joined(other)}:
        yield from _conditions(base, other)


def _conditions(base: Node, other: Node) -> Iterator[str]:
    ours, theirs = _places(base), _places(other)
    for conjunct in dict.fromkeys([*ours, *theirs]):
        before, after = ours.get(conjunct, Counter()), theirs.get(conjunct, Counter())
        was, now = next(iter(before - after), None), next(iter(after - before), None)
        names = ", ".join(columns(conjunct)) or "values"
        if was and now:
            owner = f" on {now[0]}" if was[0] != now[0] and now[0] else ""
            yield _labelled(
                was[0],
                f"the condition on {names} moved from the {_place(was[1])} "
                f"to the {_place(now[1])}{owner}",
            )
        elif was:
            yield _labelled(was[0], f"the {_place(was[1])} on {names} is gone")
        elif now:
            yield _labelled(now[0], f"{article(_place(now[1]))} on {names} was added")


def _place(placement: str) -> str:
    return _PLACES.get(placement, placement.lower())


def _places(plan: Node) -> dict[str, Counter[tuple[str, str]]]:
    """Return condition -> (relation, placement) -> number of occurrences."""
    places: dict[str, Counter[tuple[str, str]]] = {}
    for node in plan.walk():
        for placement, parts in node.conditions:
            if placement in _IN_ACCESS or placement.endswith(_KEYS):
                continue
            place = "Join Cond" if placement in ("Hash Cond", "Merge Cond") else placement
            for conjunct in parts:
                places.setdefault(conjunct, Counter())[node.name, place] += 1
    return places


def _keys(base: Node, other: Node) -> Iterator[str]:
    ours, theirs = _keys_of(base), _keys_of(other)
    for placement in ours:
        if ours[placement] != theirs.get(placement, ours[placement]):
            yield _changed(placement.lower(), ours[placement], theirs[placement])


def _keys_of(plan: Node) -> dict[str, list[str]]:
    """Return placement -> its keys."""
    keys: dict[str, list[str]] = {}
    for node in plan.walk():
        for placement, parts in node.conditions:
            if placement.endswith(_KEYS):
                keys.setdefault(placement, []).extend(parts)
    return keys


def _jit(base: Node, other: Node) -> Iterator[str]:
    before, after = _options(base), _options(other)
    if before == after:
        return
    if before is None or after is None:
        yield f"JIT compilation {'is gone' if after is None else 'was added'}"
    else:
        was, now = (", ".join(options) or "none" for options in (before, after))
        yield f"options of JIT compilation: {now} instead of {was}"


def _options(plan: Node) -> tuple[str, ...] | None:
    return next((node.remarks for node in plan.walk() if node.operator == "JIT"), None)


_DIFFERENCES: tuple[Callable[[Node, Node], Iterator[str]], ...] = (
    _accesses,
    _join_buffers,
    _subplans,
    _joins,
    _parallel,
    _operators,
    _remarks,
    _conditions_of_same,
    _jit,
)
"""Functions that yield kinds of differences, in order of importance."""


def article(words: str) -> str:
    """Return words with 'a' or 'an'."""
    is_vowel = words[:1] in _VOWELS and not words.startswith(("uni", "one"))
    return f"an {words}" if is_vowel else f"a {words}"


def is_scan(node: Node) -> bool:
    """Return whether a node reads a relation, even if its server does not name it."""
    return bool(node.name) or node.operator.removeprefix("Parallel ") in _SCANS


def is_join(node: Node) -> bool:
    return node.operator.removeprefix("Parallel ") in _JOINS


def access(node: Node) -> str:
    """Return how a node reads its relation: 'index scan on orders_date'."""
    kind = node.operator.removeprefix("Parallel ")
    backward = kind.endswith(" Backward")
    kind = kind.removesuffix(" Backward")
    if kind in ("SCAN", "SEARCH"):
        return _step(node)
    index = node.index or " and ".join(_bitmaps(node))
    words = _SCANS.get(kind)
    if kind == "index_merge":
        index = few(index.split(","))
    if words is None:
        is_type = kind[:1].islower()  # of MySQL: range, ref, const
        words = f"{kind} access" if is_type else _in_small_letters(kind)
        words += " on {index}"
    words = words.format(index=index) if index else words.partition(" on {")[0]
    words = words.replace("<made>", "a generated key")
    parallel = "parallel " if node.operator.startswith("Parallel ") else ""
    return f"{parallel}{'backward ' if backward else ''}{words}"


def _bitmaps(node: Node) -> list[str]:
    return [each.index for child in node.children for each in child.walk() if each.index]


def _step(node: Node) -> str:
    kinds = [word.lower() for word in node.remarks if word in ("AUTOMATIC", "PARTIAL", "COVERING")]
    columns = next((parts[0] for place, parts in node.conditions if place == "constraints"), "")
    columns = f" ({columns})" if columns else ""
    searched = "search" if node.operator == "SEARCH" else "scan"
    if node.index.endswith("PRIMARY KEY"):
        return f"{searched} by the primary key{columns}"
    if not node.index and not kinds:
        virtual = [word for word in node.remarks if word.startswith("VIRTUAL")]
        return f"{searched} of a virtual table" if virtual else f"full {searched}"
    if not node.index:
        kinds.sort(key="automatic".__ne__)
        return f"{searched} by an {' '.join(kinds)} index{columns}"
    kind = f"{' '.join(kinds)} index " if kinds else ""
    return (
        f"{searched} by the {kind}{node.index}{columns}"
        if kind
        else (f"{searched} by {node.index}{columns}")
    )


def join(node: Node) -> str:
    """Return a join in words: 'hash join', 'left hash join'."""
    kind = f"{node.join.lower()} " if node.join else ""
    return kind + _in_small_letters(node.operator)


def operator(node: Node) -> str:
    """Return an operator that neither reads a relation nor joins, in the server's words.

    Partial and final aggregates of parallel plans are one operator.
    """
    words = node.operator.removeprefix("Finalize ").removeprefix("Partial ")
    return words.replace("USE TEMP B-TREE FOR", "temporary B-tree for")


def _in_small_letters(words: str) -> str:
    """Return 'hash aggregate' for 'HashAggregate'; words in all capitals stay."""
    spaced = "".join(
        f" {letter}" if letter.isupper() and before.islower() else letter
        for before, letter in zip(f" {words}", words, strict=False)
    )
    return " ".join(
        word if word.isupper() and len(word) > 1 else word.lower() for word in spaced.split()
    )


def few(names: Sequence[str]) -> str:
    """Return up to three names, or the first two and the number of others."""
    if len(names) <= 3:
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{names[0]}, {names[1]} and {len(names) - 2} others"
