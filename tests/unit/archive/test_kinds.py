"""Archives with results of both benchmarks: each import reads and replaces only its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.archive.command import Slowdust, mentions, report, slowdust
from tests.unit.archive.insert_files import write_client, write_runs
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]

INSERTS = "8m.my5649.c1"
KINDS = ("sysbench", "iibench")


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Files of both in one directory and below it, even in a run's."""
    home = tmp_path / "both"
    write_archive(home, {RUN_A: [Written()], RUN_B: [Written(rate=1200.5)]})
    write_runs(home, {INSERTS: {}, "8m.my8044.c1": {}})
    write_client(home / INSERTS / "l.i0", clients=8, client=1, inserts=[900, 1100])
    (home / RUN_A / "o.res.dop8").write_text("x")
    (home / "qps.abs.x.tsv").write_text(f"col-1 : {RUN_A}\n\ncol-1\n7\tlost_range=100\n")
    return home


def test_each_uses_its_own(both: Path, slowdust: Slowdust) -> None:
    printed = slowdust("import", "sysbench", both, "--name", "sb")
    assert mentions(printed, "  4 files ", "`slowdust import iibench`")
    assert "skipped" not in printed
    printed = slowdust("import", "iibench", both, "--name", "ib")
    assert mentions(printed, "  17 files ", "`slowdust import sysbench`")
    assert mentions(printed, "  2 files ", ": of sysbench 2")
    tests = [
        {result["test"] for result in report(slowdust, name)["results"]} for name in ("sb", "ib")
    ]
    assert tests[0] == {"hot-points.range100", "lost.range100"}
    assert "l.i0" in tests[1]
    for name, count in (("sb", 4), ("ib", 17)):
        assert mentions(slowdust("show", name), f"{count} files ", "`slowdust import ")


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_the_other_kind_alone_are_no_experiment(
    tmp_path: Path, slowdust: Slowdust, kind: str
) -> None:
    if kind == "iibench":
        write_archive(tmp_path / "a", {RUN_A: [Written()]})
    else:
        write_runs(tmp_path / "a", {INSERTS: {}})
    printed = slowdust("import", kind, "a", code=1)
    [other] = set(KINDS) - {kind}
    assert f"`slowdust import {other}`" in printed
    assert "skipped" not in printed
    assert "found" in printed.splitlines()[-1]


@pytest.mark.parametrize(("first", "second"), [KINDS, KINDS[::-1]])
def test_an_import_of_the_other_kind_is_not_replaced(
    *, both: Path, slowdust: Slowdust, first: str, second: str
) -> None:
    slowdust("import", first, both)
    before = report(slowdust, "both")
    complaint = slowdust("import", second, both, code=2)
    assert mentions(complaint, f"'both' in results is the import of {both} as {first}", "--name")
    assert mentions(complaint, f"{both} as {first}", f"{both} as {second}")
    assert report(slowdust, "both") == before
    slowdust("import", first, both)
    slowdust("import", second, both, "--name", "other")


@pytest.mark.parametrize("kind", KINDS)
def test_an_import_of_another_directory_is_not_replaced(
    *, both: Path, tmp_path: Path, slowdust: Slowdust, kind: str
) -> None:
    slowdust("import", kind, both)
    moved = tmp_path / "elsewhere" / "both"
    moved.parent.mkdir()
    both.rename(moved)
    complaint = slowdust("import", kind, moved, code=2)
    assert mentions(complaint, f"{both} as {kind}", str(moved), "--name")
