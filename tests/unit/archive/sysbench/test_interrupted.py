"""An import that is stopped leaves the results as they were."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slowdust.errors import SlowdustError
from slowdust.store.folder import Writer
from slowdust.store.slice import Slice
from tests.unit.archive.command import Slowdust, mentions, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]

KILLED = """
import os, signal, sys
from slowdust.store.folder import Writer

def half(writer, *records):
    writer.folder.path.joinpath("slices.ndjson").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

Writer.append = half
sys.argv = ["slowdust", "import", "sysbench", "a"]
from slowdust.cli.main import main
main()
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    runs = {RUN_A: [Written(rate=1000.5)], RUN_B: [Written(rate=1200.25)]}
    return write_archive(tmp_path / "a", runs)


def stored(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_full_disk_leaves_the_earlier_import(
    archive: Path, slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowdust("import", "sysbench", archive)
    before = stored(Path("results/a"))
    append = Writer.append

    def full(writer: Writer, *records: Slice) -> None:
        append(writer, *records[: len(records) // 2])
        raise SlowdustError("cannot write slices.ndjson: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "append", full)
        assert "No space left" in slowdust("import", "sysbench", archive, code=1)
    assert stored(Path("results/a")) == before
    assert [path.name for path in Path("results").iterdir()] == ["a"]


def test_a_killed_import_leaves_the_earlier_one_and_the_next_clears_up(
    archive: Path, slowdust: Slowdust
) -> None:
    slowdust("import", "sysbench", archive)
    before = stored(Path("results/a"))
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == -9
    assert stored(Path("results/a")) == before
    assert len(list(Path("results").iterdir())) == 2
    slowdust("import", "sysbench", archive)
    assert [path.name for path in Path("results").iterdir()] == ["a"]


def test_a_first_import_that_is_killed_is_no_experiment(archive: Path, slowdust: Slowdust) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == -9
    assert slowdust("list") == ""
    slowdust("import", "sysbench", archive)
    assert [path.name for path in Path("results").iterdir()] == ["a"]


def test_the_note_of_an_import_that_is_replaced_stays(archive: Path, slowdust: Slowdust) -> None:
    slowdust("import", "sysbench", archive)
    slowdust("note", "a", "the good one", "--tag", "kept")
    slowdust("import", "sysbench", archive)
    assert "the good one" in slowdust("note", "a")


def test_a_torn_import_of_an_earlier_slowdust_says_what_it_lacks(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    tests = [Written(rate=1000.5), Written(test="scan", rate=11.25)]
    archive = write_archive(tmp_path / "a", {RUN_A: tests, RUN_B: tests})
    slowdust("import", "sysbench", archive)
    assert "INCOMPLETE" not in slowdust("report", "a", "--md")
    path = Path("results/a/slices.ndjson")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"scan.' not in line))
    slowdust("report", "a", "--html", "page.html")
    for text in (
        Path("page.html").read_text(),
        slowdust("report", "a", "--md"),
        slowdust("report", "a"),
    ):
        assert mentions(" ".join(text.split()), "INCOMPLETE: ", "1 of 2 tests", str(archive))
