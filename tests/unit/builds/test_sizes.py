"""Sizes of binaries, of build trees and of builds that match patterns."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from slowdust.analysis.sizes import report_of
from slowdust.builds.sizes import chosen_builds, measure_tree
from slowdust.errors import UsageError
from slowdust.formats.elf import is_static, read_sizes
from slowdust.report.formats import SIZES, render_as
from slowdust.report.markdown.document import plain
from slowdust.report.sizes import document
from slowdust.store.sizes import BuildSizes, ServerSizes
from tests.tiers.selection import needs, require

SOURCE = """
int table[1000];
int set = 3;
static int used(void) { return set; }
int main(void) { return used(); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small program with symbols and debug information, and its object file."""
    require("cc")
    folder = tmp_path_factory.mktemp("tree")
    (folder / "a.c").write_text(SOURCE)
    (folder / "sub").mkdir()
    for command in (["cc", "-g", "-c", "a.c", "-o", "sub/a.o"], ["cc", "sub/a.o", "-o", "program"]):
        subprocess.run(command, cwd=folder, check=True)
    return folder / "program"


@needs("strip")
def test_sizes_match_binutils(program: Path, tmp_path: Path) -> None:
    sizes, _ = read_sizes(program)
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "--strip-all", "-o", stripped, program], check=True)
    assert sizes.stripped_bytes == stripped.stat().st_size < sizes.file_bytes
    assert read_sizes(stripped)[0].stripped_bytes == stripped.stat().st_size
    done = subprocess.run(["size", program], check=True, capture_output=True, text=True)
    text, data, bss = map(int, done.stdout.splitlines()[1].split()[:3])
    assert (sizes.text_bytes, sizes.data_bytes, sizes.bss_bytes) == (text, data, bss)
    assert 0 < sizes.code_bytes < text
    assert sizes.debug_bytes > 0


def test_symbols_are_counted_where_there_are_any(program: Path, tmp_path: Path) -> None:
    sizes, needed = read_sizes(program)
    assert sizes.functions is not None
    assert sizes.symbols is not None
    assert 2 <= sizes.functions < sizes.symbols
    assert "libc.so.6" in needed
    (tmp_path / "text").write_text("no program")
    with pytest.raises(ValueError, match="ELF"):
        read_sizes(tmp_path / "text")


def test_programs_that_the_loader_has_nothing_to_do_with_are_static(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    for kind in ("-static", "-pie", "-no-pie", "-shared"):
        subprocess.run(["cc", kind, "-fPIC", "a.c", "-o", kind[1:]], cwd=tmp_path, check=True)
        assert is_static(tmp_path / kind[1:]) == (kind == "-static")
    assert not is_static(tmp_path / "a.c")


def test_a_build_tree_is_summed_up_by_directory(program: Path) -> None:
    tree = program.parent
    (tree / "notes.o").write_text("no object file")
    (tree / "empty.a").write_bytes(b"!<arch>\n")
    sizes = measure_tree(tree)
    size = (tree / "sub/a.o").stat().st_size
    assert (sizes.total.objects, sizes.total.object_bytes) == (1, size)
    assert [(f.path, f.objects, f.libraries) for f in sizes.folders] == [("sub", 1, 0), (".", 0, 1)]
    assert [file.path for file in sizes.largest] == ["sub/a.o", "empty.a"]


def test_a_directory_without_objects_is_no_build_tree(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a build tree"):
        measure_tree(tmp_path)


def build(version: str, size: int, source: str, functions: int | None = 1000) -> BuildSizes:
    server = ServerSizes(
        file_bytes=3 * size, stripped_bytes=size, code_bytes=size // 2, text_bytes=size * 3 // 4,
        data_bytes=size // 8, bss_bytes=500, debug_bytes=size, functions=functions,
    )  # fmt: skip
    return BuildSizes(dbms="postgres", version=version, source=source, server=server)


REPORT = report_of(
    [
        build("16.1", 8_000_000, "npm @p/x@16.1"),
        build("17.0", 8_800_000, "npm @p/x@17.0", 1100),
        build("18.0", 8_800_000, "directory", None),
    ]
)


def test_growth_is_over_the_version_before_and_knows_other_sources() -> None:
    first, second, third = (sized.growth for sized in REPORT.builds)
    assert first is None
    assert second is not None
    assert (second.before, second.same_source) == ("16.1", True)
    assert second.stripped == pytest.approx(1.1)
    assert second.functions == pytest.approx(1.1)
    assert third is not None
    assert (third.same_source, third.functions) == (False, None)


def test_all_formats_have_the_growth() -> None:
    text = render_as("md", SIZES, REPORT)
    assert "| postgres@17.0 |        8.80 | +10.0% |" in text
    assert "+0.0%*" in text
    assert "built by others" in text
    rows = list(csv.DictReader(io.StringIO(render_as("csv", SIZES, REPORT))))
    assert [row["growth_before"] for row in rows] == ["", "16.1", "17.0"]
    assert rows[2]["functions"] == ""
    decoded = json.loads(render_as("json", SIZES, REPORT))
    assert decoded["builds"][1]["growth"]["before"] == "16.1"
    page = render_as("html", SIZES, REPORT)
    assert page.count('class="part part-0"') == 3
    assert "8.80 MB" in page


@pytest.mark.parametrize("width", [60, 120])
def test_a_terminal_has_the_columns_that_fit(width: int) -> None:
    table = [line for line in plain(document(REPORT), width).splitlines() if line.startswith("|")]
    assert max(map(len, table)) <= width
    assert "stripped MB" in table[0]


def test_patterns_name_builds_in_the_order_of_versions() -> None:
    names = [build.name for build in chosen_builds(["postgres@1[78].*", "mysql@5.6.24"])]
    assert names[0] == "mysql@5.6.24"
    assert names.index("postgres@17.6") < names.index("postgres@17.10")
    with pytest.raises(UsageError, match="oracle@"):
        chosen_builds(["postgres@17.6", "oracle@*"])
