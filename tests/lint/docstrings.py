"""Print docstrings that begin with a preposition, "its" or "whether" and omit their noun.

`python -m tests.lint.docstrings DIRECTORY ...` reads the docstrings of modules, classes and
functions, and the strings below assignments. It exits with 1 where it prints any.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_BANNED = frozenset(
    {"of", "those", "as", "by", "from", "for", "in", "on", "with", "to", "at"}
    | {"its", "itself", "absent", "when", "less", "also"}
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def offenders(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and first line of each docstring that begins with a banned word.

    "Whether" is banned only for functions that are no properties.
    """
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, _DOCUMENTED))
    for node in nodes:
        for before, statement in zip([None, *node.body], node.body, strict=False):
            match statement, before:
                case ast.Expr(ast.Constant(str(text))), None | ast.Assign() | ast.AnnAssign():
                    word = (text.split() or [""])[0].strip(",:;").lower()
                    of_function = before is None and _is_plain_function(node)
                    if word in _BANNED or (word == "whether" and of_function):
                        yield statement.lineno, text.strip().splitlines()[0]


def _is_plain_function(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


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
