"""The shipped and documented workloads are valid, and their documentation matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.workloads.benchmark import read_benchmark
from slowdust.workloads.outline import outline

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")
FILES = sorted((ROOT / "examples" / "workloads").glob("*.toml"))


def blocks() -> list[str]:
    """Return the indented blocks of the page."""
    found: list[str] = []
    block: list[str] = []
    for line in [*PAGE.splitlines(), "end"]:
        if line.startswith("    ") or (block and not line):
            block.append(line[4:])
        elif block:
            found.append("\n".join(block).strip("\n"))
            block = []
    return found


def test_the_small_file_of_the_page_is_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "books.toml"
    [text] = [block for block in blocks() if block.startswith("[tables.books]")]
    path.write_text(text)
    benchmark = read_benchmark(path)
    assert [test.name for test in benchmark.tests] == ["find", "library"]
    assert [test.writes for test in benchmark.tests] == [False, True]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_output_of_check_is_on_the_page(file: Path) -> None:
    assert "\n".join(outline(read_benchmark(file))) in blocks()
