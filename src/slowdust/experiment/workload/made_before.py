"""The tables that a workload's statements make before its own tables are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from sqlglot import Token

from slowdust.experiment.workload.sql import check_single

_OF_KIND = {"OR", "REPLACE", "UNLOGGED"}
_BEFORE_NAMES = {"IF", "NOT", "EXISTS", "ONLY"}


def tables_made(before: Sequence[str], dialect: str) -> list[str]:
    """Return the names, as written, of the tables that statements make and do not drop again.

    Temporary, virtual and foreign tables are left out: they cannot be maintained.
    """
    made: dict[str, None] = {}
    for text in before:
        tokens = check_single(text, dialect)
        words = [token.text.upper() for token in tokens]
        if "TABLE" not in words:
            continue
        at = words.index("TABLE")
        verb, between = words[0], set(words[1:at])
        place = at + 1 + len(list(takewhile(_BEFORE_NAMES.__contains__, words[at + 1 :])))
        if verb == "CREATE" and between <= _OF_KIND and place < len(tokens):
            made[_name(text, tokens, place)] = None
        elif verb == "DROP" and not between:
            for name in _names(text, tokens, place):
                made.pop(name, None)
        elif verb == "ALTER" and not between and "RENAME" in words:
            _rename(made, text, tokens, place)
    return list(made)


def _rename(made: dict[str, None], text: str, tokens: Sequence[Token], place: int) -> None:
    """Follow ALTER TABLE name RENAME TO other."""
    name = _name(text, tokens, place)
    rest = [token.text.upper() for token in tokens[_end(tokens, place) : -1]]
    if name in made and rest == ["RENAME", "TO"]:
        del made[name]
        made[_name(text, tokens, len(tokens) - 1)] = None


def _names(text: str, tokens: Sequence[Token], place: int) -> list[str]:
    """Return the names of a list that begins at a place."""
    names = []
    while place < len(tokens):
        names.append(_name(text, tokens, place))
        place = _end(tokens, place)
        if place == len(tokens) or tokens[place].text != ",":
            break
        place += 1
    return names


def _name(text: str, tokens: Sequence[Token], place: int) -> str:
    """Return the name that begins at a place: `items`, `"Items"`, `public.items`."""
    if place >= len(tokens):
        return ""
    return text[tokens[place].start : tokens[_end(tokens, place) - 1].end + 1]


def _end(tokens: Sequence[Token], place: int) -> int:
    """Return the place behind a name."""
    while place + 2 < len(tokens) and tokens[place + 1].text == ".":
        place += 2
    return place + 1
