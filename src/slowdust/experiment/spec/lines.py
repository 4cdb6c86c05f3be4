"""The lines of an experiment file that its keys stand in.

No library that reads TOML says where a key was: `tomllib` and `tomlkit` have positions for mistakes
of syntax alone. But a file whose first lines are TOML by themselves has a key from the statement on
that sets it, so the shortest beginning that has the key ends with that statement.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Sequence

_ENDING = re.compile(r"(?:[\]}]|\"\"\"|\'\'\')\s*$")
"""The end of the last line of a statement over several."""
_LONGEST = 200
"""Lines of a list up to which its items have lines of their own, and of a statement up to which
its end is looked for behind a `#`, which most texts of so many lines have within."""
Path = Sequence[str | int]
"""The keys and indices that lead to a value: ('contenders', 1, 'name')."""


def line_of(text: str, path: Path) -> int | None:
    """Return the number of the line, from 1, of the value; None where the file has none of it.

    Of a list over several lines that is the item's own line; of a path that ends in nothing, the
    line of its last part that is there.
    """
    lines = text.splitlines()
    for length in range(len(path), 0, -1):
        if (line := _statement(lines, path[:length])) is not None:
            return line
    return None


def _statement(lines: Sequence[str], path: Path) -> int | None:
    statements = list(_statements(lines))

    def has(place: int) -> bool:
        return _has(_parsed("\n".join(lines[: statements[place][1]])), path)

    # A longer beginning has all keys of a shorter one.
    place = bisect_left(range(len(statements)), x=True, key=has)
    return None if place == len(statements) else _item(lines, *statements[place], path)


def _statements(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines of each statement, from the one behind the last to its own last one."""
    begun = 0
    for end in range(1, len(lines) + 1):
        commented = end - begun <= _LONGEST and "#" in lines[end - 1]
        may_end = end == begun + 1 or commented or _ENDING.search(lines[end - 1])
        if may_end and _parsed("\n".join(lines[begun:end])) is not None:
            yield begun, end
            begun = end


def _item(lines: Sequence[str], begun: int, end: int, path: Path) -> int:
    """Return the line of a value within the lines of the statement that sets it."""
    if end - begun > _LONGEST:
        return begun + 1
    for last in range(begun + 1, end):
        beginning = "\n".join(lines[:last]).rstrip().rstrip(",")
        for closed in (f"{beginning}\n]", f"{beginning}\n]]", f"{beginning}\n}}"):
            data = _parsed(closed)
            if data is not None and _has(data, path):
                return last
    # An item that no line before the end completes is on that line.
    return end if any(isinstance(part, int) for part in path) else begun + 1


def _parsed(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _has(data: object, path: Path) -> bool:
    for part in path:
        try:
            data = data[part]  # type: ignore[index] # what has no such index raises one of these
        except (KeyError, IndexError, TypeError):
            return False
    return True
