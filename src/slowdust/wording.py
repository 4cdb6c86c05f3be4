"""Phrases for sentences of reports: counts, lists and names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile

from slowdust.units import Second, format_duration

_MINUTES_FROM: Second = 100.0
_HOURS_FROM: Second = 2 * 3600.0
LONGEST_UNBROKEN = 22
"""The longest contender's name, in characters, for a sentence or the head of a column."""
MOST_LISTED = 6
"""The most names that one sentence lists."""
GROUP_TITLES = {
    "point": "Point queries",
    "range": "Range queries",
    "range with aggregation": "Range queries with aggregation",
    "write": "Writes",
    "connecting": "Connecting",
    "planning": "Planning",
    "index creation": "Index creation",
    "load and warm-up": "Load and warm-up",
    "before the writes": "Before the writes",
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
"""A sentence about archived runs of sysbench."""
_FULL_HASH = re.compile(r"\b[0-9a-f]{40}\b")
_HASH_DIGITS = 10
_AFTER_AT = re.compile(r"(?P<version>[^:+/ ]+)(?P<rest>.*)")
_MATRIX_NAME = re.compile(r"(?P<contender>\S.*?) (?P<points>[^\s=]+=\S*( [^\s=]+=\S*)*)")
"""A name such as 'mysql@9.7.4 fsync=off log_bin=on'; users' own names may have blanks too."""
_DIRECTORY = ("~", ".", "/")
"""Beginnings of contenders that are directories."""
_SEPARATOR = re.compile(r"([@/:+_ ])")


def foretold(seconds: Second, furthest: Second) -> str:
    """Write a time that is forecast up to `furthest`: '42s', 'more than 10m00s'."""
    if seconds < furthest:
        return format_duration(seconds)
    return f"more than {format_duration(furthest)}"


def resolution_phrase(difference: str, times: Sequence[tuple[str, Second, Second]]) -> str:
    """Write how long a difference takes: 'a difference of 2% takes 40s per test (A 9s to B 2m03s)'.

    `times` has test, time and the longest time that is forecast, from the shortest to the longest.
    The time per test is the median.
    """
    texts = [(test, foretold(seconds, furthest)) for test, seconds, furthest in times]
    ends = dict.fromkeys([" ".join(texts[0]), " ".join(texts[-1])])
    typical = texts[len(texts) // 2][1]
    return f"a difference of {difference} takes {typical} per test ({' to '.join(ends)})"


def rough_duration(seconds: Second) -> str:
    """Write a rough time: '40 seconds', '20 minutes', '3 hours'."""
    count, unit = _in_one_unit(seconds)
    return counted(count, unit)


def short_duration(seconds: Second) -> str:
    """Write the same as `rough_duration` as an option has it: '40s', '20m', '3h'."""
    count, unit = _in_one_unit(seconds)
    return f"{count}{unit[0]}"


def _in_one_unit(seconds: Second) -> tuple[int, str]:
    if seconds < _MINUTES_FROM:
        return _rounded(seconds), "second"
    if seconds < _HOURS_FROM:
        return _rounded(seconds / 60), "minute"
    return _rounded(seconds / 3600), "hour"


def _rounded(value: float) -> int:
    """Return a positive whole number: to a multiple of 5 from 20 on, of 10 from 100 on."""
    step = 10 if value >= 100 else 5 if value >= 20 else 1
    return max(1, step * round(value / step))


def group_title(group: str, tests: int) -> str:
    """Write the title of a group: 'Point queries (9 tests)'."""
    return f"{GROUP_TITLES.get(group, group)} ({counted(tests, 'test')})"


def counted(number: int, what: str) -> str:
    """Write a number with its noun: '1 test', '1,234 tests'."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def clients(count: int) -> str:
    """Write a number of clients: '1 client', '8 clients'."""
    return counted(count, "client")


def step_label(test: str, count: int, levels: Collection[int]) -> str:
    """Name a test, with 'at 8 clients' where the experiment has several numbers of clients."""
    return f"{test} at {clients(count)}" if len(levels) > 1 else test


def with_hold(hold: Second) -> str:
    """Write how long a transaction was held open concurrently; '' for 0."""
    return f" with a transaction held open for {hold:g} s" if hold else ""


def operation(unit: str) -> str:
    """Name what a rate counts: 'insert', 'indexed row', 'query', ..., else 'operation'."""
    return _OPERATIONS.get(unit, "operation")


def first_line(text: str) -> str:
    """Return the first line of a text, without its full stop."""
    return text.strip().partition("\n")[0].rstrip(".")


def cut(text: str, most: int) -> str:
    """Return the first `most` characters of a text for a message: 'SELECT a FROM...'."""
    return text if len(text) <= most else f"{text[:most]}..."


def listing(parts: Sequence[str], conjunction: str = "and") -> str:
    """Join the parts of a list: 'a', 'a and b', 'a, b and c'."""
    return f" {conjunction} ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def shortened(parts: Sequence[str]) -> str:
    """Join the parts of a list; a long one ends with 'and 3 more'."""
    if len(parts) <= MOST_LISTED:
        return listing(parts)
    return f"{', '.join(parts[:MOST_LISTED])} and {len(parts) - MOST_LISTED} more"


def number(count: int) -> str:
    """Write a count in a sentence: 'none' or digits."""
    return str(count) if count else "none"


def build_name(contender: str, dbms: str, version: str) -> str:
    """Name a contender for readers: 'mysql 5.7.22 (./x5)' if it was given as a directory."""
    if not contender.startswith(_DIRECTORY):
        return contender
    return f"{' '.join(filter(None, (dbms, version.removeprefix(f'{dbms} '))))} ({contender})"


def matrix_labels(contenders: Sequence[str]) -> dict[str, str] | None:
    """Return contender -> its point of a matrix; None where other parts of the names differ too."""
    crossed = {name: match for name in contenders if (match := _MATRIX_NAME.fullmatch(name))}
    same_contender = len({match["contender"] for match in crossed.values()}) == 1
    if not same_contender or len(contenders) < 2 or len(crossed) < len(contenders):
        return None
    return {name: match["points"] for name, match in crossed.items()}


def matrix_points(contenders: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return contender -> axis -> value, of contenders that are crossed with the same axes.

    'build' is an axis where several builds are crossed. Empty where one of them has no axes, or
    others.
    """
    crossed = {name: match for name in contenders if (match := _MATRIX_NAME.fullmatch(name))}
    if len(crossed) < len(contenders):
        return {}
    builds = short_names(list(dict.fromkeys(match["contender"] for match in crossed.values())))
    points = {}
    for name, match in crossed.items():
        axes = dict(part.split("=", 1) for part in match["points"].split())
        build = {"build": builds[match["contender"]]} if len(builds) > 1 else {}
        points[name] = {**build, **axes}
    alike = len({tuple(point) for point in points.values()}) == 1
    return points if alike else {}


def distinct_names(contenders: Sequence[str]) -> dict[str, str]:
    """Return contender -> its name without the beginning and the end that all names share."""
    return _differing_parts(contenders) or short_names(contenders)


def _differing_parts(contenders: Sequence[str]) -> dict[str, str] | None:
    """Return contender -> differing part of its name; None where one is empty or two are equal."""
    parts = [_SEPARATOR.split(name) for name in contenders]
    ahead = _common_beginning(parts)
    behind = _common_beginning([own[ahead:][::-1] for own in parts])
    short = ["".join(own[ahead : len(own) - behind]).strip(":+_/@ ") for own in parts]
    if not all(short) or len(set(short)) < len(short):
        return None
    return dict(zip(contenders, short, strict=True))


def _common_beginning(lists: Sequence[Sequence[str]]) -> int:
    """Return the number of items with which all lists begin alike."""
    columns = zip(*lists, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


def short_names(contenders: Sequence[str]) -> dict[str, str]:
    """Return contender -> its name without what all names have in common.

    That is the contender of a matrix, or the DBMS and the parts after the version; long names lose
    every common beginning and end. Full hashes of commits are shortened: 'git:1baced674c'.
    """
    names = [short_hashes(name) for name in contenders]
    if len(set(names)) < len(names):
        return _short_names(contenders)
    return dict(zip(contenders, _short_names(names).values(), strict=True))


def short_hashes(text: str) -> str:
    """Return a text with ten digits of each full hash of a commit."""
    return _FULL_HASH.sub(lambda hash_: hash_[0][:_HASH_DIGITS], text)


def _short_names(contenders: Sequence[str]) -> dict[str, str]:
    if (labels := matrix_labels(contenders)) is not None:
        return labels
    systems = {name.partition("@")[0] for name in contenders}
    if len(systems) > 1 or not all("@" in name for name in contenders):
        return {name: name for name in contenders}
    parts = {name: _AFTER_AT.match(name.partition("@")[2]) for name in contenders}
    versions = [match["version"] for match in parts.values() if match]
    alike = len({match["rest"] for match in parts.values() if match}) == 1
    if alike and len(set(versions)) == len(contenders):
        return dict(zip(contenders, versions, strict=True))
    without_system = {name: name.partition("@")[2] for name in contenders}
    if max(map(len, without_system.values())) <= LONGEST_UNBROKEN:
        return without_system
    return _differing_parts(contenders) or without_system


def amount(value: float) -> str:
    """Return an amount, whole from 100 up: '41,234', '57.3', '0'."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def signed_amount(value: float) -> str:
    """Return an amount with its sign: '+1,234', '-57.3'."""
    return f"{'+' if value > 0 else ''}{amount(value)}"


def share(part: float) -> str:
    """Return a fraction as a percentage: '41%', '0.3%', '-12%'."""
    return f"{part:.0%}" if abs(part) >= 0.01 else f"{part:.1%}"


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that is most similar to a misspelled word; None if none is similar."""
    exact = {choice.lower(): choice for choice in choices}
    close = difflib.get_close_matches(word.lower(), sorted(exact), n=1)
    return exact[close[0]] if close else None


def guess(word: str, choices: Iterable[str]) -> str:
    """Write the nearest choice as the end of a sentence: '; did you mean scan?'; '' without one."""
    close = nearest(word, choices)
    return f"; did you mean {close}?" if close else ""


def no_such(kind: str, word: str, choices: Collection[str]) -> str:
    """Write that a name is unknown, with the nearest choice: 'did you mean scan?'.

    If none is similar and there are only a few choices, all are listed.
    """
    close = nearest(word, choices)
    hint = f": did you mean {close}?" if close else ""
    if not close and len(choices) <= MOST_LISTED:
        hint = f": there are {listing(tuple(choices))}"
    return f"there is no {kind} '{word}'{hint}"
