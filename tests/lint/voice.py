"""Print the words and shapes that Slowdust's English avoids, with a better one for each.

`python -m tests.lint.voice PATH ...` reads docstrings, comments and strings of Python, comments of
Rust, tables and templates of texts (TSV, TOML, HTML), and the prose of Markdown without its code.
It exits with 1 where it prints any. Tests check fields of messages and not their words, so that
their strings are not read.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

AVOIDED = {
    r"beside": "compared with, next to, together with, concurrently with",
    r"(?<!falls )(?<!fallen )behind": "after; for what a program hides: in",
    r"beneath": "under, below",
    r"(?<!\d s )apart(?! from)": "separate; tell apart: distinguish",
    r"so many|so much|as (?:long|much|many) again": "repeat the value, or name it",
    r"nobody|somebody|whoever|whatever": "name the person or the program",
    r"that of|those of|the ones of": "repeat the noun",
    r"(?:of|in|by|from) which": "two sentences",
    r"(?:go|goes|going|gone|went) on": "resume, continue, happen",
    r"(?:hand|hands|handed|handing) on": "push, pass",
    r"(?:stand|stands|standing|stood) still": "be suspended",
    r"anew|made new": "again; make anew: rebuild",
    r"told|tells": "report, show; tell apart: distinguish",
    r"(?:leave|leaves|leaving|left) out": "exclude, skip, omit",
    r"(?:give|gives|gave|given|giving) up": "fail, stop",
    r"(?:is|are|was|were) none": "say what holds",
    r"without a word": "without an error message",
    r"beyond doubt": "significant, or leave it away",
    r"\ALet(?! us)": "the verb: suspend, resume, exclude, allow",
    r"\A(?:What|Who|Whoever) (?!.*\?)": "name the thing by a noun",
}  # fmt: skip
"""Regular expression of words -> better ones."""
_WORDS = re.compile(r"[A-Za-z][a-z]+ [a-z]+ [a-z]+")
"""A text has at least three words; a name, a key or a stored value does not."""


def offences(text: str, avoided: dict[str, str] = AVOIDED) -> Iterator[tuple[int, str, str]]:
    """Yield offset in the text, words and advice of each."""
    for pattern, better in avoided.items():
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE):
            yield match.start(), match.group(), better


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number of the first line and text of all texts of a file."""
    source = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".py":
            yield from _documentation(source) if "tests" in path.parts else _strings(source)
            yield from _comments(source)
        case ".rs":
            for number, line in enumerate(source.splitlines(), 1):
                if comment := re.search(r"//[/!]?(.*)", line):
                    yield number, comment.group(1)
        case ".md":
            yield from enumerate(_prose(source).splitlines(), 1)
        case _:
            yield from enumerate(source.splitlines(), 1)


def _strings(source: str) -> Iterator[tuple[int, str]]:
    """Yield strings that are more than a name or a key."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(str(text)) if _WORDS.search(text):
                yield node.lineno, text


def _documentation(source: str) -> Iterator[tuple[int, str]]:
    """Yield the strings that are statements."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(ast.Constant(str(text)) as string):
                yield string.lineno, text


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _prose(markdown: str) -> str:
    """Return Markdown whose code, addresses and comments are blank, line for line."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    patterns = (r"(?ms)^ *```.*?^ *```", r"(?s)<!--.*?-->", r"`[^`\n]*`", r"\]\([^)\s]*\)")
    for pattern in patterns:
        markdown = re.sub(pattern, blank, markdown)
    return markdown


def main(arguments: Sequence[str]) -> int:
    """Print the offences in files, and in those below directories; return the exit code."""
    found = count()
    for argument in map(Path, arguments):
        suffixes = (".py", ".rs", ".md", ".tsv", ".toml", ".html")
        paths = sorted(argument.rglob("*")) if argument.is_dir() else [argument]
        for path in paths:
            # Stored experiments have names of earlier versions.
            if path.suffix not in suffixes or "stored" in path.parts or path.is_dir():
                continue
            for line, text in texts(path):
                for start, words, better in offences(text):
                    next(found)
                    at = line + text.count("\n", 0, start)
                    context = " ".join(text[max(start - 30, 0) : start + 40].split())
                    print(f"{path}:{at}: {words!r} ({better}): ...{context}...")
    return int(next(found) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
