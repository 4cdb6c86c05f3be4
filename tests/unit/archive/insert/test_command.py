"""The command `slowdust import iibench`, and other commands on its experiments."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.unit.archive.command import Slowdust, mentions, report, slowdust
from tests.unit.archive.damage import damage
from tests.unit.archive.insert_files import (
    RESULT,
    STEPS,
    client_output,
    row,
    write_merged,
    write_runs,
)

__all__ = ["slowdust"]
NAMES = ["mrg.l.i9", "o.ib.dop0.1", "o.sum.t.", "rel.q1.1", "o.res.dop0", "x.gz", "mrg.qr0.L1"]
OLD, NEW = "8m.my5649.c1", "8m.my8044.c1.badcnf"


def write_archive(folder: Path) -> None:
    """Write two runs in every kind of file."""
    write_runs(folder, {OLD: {}, NEW: {"qr100.L1": {"qps": "44000"}}})
    for step in STEPS:
        cells = {"qps": "44000"} if step == "qr100.L1" else {}
        write_merged(folder / "res.a", step, [[row(OLD, step), row(NEW, step, cells)]])
    for step in ("l.i0", "qr100.L1"):
        raw = folder / OLD / step
        raw.mkdir(parents=True)
        (raw / "o.res.dop8").write_text(RESULT)
        for client in range(1, 9):
            printed = client_output([100, 0, 100, 100], queries=[5000, 0, 5000, 4000])
            (raw / f"o.ib.dop8.{client}").write_bytes(printed)


def test_an_import_is_an_experiment_like_any_other(slowdust: Slowdust) -> None:
    write_archive(Path("archive"))
    printed = slowdust("import", "iibench", "archive", "--name", "ib")
    assert "ib: 2 contenders, 10 tests, 20 results, clean; the base is mysql@5.6.49:c1" in printed
    assert "40 files used" in printed
    assert "imported (iibench)" in slowdust("list")
    assert "tests: l.i0, l.x, l.i1, l.i2, qr100" in slowdust("show", "ib")
    rates = {
        result["contender"]: result["qps"]
        for result in report(slowdust, "ib")["results"]
        if result["test"] == "qr100"
    }
    assert rates == {"mysql@5.6.49:c1": 8 * 14000 / 4, "mysql@8.0.44:c1+badcnf": 44000}
    assert "## Insert rate during the queries" in slowdust("report", "ib", "--md")
    assert "mysql@8.0.44:c1+badcnf" in slowdust("report", "ib", "--csv")
    slowdust("report", "ib", "--html", "page.html")
    assert "In each second of the step" in Path("page.html").read_text(encoding="utf-8")


def test_a_directory_given_twice_is_one_experiment(slowdust: Slowdust) -> None:
    write_archive(Path("archive"))
    slowdust("import", "iibench", "archive", "archive/../archive", Path("archive").resolve())
    assert [line.split()[0] for line in slowdust("list").splitlines()] == ["archive"]


def test_a_report_says_nothing_that_an_archive_does_not_report(slowdust: Slowdust) -> None:
    write_archive(Path("archive"))
    slowdust("import", "iibench", "archive", "--name", "ib")
    expected = report(slowdust, "ib")
    roles = [role for run in expected["step_runs"] for role in run["roles"]]
    assert roles
    assert not any({"errors", "retries"} & role.keys() for role in roles)
    assert not any("incarnations" in note for note in expected["notes"])
    slowdust("report", "ib", "--html", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "single runs, without interval" in page
    assert "with 95% intervals" not in page


def test_a_page_speaks_of_no_starts(slowdust: Slowdust) -> None:
    write_archive(Path("archive"))
    slowdust("import", "iibench", "archive", "--name", "ib")
    slowdust("report", "ib", "--html", "page.html")
    page = (
        Path("page.html")
        .read_text(encoding="utf-8")
        .partition("<script>")[0]
        .partition("</style>")[2]
    )
    assert "Archived runs of the Insert Benchmark" in page
    assert "From one run each" in page
    for word in ("incarnation", "slice", "Settled in", "Striped"):
        assert word not in page, word
    text = slowdust("report", "ib", "--md")
    assert "## Steps, role by role" in text
    assert "incarnation" not in text


def test_a_run_whose_name_says_no_version_is_last_and_reported(slowdust: Slowdust) -> None:
    write_runs(Path("archive"), {"8m.in80.c1": {}, NEW: {}})
    printed = slowdust("import", "iibench", "archive", "--name", "ib")
    assert mentions(printed, "  version ", ": in80.c1")
    assert report(slowdust, "ib")["contenders"] == ["mysql@8.0.44:c1+badcnf", "in80.c1"]


def test_the_published_rates_are_there_when_asked_for(slowdust: Slowdust) -> None:
    write_archive(Path("archive"))
    slowdust("import", "iibench", "archive", "--compat", "--clients", "4")
    [base] = [
        result
        for result in report(slowdust, "archive")["results"]
        if (result["test"], result["contender"]) == ("qr100", "mysql@5.6.49:c1")
    ]
    assert (base["qps"], base["clients"]) == (40000, 8)


def test_classic_files_come_back(slowdust: Slowdust) -> None:
    write_archive(Path("archive"))
    slowdust("import", "iibench", "archive")
    slowdust("report", "archive", "--classic", "classic")
    written = [path.relative_to("classic") for path in Path("classic").glob("**/*.*")]
    files = [path for path in written if (Path("classic") / path).is_file()]
    assert len(files) == 2 + 2 * len(STEPS) + 1
    for path in files:
        if path.name != "summary_tables.html":
            assert (Path("classic") / path).read_text() == (Path("archive") / path).read_text()


def test_the_imported_directory_is_not_written_into(slowdust: Slowdust) -> None:
    write_archive(Path("archive"))
    slowdust("import", "iibench", "archive")
    complaint = slowdust("report", "archive", "--classic", "archive", code=2)
    assert "archive was imported" in complaint


def test_nothing_to_import_is_said(slowdust: Slowdust) -> None:
    Path("archive").mkdir()
    Path("archive/notes.txt").write_text("hello", encoding="utf-8")
    Path("archive/sb.o.scan.range100.pk1.dop8").write_text("hello", encoding="utf-8")
    printed = slowdust("import", "iibench", "archive", code=1)
    assert "skipped: archive/notes.txt: " in printed
    assert "slowdust import sysbench" in printed
    assert "no experiment was found" in printed


@pytest.mark.parametrize("name", [b"o.ib.\xff", b"mrg.a\nb", b"res.\xff/mrg.l.i0"])
def test_files_whose_names_are_no_text_are_skipped(slowdust: Slowdust, name: bytes) -> None:
    write_archive(Path("archive"))
    strange = Path(os.fsdecode(b"archive/" + name))
    strange.parent.mkdir(exist_ok=True)
    strange.write_bytes(b"1")
    printed = slowdust("import", "iibench", "archive")
    expected = name.decode(errors="backslashreplace").replace("\n", "\\n")
    assert mentions(printed, f"skipped: {expected}: ", "UTF-8")
    assert len(report(slowdust, "archive")["results"]) == 20


@pytest.mark.parametrize("seed", range(8))
def test_damage_does_not_stop_an_import(slowdust: Slowdust, seed: int) -> None:
    """Files cut, emptied, renamed, deleted, their cells replaced and lines mixed."""
    write_archive(Path("archive"))
    rng = random.Random(seed)
    files = sorted(path for path in Path("archive").glob("**/*.*") if path.is_file())
    for path in rng.sample(files, 30):
        damage(path, rng, NAMES)
    slowdust("import", "iibench", "archive")
    if "archive " in slowdust("list"):
        slowdust("report", "archive", "--md", "--html", "page.html", "--classic", "classic")
