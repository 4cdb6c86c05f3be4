"""Files are UTF-8 in every locale: no text is read or written in the encoding of the user's."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import slowdust

SOURCES = Path(slowdust.__file__).parent
TEXTS = {"read_text": 0, "write_text": 1}
"""Method -> the place of `encoding` among its arguments."""
MAY_BE_TEXT = re.compile(r"(read_text|write_text|open)\(|\btext=")


def in_the_locales_encoding(tree: ast.AST) -> Iterator[ast.Call]:
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute | ast.Name):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        options = {keyword.arg: keyword.value for keyword in call.keywords}
        if "encoding" in options or None in options:
            continue
        if (
            (name in TEXTS and len(call.args) <= TEXTS[name])
            or (name == "open" and opens_text(call))
            or is_true(options.get("text"))
        ):
            yield call


def opens_text(call: ast.Call) -> bool:
    """Return whether `path.open(mode)` or `open(path, mode)` is for text."""
    modes = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    texts = [mode for mode in modes if isinstance(mode, str) and set(mode) <= set("rwax+bt")]
    if not texts:
        return isinstance(call.func, ast.Name)  # `x.open()` may be of anything
    return "b" not in texts[-1]


def is_true(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def test_no_text_is_in_the_encoding_of_the_locale() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    found = [
        f"{path.relative_to(SOURCES)}:{call.lineno}"
        for path, text in sources.items()
        if MAY_BE_TEXT.search(text)  # parsing all would take seconds
        for call in in_the_locales_encoding(ast.parse(text))
    ]
    assert found == []


def test_such_text_is_found() -> None:
    found = "p.read_text(); p.write_text(x); p.open('w'); open(p); run(c, text=True)"
    good = "p.read_bytes(); p.read_text('utf-8'); p.open('rb'); p.write_text(x, encoding='utf-8')"
    assert len(list(in_the_locales_encoding(ast.parse(found)))) == 5
    assert list(in_the_locales_encoding(ast.parse(good))) == []


@pytest.mark.parametrize("words", ["report slap --html page.html", "list"])
def test_a_locale_without_utf_8_is_no_obstacle(results: Path, words: str) -> None:
    code = "from slowdust.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split(), "--results", str(results)],
        env=os.environ | {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        cwd=results.parent,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    if "page.html" in words:
        assert "·" in (results.parent / "page.html").read_text(encoding="utf-8")
