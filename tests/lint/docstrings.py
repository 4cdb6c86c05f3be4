"""Print the docstrings that begin with a preposition or "those", and so leave their noun out.

`python -m tests.lint.docstrings DIRECTORY ...` reads the docstrings of modules, classes and
functions, and the strings below assignments. It exits with 1 where it prints any.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_BANNED = {"of", "those", "as", "by", "from", "for", "in", "on", "with", "to", "at"}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def offenders(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and first line of each docstring that begins with a banned word."""
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, _DOCUMENTED))
    for body in (node.body for node in nodes):
        for before, statement in zip([None, *body], body, strict=False):
            match statement, before:
                case ast.Expr(ast.Constant(str(text))), None | ast.Assign() | ast.AnnAssign():
                    if (text.split() or [""])[0].strip(",:;").lower() in _BANNED:
                        yield statement.lineno, text.strip().splitlines()[0]


def main(directories: Sequence[str]) -> int:
    """Print the offenders below the directories; return the exit code."""
    paths = sorted(path for name in directories for path in Path(name).rglob("*.py"))
    lines = [
        f"{path}:{line}: {text}" for path in paths for line, text in offenders(path.read_text())
    ]
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
