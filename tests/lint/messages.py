"""Print all sentences of `src/slowdust` that a user may see, by file, one per line.

`python -m tests.lint.messages` lists the strings of Python with at least three words, except for
docstrings, assertions, SQL and patterns, and the texts of the shipped tables. Fields of f-strings
are in braces. A golden file has the list, so that all wording can be read at once, and a change of
wording is a change of that file.
"""

from __future__ import annotations

import ast
import csv
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "slowdust"
_SENTENCE = re.compile(r"[A-Za-z}][\w'}]*[,;:]? [a-z{][\w'{.]*[,;:]? (?:[a-z{]|.*[a-z]{3})")
_NO_SENTENCE = re.compile(r"\s*(?:[A-Z]{3,}\b|\(\?|[#$%./<]|#include)|.*(?:\\[wsd(]|\(\?)", re.S)
"""SQL and configuration, shell, C, markup and regular expressions."""
_PARAGRAPH = re.compile(r"\n\s*\n")


def sentences(source: str) -> Iterator[str]:
    """Yield the sentences of a Python module, in their order."""
    yield from _within(ast.parse(source))


def _within(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Expr(ast.Constant(str())) | ast.Assert():
                pass
            case ast.Constant(str()) | ast.JoinedStr():
                text = " ".join(_text(child).split())
                if _SENTENCE.search(text) and not _NO_SENTENCE.match(text):
                    yield text
            case _:
                yield from _within(child)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(values):
            return "".join(map(_text, values))
        case ast.FormattedValue(value):
            return f"{{{ast.unparse(value)}}}"
    raise TypeError(f"not a part of a string: {ast.dump(node)}")


def _texts_of_table(path: Path) -> Iterator[str]:
    """Yield the help texts of a table of commands or options."""
    if path.suffix == ".tsv":
        lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
        yield from (row[-1] for row in csv.reader(lines, "excel-tab", quoting=csv.QUOTE_NONE))
        return
    tables = [*tomllib.loads(path.read_text()).values()]
    for table in tables:
        tables += table.get("benchmarks", {}).values()
        yield table["summary"]
        for paragraph in _PARAGRAPH.split(table["help"].replace("\b", "")):
            yield " ".join(paragraph.split())


def listing() -> str:
    """Return all files with sentences, and their sentences, indented."""
    lines = []
    tables = [SOURCES / "cli/commands.toml", *SOURCES.glob("*/options.tsv")]
    for path in sorted([*SOURCES.rglob("*.py"), *tables]):
        is_table = path in tables
        found = list(_texts_of_table(path) if is_table else sentences(path.read_text("utf-8")))
        if found:
            lines += [str(path.relative_to(SOURCES)), *(f"    {each}" for each in found)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(listing(), end="")
