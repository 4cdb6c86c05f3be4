"""Access paths and operators in words."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.plans.normalise import Node

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


def article(words: str) -> str:
    """Return words with 'a' or 'an'."""
    is_vowel = words[:1] in _VOWELS and not words.startswith(("uni", "one"))
    return f"an {words}" if is_vowel else f"a {words}"


def is_scan(node: Node) -> bool:
    """Return whether a node reads a relation, or would if its server named one."""
    return bool(node.name) or node.operator.removeprefix("Parallel ") in _SCANS


def is_join(node: Node) -> bool:
    """Return whether a node joins two inputs."""
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
    """Return an access of SQLite in words."""
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

    The parts of an aggregate that workers compute and that is made of them are one.
    """
    words = node.operator.removeprefix("Finalize ").removeprefix("Partial ")
    return words.replace("USE TEMP B-TREE FOR", "temporary B-tree for")


def _in_small_letters(words: str) -> str:
    """Return 'hash aggregate' of 'HashAggregate'; words that are all capitals keep them."""
    spaced = "".join(
        f" {letter}" if letter.isupper() and before.islower() else letter
        for before, letter in zip(f" {words}", words, strict=False)
    )
    return " ".join(
        word if word.isupper() and len(word) > 1 else word.lower() for word in spaced.split()
    )


def few(names: Sequence[str]) -> str:
    """Return names, or the first of many and how many others there are."""
    if len(names) <= 3:
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{names[0]}, {names[1]} and {len(names) - 2} others"
