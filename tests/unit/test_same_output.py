"""The comparison of two revisions' output finds differences and ignores intended changes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.stored import ROOT
from tests.same_output.__main__ import Comparison, compare, read_intended, read_values
from tests.same_output.print_all import FAILED
from tests.tiers.selection import full


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


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A repository with the sources, whose work tree has another word in the answer of a search."""
    for folder in ("src", "tests/experiments", "tests/same_output"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / ".gitignore").write_text("__pycache__\n")
    author = ("-c", "user.name=Test", "-c", "user.email=test@localhost")
    for command in (("init", "-q"), ("add", "src"), (*author, "commit", "-q", "-m", "x")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (module,) = (
        path for path in tmp_path.rglob("*.py") if '"Highest rate of {' in path.read_text()
    )
    module.write_text(module.read_text().replace('"Highest rate of {', '"Largest rate of {'))
    return tmp_path


def same_output(copy: Path, rule: str) -> subprocess.CompletedProcess[str]:
    """Compare a stored search with the commit; the seeds of sets differ, as nothing may show."""
    (copy / "tests/same_output/intended.tsv").write_text(rule)
    return subprocess.run(
        [sys.executable, "-m", "tests.same_output", "HEAD", "capacity"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("files", "code", "differing"),
    [
        ("*.md", 1, ["again-0", "report.html"]),
        pytest.param("*", 0, [], marks=full),
        pytest.param("*.csv", 1, ["again-0", "note.md", "report.html"], marks=full),
    ],
)
def test_the_command_fails_where_a_word_of_the_product_changed_unless_that_is_intended(
    copy: Path, files: str, code: int, differing: list[str]
) -> None:
    compared = same_output(copy, f"{files}\tHighest rate of \tLargest rate of \n")
    assert compared.returncode == code, compared.stderr
    changed = re.findall(r"^studies/capacity/(\S+) differs$", compared.stdout, re.MULTILINE)
    assert changed == differing


def test_an_intended_change_is_made_in_its_files_alone(tmp_path: Path, old: Path) -> None:
    new = write(tmp_path / "new", {"report.md": "blocks: 2\n", "page.html": "blocks\n"})
    rules = write(tmp_path / "rules", {"x": "# words\n\n*.md\tfew (?=b)\t\n*\tmany\tfew\n"})
    comparison = compare(old, new, read_intended(rules / "x"))
    assert names(comparison) == ({"page.html"}, set())
    assert [change.replacement for change in comparison.unused] == ["few"]


@pytest.mark.parametrize(
    ("number", "differing"), [("1.5", set()), ("1.6", {"a.json", "b.csv"})], ids=["same", "other"]
)
def test_values_are_compared_without_sentences(
    tmp_path: Path, number: str, differing: set[str]
) -> None:
    before = {"a.json": '{"rate": 1.5, "notes": ["one note"]}', "b.csv": "scan,1.5,one note\n"}
    after = {"a.json": f'{{"rate": {number}}}', "b.csv": f"scan,{number},another note\n"}
    texts = {"page.html": "a 1.5"}, {"page.html": "a 1.6"}
    old = write(tmp_path / "before", {**before, **texts[0]})
    new = write(tmp_path / "after", {**after, **texts[1]})
    assert names(compare(old, new, read=read_values)) == (differing, set())


def test_files_may_differ_as_a_whole(tmp_path: Path, old: Path) -> None:
    new = write(tmp_path / "new", {"report.md": "other\n", "page.html": "other\n"})
    rules = write(tmp_path / "rules", {"x": "*.html\n"})
    assert names(compare(old, new, read_intended(rules / "x"))) == ({"report.md"}, set())


def test_new_outputs_are_new_and_lost_outputs_differ(tmp_path: Path, old: Path) -> None:
    (old / "diff").write_text(f"no such command{FAILED}exit code 2\n")
    new = write(tmp_path / "new", {"diff": "same", "more": "text", "report.md": f"{FAILED}x"})
    assert names(compare(old, new)) == ({"report.md", "page.html"}, {"diff", "more"})
