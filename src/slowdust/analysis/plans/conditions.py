"""Conditions of plans without what versions, aliases and values change in their text."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    """Return what a condition asks for, sorted: each part that AND joins as its sorted words.

    Values, casts, qualifiers and the numbers of subplans are left out, the sides of a comparison
    have no order, and versions from 17 on leave out that a column is not null where its table
    says so.
    """
    text = _INIT_PLAN.sub("", _WINDOW.sub("", _CAST.sub("", _STRING.sub("", text))))
    parts = (part for part in _parts(_without_tests(text)) if not part.endswith(" IS NOT NULL"))
    return tuple(sorted(filter(None, map(_words, parts))))


def keys(text: str) -> tuple[str, ...]:
    """Return the keys of a sort or a group as they are written, in their order.

    Qualifiers, casts and the numbers of subplans are left out, and values are `?`.
    """
    text = _INIT_PLAN.sub("?", _CAST.sub("", _STRING.sub("?", text)))
    text = _OF_SUBPLAN.sub("SubPlan", _NUMBER.sub("?", text))
    text = re.sub(r"\$\d+", "?", _QUALIFIER.sub("", text))
    return tuple(_without_parentheses(part) for part in _split(text, ", "))


def columns(conjunct: str) -> list[str]:
    names = (word for word in conjunct.split(" ") if re.match(r'["\w]', word))
    return [name for name in dict.fromkeys(names) if name.upper() not in _KEYWORDS]


def _without_tests(text: str) -> str:
    """Leave the subplan of what versions from 17 on print as `ANY (id = (SubPlan 1).col1)`."""
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
    """Split a text at the separators that stand in no parentheses."""
    depth = start = 0
    pieces = []
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and text.startswith(separator, place):
            pieces.append(text[start:place])
            start = place + len(separator)
    return [*pieces, text[start:]]


def _closing(text: str, opening: int) -> int:
    """Return the place of the parenthesis that closes the one at `opening`."""
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
