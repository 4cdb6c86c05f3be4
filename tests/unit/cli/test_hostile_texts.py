"""Hostile names, settings and messages neither command a terminal nor become markup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.command import Slowdust

HOSTILE = "\x1b]0;owned\x07\x1b[2J<img src=x onerror=alert(1)>[click](https://evil.example)"


@pytest.fixture
def hostile(results: Path) -> Path:
    """An experiment with hostile names of contenders, settings, messages and notes."""
    folder = results / "micro"
    manifest = json.loads((folder / "manifest.json").read_text())
    old = manifest["contenders"][1]["name"]
    new = f"{old}{HOSTILE}"
    text = json.dumps(manifest).replace(json.dumps(old), json.dumps(new))
    manifest = json.loads(text)
    manifest["contenders"][1]["settings"] = {"work_mem": HOSTILE}
    manifest["contenders"][1]["build"]["source"] = HOSTILE
    manifest["warnings"] = [HOSTILE]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    slices = (folder / "slices.ndjson").read_text().replace(json.dumps(old), json.dumps(new))
    (folder / "slices.ndjson").write_text(slices)
    (folder / "annotation.json").write_text(json.dumps({"note": HOSTILE, "tags": [HOSTILE]}))
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "list",
        "show micro",
        "report micro",
        "report micro --csv",
        "report micro --md",
        "report micro --md --short",
        "report micro --json",
        "history",
        "history --md",
        "diff micro micro --md",
        "more micro --tests nothing",
        "report micro --base nothing",
        "note micro",
    ],
)
def test_no_output_has_an_escape_sequence(slowdust: Slowdust, hostile: Path, words: str) -> None:
    outcome = slowdust(*words.split())
    assert outcome.code in {0, 2}, outcome.err
    printed = outcome.out + outcome.err
    assert printed
    assert not {letter for letter in printed if ord(letter) < 32 and letter not in "\n\t"}
    assert "\x07" not in printed


@pytest.mark.parametrize("words", ["report micro --md", "report micro --md --short"])
def test_markdown_has_neither_their_elements_nor_their_links(
    slowdust: Slowdust, hostile: Path, words: str
) -> None:
    printed = slowdust(*words.split()).out
    assert "img src" in printed
    assert "<img" not in printed.replace("\\<img", "")
    assert "](https" not in printed


def test_the_page_has_none_of_their_elements(slowdust: Slowdust, hostile: Path) -> None:
    slowdust("report", "micro", "--html", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "img src" in page
    assert "<img" not in page
    assert "\x1b" not in page
