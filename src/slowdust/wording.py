"""Small pieces of sentences: ratios, lists and names, as a report says them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import takewhile

_MOST_PERCENT = 99.5
"""Percentages end at 99%: a change that would be printed as 100% or more is told as a multiple."""
_HUNDRED = 99.95
"""Multiples that are printed as 100 or more have no decimals."""
LONGEST_UNBROKEN = 22
"""Characters of a contender's name that a sentence, or the head of a column, holds."""
MOST_LISTED = 6
"""Names that one sentence lists."""
GROUP_TITLES = {
    "point": "Point queries",
    "range": "Range queries",
    "range with aggregation": "Range queries with aggregation",
    "write": "Writes",
    "index creation": "Index creation",
    "load and warm-up": "Load and warm-up",
}
_OPERATIONS = {
    "inserts/s": "insert",
    "indexed rows/s": "indexed row",
    "range queries/s": "query",
    "point queries/s": "query",
    "queries/s": "query",
    "thousand rows/s": "thousand rows",
    "thousand rows/s of one thread": "thousand rows",
}
TRANSACTION_RATES = (
    "Response times are of transactions, rates of queries: read-only, read-write and write-only "
    "tests have many queries in a transaction."
)
"""Of archived runs of sysbench."""
_AFTER_AT = re.compile(r"(?P<version>[^:+/ ]+)(?P<rest>.*)")
_OF_MATRIX = re.compile(r"(?P<contender>\S.*?) (?P<points>[^\s=]+=\S*( [^\s=]+=\S*)*)")
"""'mysql@9.7.4 fsync=off log_bin=on'. A name of the user's own may have blanks too."""
_BETWEEN_PARTS = re.compile(r"([@/:+_ ])")


def change(ratio: float) -> str:
    """A ratio as its change: 'up 30%', 'down 4%', 'flat'; beyond 99% its multiple, '2.1X'."""
    if multiple := _multiple(ratio):
        return multiple
    percent = round(_percent(ratio))
    if percent == 0:
        return "flat"
    return f"{'up' if ratio > 1 else 'down'} {percent}%"


def speed(rqps: float) -> str:
    """Relative throughput in words: '7% slower', '12% faster', '2.1X as fast'."""
    if multiple := _multiple(rqps):
        return f"{multiple} as fast"
    return f"{distance(rqps)} {'faster' if rqps > 1 else 'slower'}"


def distance(rqps: float) -> str:
    """How far relative throughput is from 1: '7%', '0.4%', '2.1X'."""
    if multiple := _multiple(rqps):
        return multiple
    percent = _percent(rqps)
    return f"{percent:.0f}%" if percent >= 1 else f"{percent:.1f}%"


def throughput(ratio: float) -> str:
    """A ratio before the version it is to: '20% less throughput than', '2.1X the throughput of'."""
    if multiple := _multiple(ratio):
        return f"{multiple} the throughput of"
    return f"{distance(ratio)} {'more' if ratio > 1 else 'less'} throughput than"


def _multiple(ratio: float) -> str | None:
    """'2.1X', '0.004X'; None where a percentage says it."""
    if _percent(ratio) < _MOST_PERCENT:
        return None
    if ratio > 1:
        return f"{ratio:,.0f}X" if ratio >= _HUNDRED else f"{ratio:.1f}X"
    return f"{ratio:.1g}X"


def _percent(ratio: float) -> float:
    """How far it is from 1."""
    return abs(ratio - 1) * 100


def group_title(group: str, tests: int) -> str:
    """'Point queries (9 tests)'."""
    return f"{GROUP_TITLES.get(group, group)} ({counted(tests, 'test')})"


def counted(number: int, what: str) -> str:
    """'1 test', '1,234 tests'."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def clients(count: int) -> str:
    """'1 client', '8 clients'."""
    return counted(count, "client")


def step_label(test: str, count: int, levels: Collection[int]) -> str:
    """A test, 'at 8 clients' where the experiment has several numbers of clients."""
    return f"{test} at {clients(count)}" if len(levels) > 1 else test


def operation(unit: str) -> str:
    """One of what a rate counts: 'insert', 'indexed row', 'query', ..., else 'operation'."""
    return _OPERATIONS.get(unit, "operation")


def first_line(text: str) -> str:
    """Of several lines, as the end of a sentence."""
    return text.strip().partition("\n")[0].rstrip(".")


def listing(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def shortened(parts: Sequence[str]) -> str:
    """A listing that ends with 'and 3 more' where it would be long."""
    if len(parts) <= MOST_LISTED:
        return listing(parts)
    return f"{', '.join(parts[:MOST_LISTED])} and {len(parts) - MOST_LISTED} more"


def number(count: int) -> str:
    """A count in a sentence: 'none' or digits."""
    return str(count) if count else "none"


def matrix_labels(contenders: Sequence[str]) -> dict[str, str] | None:
    """Contender -> what a matrix varies of it; None unless a matrix alone tells them apart."""
    crossed = {name: found for name in contenders if (found := _OF_MATRIX.fullmatch(name))}
    one_contender = len({found["contender"] for found in crossed.values()}) == 1
    if not one_contender or len(contenders) < 2 or len(crossed) < len(contenders):
        return None
    return {name: found["points"] for name, found in crossed.items()}


def distinct_names(contenders: Sequence[str]) -> dict[str, str]:
    """Contender -> the parts of its name between those that all begin and end with."""
    return _unlike_parts(contenders) or short_names(contenders)


def _unlike_parts(contenders: Sequence[str]) -> dict[str, str] | None:
    """The same; None where that leaves them nothing, or does not tell them apart."""
    parts = [_BETWEEN_PARTS.split(name) for name in contenders]
    ahead = _alike_at_first(parts)
    behind = _alike_at_first([own[ahead:][::-1] for own in parts])
    short = ["".join(own[ahead : len(own) - behind]).strip(":+_/@ ") for own in parts]
    if not all(short) or len(set(short)) < len(short):
        return None
    return dict(zip(contenders, short, strict=True))


def _alike_at_first(lists: Sequence[Sequence[str]]) -> int:
    """How many items all lists begin with in common."""
    columns = zip(*lists, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


def short_names(contenders: Sequence[str]) -> dict[str, str]:
    """Contender -> its name without what all have in common.

    That is the contender of a matrix, or the DBMS, and what stands behind the version; of long
    names all that they begin and end with alike.
    """
    if (labels := matrix_labels(contenders)) is not None:
        return labels
    systems = {name.partition("@")[0] for name in contenders}
    if len(systems) > 1 or not all("@" in name for name in contenders):
        return {name: name for name in contenders}
    parts = {name: _AFTER_AT.match(name.partition("@")[2]) for name in contenders}
    versions = [found["version"] for found in parts.values() if found]
    alike = len({found["rest"] for found in parts.values() if found}) == 1
    if alike and len(set(versions)) == len(contenders):
        return dict(zip(contenders, versions, strict=True))
    without_system = {name: name.partition("@")[2] for name in contenders}
    if max(map(len, without_system.values())) <= LONGEST_UNBROKEN:
        return without_system
    return _unlike_parts(contenders) or without_system
