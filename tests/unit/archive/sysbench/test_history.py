"""Histories of imported experiments."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.archive.command import Slowdust, mentions, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]


def history(slowdust: Slowdust, *names: str) -> dict[str, Any]:
    actual: dict[str, Any] = json.loads(slowdust("history", *names, "--json"))
    return actual


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    runs = {RUN_A: [Written(rate=1000.5)], RUN_B: [Written(rate=1200.25)]}
    return write_archive(tmp_path / "a", runs)


def import_as(slowdust: Slowdust, name: str, *arguments: str | Path, age: int) -> None:
    """Import an archive and date the import back by `age` seconds."""
    slowdust("import", "sysbench", *arguments, "--name", name)
    manifest = Path("results", name, "manifest.json")
    then = manifest.stat().st_mtime - age
    os.utime(manifest, (then, then))


@pytest.mark.parametrize(("clean", "compat"), [(10, 20), (20, 10)])
def test_a_directory_that_was_imported_twice_counts_once(
    archive: Path, slowdust: Slowdust, clean: int, compat: int
) -> None:
    import_as(slowdust, "clean", archive, age=clean)
    import_as(slowdust, "compat", archive, "--compat", age=compat)
    newest, other = ("clean", "compat") if clean < compat else ("compat", "clean")
    for names in ((), ("clean", "compat"), ("compat", "clean")):
        actual = history(slowdust, *names)
        assert [line["experiments"] for line in actual["lines"]] == [[newest]]
        [note] = actual["notes"]
        assert mentions(note, newest, f": {other}.")
        assert note in slowdust("history", *names)
    assert history(slowdust, other)["lines"][0]["experiments"] == [other]


def test_other_directories_and_larger_imports_count(archive: Path, slowdust: Slowdust) -> None:
    runs = {RUN_A: [Written(rate=1000.5)], RUN_B: [Written(rate=1300.25)]}
    import_as(slowdust, "other", write_archive(archive.parent / "b", runs), age=30)
    import_as(slowdust, "whole", archive, age=20)
    import_as(slowdust, "part", archive / RUN_B, age=10)
    actual = history(slowdust)
    assert [line["experiments"] for line in actual["lines"]] == [["other", "whole"]]
    expected = (
        "Excluded, because whole, imported from the same directory or a copy, contains it: part."
    )
    assert actual["notes"] == [expected]
    for path in (archive / RUN_A).iterdir():
        path.unlink()
    Written(test="scan").write(archive / RUN_B)
    import_as(slowdust, "later", archive, age=0)
    actual = history(slowdust)
    assert actual["notes"] == [expected]
    assert "later" in actual["lines"][0]["experiments"]


def test_experiments_of_unknown_size_are_not_averaged_without_a_word(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    for name, rate in (("small", 12), ("large", 14)):
        (tmp_path / name).mkdir()
        table = f"col-1 : {RUN_A}\ncol-2 : {RUN_B}\n\n10\t{rate}\thot-points_range=100\n"
        (tmp_path / name / "qps.abs.x.tsv").write_text(table)
        slowdust("import", "sysbench", tmp_path / name, "--clients", "8")
    printed = slowdust("history", "--host", "unrecorded")
    assert "2 versions in 2 experiments: " in printed
    assert "amount of data" in printed
    assert "amount of data" not in slowdust("history", "small")
