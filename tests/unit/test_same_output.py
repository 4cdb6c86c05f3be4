"""The comparison of two revisions' output finds what differs, and lets changed words pass."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.same_output.__main__ import ROOT, differences, print_with


def test_a_changed_word_is_found_and_may_be_allowed(tmp_path: Path) -> None:
    changed = tmp_path / "tree"
    shutil.copytree(ROOT / "src", changed / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (module,) = (path for path in changed.rglob("*.py") if "few blocks: {" in path.read_text())
    module.write_text(module.read_text().replace("few blocks: {", "only a few blocks: {"))
    old, new = tmp_path / "old", tmp_path / "new"
    print_with(ROOT, old, archives=[])
    print_with(changed, new, archives=[])

    assert {str(name) for name, _ in differences(old, old, wording=[])} == set()
    assert {"micro--md", "micro--json"} <= {str(name) for name, _ in differences(old, new, [])}
    assert list(differences(old, new, [("few blocks: ", "only a few blocks: ")])) == []
