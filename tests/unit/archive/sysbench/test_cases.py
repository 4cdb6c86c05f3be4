"""Archives from users, and the messages of their import."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from tests.unit.archive.command import Slowdust, mentions, results, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]
CASES = Path(__file__).parents[3] / "cases" / "archives"
_RUN = "x.pg15_o2.c.pk1"


def test_two_conditions_in_one_directory(slowdust: Slowdust) -> None:
    slowdust("import", "sysbench", CASES / "a")
    for name, ratio in (("a-io", 1.1), ("a-mem", 1.1)):
        assert results(slowdust, name)["insert.range100", "18.0"]["rqps"] == pytest.approx(ratio)
    assert ("hot-points.range100", "18.0") not in results(slowdust, "a-io")


def test_names_that_command_a_terminal(slowdust: Slowdust) -> None:
    printed = slowdust("import", "sysbench", CASES / "b")
    assert r"version not decoded: x.pg180_\x1b]0;PWN\x07\x1b[31m.x10a.pk1" in printed
    for shown in (printed, *(slowdust(word, "b") for word in ("show", "report"))):
        assert not {letter for letter in shown if ord(letter) < 32 and letter not in "\n\t"}
    slowdust("bundle", "b", "-o", "b.slowdust")
    slowdust("import", "bundle", "b.slowdust", "--name", "again")


def test_a_file_with_several_runs(slowdust: Slowdust) -> None:
    printed = slowdust("import", "sysbench", CASES / "c")
    assert "c: 1 contender, 1 test, 3 results" in printed
    assert mentions(printed, "3 runs", "128, 256 and 512")
    assert "226 errors" in printed
    shown = slowdust("report", "c")
    for line in ("128 clients: 22,451", "256 clients: 30,872", "512 clients: 26,508"):
        assert f"read-write.range100 at {line} queries/s" in shown


def test_threads_that_are_not_those_of_the_name(slowdust: Slowdust) -> None:
    printed = slowdust("import", "sysbench", CASES / "d")
    threads = ("16 threads", " 999 ", "16 clients")
    assert mentions(printed, *threads)
    assert "clients: 16\n" in slowdust("show", "d")
    assert mentions(slowdust("report", "d", "--md"), *threads)


def test_a_test_called_as_sysbench_calls_it(slowdust: Slowdust) -> None:
    printed = slowdust("import", "sysbench", CASES / "e")
    assert "e: 1 contender, 1 test, 1 result" in printed
    assert "tests: read-write.range100\n" in slowdust("show", "e")
    for kind in ("sysbench", "iibench"):
        (Path("x") / _RUN).mkdir(parents=True, exist_ok=True)
        (Path("x") / _RUN / "sb.o.oltp_nothing.range100.pk1.dop16").write_text("x")
        printed = slowdust("import", kind, "x", code=1)
        assert "`slowdust import" not in printed


def test_output_of_an_old_sysbench(slowdust: Slowdust) -> None:
    printed = slowdust("import", "sysbench", CASES / "f", code=1)
    assert mentions(printed, "sysbench 0.5", "sysbench 1.0")


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("suffix", ["", ".some"])
def test_merged_tables_alone(slowdust: Slowdust, suffix: str, zipped: bool) -> None:  # noqa: FBT001
    Path("g").mkdir()
    for path in (CASES / "g").iterdir():
        content = path.read_bytes()
        name = f"{path.name}{suffix}{'.gz' if zipped else ''}"
        Path("g", name).write_bytes(gzip.compress(content) if zipped else content)
    printed = slowdust("import", "iibench", "g")
    assert "g: 2 contenders, 3 tests, 6 results" in printed
    assert "3 files used" in printed
    rates = results(slowdust, "g")
    assert rates["l.i0", "8.0.28"]["rqps"] == pytest.approx(632911 / 652528)


def test_merged_tables_of_two_conditions(slowdust: Slowdust) -> None:
    """A run that only one of them has is not compared with a rate of the other."""
    header, first, second = (CASES / "g/mrg.l.i0").read_text().splitlines()
    for name, rows in (("io", [first]), ("mem", [first.replace("652528", "65252"), second])):
        Path("g", f"res.{name}").mkdir(parents=True)
        Path("g", f"res.{name}", "mrg.l.i0").write_text("\n".join([header, *rows, ""]))
    printed = slowdust("import", "iibench", "g")
    assert mentions(printed, "res.mem/mrg.l.i0: ", "res.io/mrg.l.i0")
    assert "g: 1 contender, 1 test, 1 result" in printed


def test_picked_rows_next_to_their_table(slowdust: Slowdust) -> None:
    shutil.copytree(CASES / "g", "g")
    shutil.copy("g/mrg.l.i0", "g/mrg.l.i0.some")
    printed = slowdust("import", "iibench", "g")
    assert "g: 2 contenders, 3 tests, 6 results" in printed
    assert mentions(printed, "1 file ", "mrg.some 1")


def test_no_clients_in_a_name(slowdust: Slowdust) -> None:
    printed = slowdust("import", "sysbench", CASES / "k_dop0")
    assert "k_dop0: 1 contender, 2 tests, 2 results" in printed
    assert "sb.o.a.range100.pk1.dop0: 0 clients" in printed
    assert "a.range100" in slowdust("report", "k_dop0", "--md")
    Path("ib/8m.my5649.c1/l.i0").mkdir(parents=True)
    Path("ib/8m.my5649.c1/l.i0/o.res.dop0").write_text("x\n")
    printed = slowdust("import", "iibench", "ib", code=1)
    assert "o.res.dop0: 0 clients" in printed


def test_blocks_of_a_table_with_unknown_names_are_reported(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    shutil.copytree(CASES / "b", tmp_path / "b")
    table = tmp_path / "b/o.met.dop1"
    table.write_text(table.read_text() + "\n" + table.read_text().replace("dop1", "dop0"))
    printed = slowdust("import", "sysbench", "b")
    assert mentions(printed, "o.met.dop1: ", "'sb.met.insert.range100.pk1.dop0'")


def test_threads_in_the_file_alone(tmp_path: Path, slowdust: Slowdust) -> None:
    content = (CASES / "d" / _RUN / "sb.o.read-write.range100.pk1.dop999").read_text()
    run = tmp_path / "a" / _RUN
    run.mkdir(parents=True)
    (run / "sb.o.read-write.range100.pk1").write_text(content)
    more = content.replace("threads: 16", "threads: 32")
    (run / "sb.o.read-write.range100.pk1.dop32").write_text(more)
    printed = slowdust("import", "sysbench", "a")
    assert "a: 1 contender, 1 test, 2 results" in printed
    assert "clients: 16, 32\n" in slowdust("show", "a")


def test_a_name_and_a_file_that_report_the_same_threads(tmp_path: Path, slowdust: Slowdust) -> None:
    """The output with the right name counts, and the other one is reported."""
    content = (CASES / "d" / _RUN / "sb.o.read-write.range100.pk1.dop999").read_text()
    run = tmp_path / "a" / _RUN
    run.mkdir(parents=True)
    for dop in (16, 999):
        (run / f"sb.o.read-write.range100.pk1.dop{dop}").write_text(content)
    printed = slowdust("import", "sysbench", "a")
    assert "a: 1 contender, 1 test, 1 result" in printed
    assert mentions(printed, "dop999: ", "another file")


def test_several_runs_at_the_same_threads(tmp_path: Path, slowdust: Slowdust) -> None:
    content = (CASES / "d" / _RUN / "sb.o.read-write.range100.pk1.dop999").read_text()
    run = tmp_path / "a" / _RUN
    run.mkdir(parents=True)
    (run / "sb.o.read-write.range100.pk1.dop16").write_text(content * 2)
    printed = slowdust("import", "sysbench", "a", code=1)
    assert mentions(printed, "dop16: ", "2 runs")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("sysbench 1.0.20 (using LuaJIT)\n\nThreads started!\n", "did not finish"),
        ("sysbench 1.0.20\nFATAL: no table `\x1b[31m`\n", r"no table `\x1b[31m`"),
        ("sysbench 0.4.12:  multi-threaded\n", "sysbench 0.4.12"),
        ("transaction type: <builtin: TPC-B>\n", "not the output"),
    ],
)
def test_reasons(tmp_path: Path, slowdust: Slowdust, content: str, why: str) -> None:
    folder = write_archive(tmp_path / "a", {RUN_A: [Written()]})
    (folder / RUN_A / "sb.o.scan.range100.pk1.dop8").write_text(content)
    assert mentions(slowdust("import", "sysbench", "a"), "sb.o.scan.range100.pk1.dop8: ", why)


@pytest.mark.parametrize("suffix", [".bak", "-copy", "~"])
def test_a_copy_of_a_run_is_not_a_contender(
    tmp_path: Path, slowdust: Slowdust, suffix: str
) -> None:
    folder = write_archive(tmp_path / "a", {RUN_A: [Written()], RUN_B: [Written(rate=1200.5)]})
    shutil.copytree(folder / RUN_B, folder / f"{RUN_B}{suffix}")
    printed = slowdust("import", "sysbench", "a")
    assert "a: 2 contenders, 1 test, 2 results" in printed
    assert f"skipped: {RUN_B}{suffix}: a copy of {RUN_B}" in printed


def test_a_run_with_a_suffix_and_other_results_is_a_contender(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    runs = {RUN_A: [Written()], f"{RUN_A}.again": [Written(rate=1001.5)]}
    write_archive(tmp_path / "a", runs)
    assert "a: 2 contenders, 1 test, 2 results" in slowdust("import", "sysbench", "a")


def test_a_copy_of_a_directory_is_not_an_experiment(tmp_path: Path, slowdust: Slowdust) -> None:
    folder = write_archive(tmp_path / "all/a", {RUN_A: [Written()], RUN_B: [Written(rate=1200.5)]})
    shutil.copytree(folder, tmp_path / "all/a.orig")
    printed = slowdust("import", "sysbench", "all")
    assert mentions(printed, "a.orig: ", "a copy of a")
    assert "results, clean" in printed
    assert printed.count("results, clean") == 1
    slowdust("import", "sysbench", "all/a", "--name", "first")
    slowdust("import", "sysbench", "all/a.orig", "--name", "second")
    printed = slowdust("history", "first", "second")
    assert mentions(" ".join(printed.split()), "same directory", "first")


def test_a_table_without_one_test_is_not_cut(tmp_path: Path, slowdust: Slowdust) -> None:
    tests = [Written(test=f"t{chr(97 + number)}") for number in range(20)]
    folder = write_archive(tmp_path / "a", {RUN_A: tests, RUN_B: tests})
    slowdust("import", "sysbench", "a", "--name", "made")
    slowdust("report", "made", "--classic", "classic")
    blocks = Path("classic/o.met").read_text().split("\n\n")
    (folder / "o.met").write_text("\n\n".join([*blocks[:7], *blocks[8:]]))
    assert "truncated: " not in slowdust("import", "sysbench", "a")
    (folder / "o.met").write_text("\n\n".join([*blocks[:15], ""]))
    assert "used in part: o.met: truncated: 15 of 20 " in slowdust("import", "sysbench", "a")


def test_classic_files_of_a_clean_import_have_one_unit(tmp_path: Path, slowdust: Slowdust) -> None:
    """A run without its own output has only the published rate of one thread."""
    with_output = Written(test="scan", rate=11.25, without=frozenset({"r.qps"}))
    alone = Written(test="scan", rate=11.25, without=frozenset({"o"}))
    folder = write_archive(tmp_path / "a", {RUN_A: [with_output], RUN_B: [alone]})
    for mode in ([], ["--compat"]):
        name = "compat" if mode else "clean"
        slowdust("import", "sysbench", folder, "--name", name, "--scan", "one-thread", *mode)
        slowdust("report", name, "--classic", f"classic-{name}")
    clean, compat = (
        {
            str(path.relative_to(place)): path.read_text()
            for path in place.rglob("*")
            if path.is_file()
        }
        for place in (Path("classic-clean"), Path("classic-compat"))
    )
    assert clean == compat
