"""The comparison of two revisions' output finds what differs, and lets intended changes pass."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.experiments.stored import ROOT
from tests.same_output.__main__ import Comparison, Intended, compare, print_with, read_intended
from tests.same_output.print_all import FAILED


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old", {"report.md": "few blocks: 2\n", "page.html": "few blocks\n"})


def write(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def names(comparison: Comparison) -> tuple[set[str], set[str]]:
    """The files that differ, and the new ones."""
    return {str(name) for name in comparison.differing}, {str(name) for name in comparison.new}


def test_a_changed_word_of_the_product_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = tmp_path / "tree"
    shutil.copytree(ROOT / "src", changed / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (module,) = (path for path in changed.rglob("*.py") if "few blocks: {" in path.read_text())
    module.write_text(module.read_text().replace("few blocks: {", "only a few blocks: {"))
    old, new = tmp_path / "old", tmp_path / "new"
    # Nothing may be in the order of a set.
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    print_with(ROOT, old, "waits")
    monkeypatch.setenv("PYTHONHASHSEED", "2")
    print_with(changed, new, "waits")

    differing, none = names(compare(old, new))
    of_report = {f"experiments/waits/report{form}" for form in (".md", ".json", ".html")}
    assert of_report <= differing
    assert not none
    intended = [Intended("*", re.compile("few blocks: "), "only a few blocks: ")]
    assert names(compare(old, new, intended)) == (set(), set())


def test_an_intended_change_is_made_in_its_files_alone(tmp_path: Path, old: Path) -> None:
    new = write(tmp_path / "new", {"report.md": "blocks: 2\n", "page.html": "blocks\n"})
    rules = write(tmp_path / "rules", {"x": "# words\n\n*.md\tfew (?=b)\t\n*\tmany\tfew\n"})
    comparison = compare(old, new, read_intended(rules / "x"))
    assert names(comparison) == ({"page.html"}, set())
    assert [change.pattern.pattern for change in comparison.unused] == ["many"]


def test_what_the_earlier_revision_cannot_print_is_new_and_what_is_lost_differs(
    tmp_path: Path, old: Path
) -> None:
    (old / "diff").write_text(f"no such command{FAILED}exit code 2\n")
    new = write(tmp_path / "new", {"diff": "same", "more": "text", "report.md": f"{FAILED}x"})
    assert names(compare(old, new)) == ({"report.md", "page.html"}, {"diff", "more"})
