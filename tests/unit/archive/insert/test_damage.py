"""Files of the Insert Benchmark that were cut, edited or lost: each has a line."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.cli.main import main
from slowdust.store.manifest import Fate
from tests.unit.archive.command import Slowdust, mentions, report, slowdust
from tests.unit.archive.insert_files import (
    RESULT,
    STEPS,
    client_output,
    row,
    write_merged,
    write_runs,
)

__all__ = ["slowdust"]
RUN = Path("archive/8m.pg174_o2.c1")
QUERIES = RUN / "qr100.L1"
MADE_OF_CLIENTS = (
    RESULT.replace(
        "2 processes, 5000000 rows-per-process, 301 seconds",
        "2 processes, 6000 rows-per-process, 61 seconds",
    )
    .replace("0 queries, 0.0", "600000 queries, 9836.0")
    .replace("33222.5 rows", "196.7 rows")
)


def write_clients() -> None:
    """Write two clients that each insert 100 rows and do 5000 queries in each of 60 seconds."""
    QUERIES.mkdir(parents=True)
    for client in (1, 2):
        printed = client_output([100] * 60, queries=[5000] * 60)
        (QUERIES / f"o.ib.dop2.{client}").write_bytes(printed)
    (QUERIES / "o.res.dop2").write_text(MADE_OF_CLIENTS)


def imported(slowdust: Slowdust, *arguments: str) -> tuple[list[str], dict[str, float]]:
    """Import, and return the lines of files with something wrong, and the rates of the base."""
    printed = slowdust("import", "iibench", "archive", *arguments)
    fates = rf"  ({'|'.join(Fate)})( [0-9]+ times)?: (.*)"
    lines = [actual[0].strip() for actual in re.finditer(fates, printed)]
    results = report(slowdust, "archive")["results"]
    base = results[0]["contender"]
    return lines, {
        result["test"]: result["qps"] for result in results if result["contender"] == base
    }


def test_clients_that_are_whole_have_no_line(slowdust: Slowdust) -> None:
    write_clients()
    assert imported(slowdust) == ([], {"qr100": 10_000})


def test_rows_that_cannot_be_read_are_reported(
    slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    write_clients()
    tear_row(QUERIES / "o.ib.dop2.2")
    [line], rates = imported(slowdust)
    assert line == snapshot
    assert rates == {"qr100": 10_000}
    slowdust("report", "archive", "--html", "page.html")
    assert "In each second of the step" not in Path("page.html").read_text(encoding="utf-8")


def tear_row(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:20], lines[20][:9] + b"\n", *lines[21:]]))


def test_published_rates_are_not_those_of_a_damaged_client(slowdust: Slowdust) -> None:
    write_clients()
    tear_row(QUERIES / "o.ib.dop2.2")
    [line], rates = imported(slowdust, "--compat")
    assert mentions(line, "1 damaged row", "o.res")
    assert rates == {"qr100": 9836.0}


@pytest.mark.parametrize(("mode", "rate"), [([], 600_000 / 61), (["--compat"], 9836.0)])
def test_a_client_that_is_missing_is_reported(
    slowdust: Slowdust, mode: list[str], rate: float, snapshot: SnapshotAssertion
) -> None:
    write_clients()
    (QUERIES / "o.ib.dop2.2").unlink()
    [line], rates = imported(slowdust, *mode)
    assert line == snapshot
    assert rates == {"qr100": rate}


def test_a_client_without_a_row_is_reported_once(slowdust: Slowdust) -> None:
    write_clients()
    (QUERIES / "o.ib.dop2.1").write_text("no row\n")
    [line], _ = imported(slowdust)
    assert mentions(line, "o.ib.dop2.1: ", "o.res")


def test_most_clients_missing_are_one_line(slowdust: Slowdust) -> None:
    write_clients()
    (QUERIES / "o.ib.dop2.1").rename(QUERIES / "o.ib.dop900000000.7")
    (QUERIES / "o.ib.dop2.2").unlink()
    (QUERIES / "o.res.dop2").rename(QUERIES / "o.res.dop900000000")
    [line], _ = imported(slowdust)
    assert mentions(line, "o.ib.dop900000000.1: ", "899999998", "900000000 clients", "o.res")


def test_a_step_of_half_of_its_clients_is_skipped(slowdust: Slowdust) -> None:
    write_clients()
    (QUERIES / "o.res.dop2").unlink()
    (QUERIES / "o.ib.dop2.2").unlink()
    printed = slowdust("import", "iibench", "archive", code=1)
    assert mentions(printed, "o.ib.dop2.2: ", "step")


def test_rates_of_indexed_rows_are_never_those_of_a_client(slowdust: Slowdust) -> None:
    """A client counts none."""
    write_clients()
    QUERIES.rename(RUN / "l.x")
    tear_row(RUN / "l.x/o.ib.dop2.2")
    [line], rates = imported(slowdust)
    assert mentions(line, "1 damaged row", "o.res")
    assert rates == {"l.x": 12_000 / 61}


def test_clients_of_another_number_are_reported(slowdust: Slowdust) -> None:
    write_clients()
    for client in (1, 2, 3, 4):
        printed = client_output([100] * 60, queries=[7] * 60)
        (QUERIES / f"o.ib.dop4.{client}").write_bytes(printed)
    lines, rates = imported(slowdust)
    first = ", ".join(f"8m.pg174_o2.c1/qr100.L1/o.ib.dop4.{client}" for client in (1, 2, 3))
    [line] = lines
    assert mentions(line, "skipped 4 times: ", "o.ib.dop2.1", f": {first} and 1 more")
    assert rates == {"qr100": 10_000}


def test_results_of_another_number_of_clients_are_reported(slowdust: Slowdust) -> None:
    write_clients()
    (QUERIES / "o.res.dop4").write_text(MADE_OF_CLIENTS.replace("9836.0", "8000.0"))
    [line], rates = imported(slowdust, "--compat")
    assert mentions(line, "o.res.dop4: ", "o.ib.dop2.1")
    assert rates == {"qr100": 9836}
    for path in QUERIES.glob("o.ib*"):
        path.unlink()
    [line], rates = imported(slowdust, "--compat")
    assert mentions(line, "o.res.dop4: ", "o.res.dop2")
    assert rates == {"qr100": 9836}


def test_a_client_that_was_killed_is_reported(slowdust: Slowdust) -> None:
    write_clients()
    path = QUERIES / "o.ib.dop2.1"
    path.write_bytes(path.read_bytes().partition(b"Insert rt:")[0])
    [line], rates = imported(slowdust)
    assert mentions(line, "o.ib.dop2.1: ", "client", "o.res")
    assert rates == {"qr100": 600_000 / 61}


@pytest.mark.parametrize("mode", [[], ["--compat"]])
def test_a_client_without_its_last_rows_does_not_replace_results(
    slowdust: Slowdust, mode: list[str], snapshot: SnapshotAssertion
) -> None:
    """The client's rate falls, so the rows that are left have too high a rate."""
    load = RUN / "l.i0"
    load.mkdir(parents=True)
    inserts = [1000 - 5 * second for second in range(100)]
    rows = client_output(inserts).splitlines(keepends=True)
    (load / "o.ib.dop1.1").write_bytes(b"".join([*rows[:32], *rows[102:]]))
    (load / "o.res.dop1").write_text(
        RESULT.replace(
            "2 processes, 5000000 rows-per-process, 301 seconds, 33222.5",
            f"1 processes, {sum(inserts)} rows-per-process, 101 seconds, {sum(inserts) / 101:.1f}",
        )
    )
    [line], rates = imported(slowdust, *mode)
    assert line == snapshot
    assert rates["l.i0"] == pytest.approx(sum(inserts) / 101, abs=0.1)


def test_results_that_the_clients_contradict_are_reported(slowdust: Slowdust) -> None:
    write_clients()
    (QUERIES / "o.res.dop2").write_text(MADE_OF_CLIENTS.replace("600000 queries", "6000 queries"))
    [line], rates = imported(slowdust)
    file = f"{Fate.DIFFERS}: 8m.pg174_o2.c1/qr100.L1/o.res.dop2: queries, "
    assert mentions(line, file, "6000", "600000", "o.ib")
    assert rates == {"qr100": 10_000}


OLD, NEW, NEXT = "8m.pg1110_o2.c1", "8m.pg174_o2.c1", "8m.pg180_o2.c1"
TABLES = Path("archive/res.a")


def write_tables() -> None:
    """Write three runs in files o.sum, mrg and rel."""
    runs = (OLD, NEW, NEXT)
    write_runs(Path("archive"), {tag: {"l.i0": {"ips": f"{len(tag)}00"}} for tag in runs})
    for step in STEPS:
        cells = {"ips": f"{len(OLD)}00"} if step == "l.i0" else {}
        rows = [row(tag, step, {**cells, "ips": f"{len(tag)}00"} if cells else {}) for tag in runs]
        write_merged(TABLES, step, [rows])


def cut(path: Path, lines: int) -> None:
    """Keep the header and `lines` lines."""
    path.write_text(
        "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[: lines + 1]),
        encoding="utf-8",
    )


def classic(slowdust: Slowdust) -> dict[str, str]:
    """Return the classic files, but the summary."""
    slowdust("report", "archive", "--classic", "classic")
    written = Path("classic").rglob("*.*")
    return {
        str(path.relative_to("classic")): path.read_text()
        for path in written
        if path.is_file() and path.suffix != ".html"
    }


def published() -> dict[str, str]:
    files = [path for path in Path("archive").rglob("*.*") if path.is_file()]
    return {str(path.relative_to("archive")): path.read_text() for path in files}


def test_tables_that_are_whole_have_no_line_and_come_back(slowdust: Slowdust) -> None:
    write_tables()
    assert imported(slowdust)[0] == []
    assert classic(slowdust) == published()


@pytest.mark.parametrize("steps", range(1, 10))
def test_a_run_that_ends_early_is_reported(slowdust: Slowdust, steps: int) -> None:
    write_tables()
    cut(Path(f"archive/o.sum.t.{NEW}"), steps)
    lines, rates = imported(slowdust)
    assert lines == [f"{Fate.PARTLY}: o.sum.t.{NEW}: ends after {steps} of 10 steps"]
    assert len(rates) == 10


def test_runs_that_were_only_loaded_are_whole_and_come_back(slowdust: Slowdust) -> None:
    write_runs(Path("archive"), {OLD: {}, NEW: {}})
    for path in Path("archive").iterdir():
        cut(path, 3)
    lines, rates = imported(slowdust)
    assert (lines, list(rates)) == ([], ["l.i0", "l.x", "l.i1"])
    assert classic(slowdust).items() >= published().items()


def test_a_run_with_directories_of_more_steps_was_not_only_loaded(slowdust: Slowdust) -> None:
    write_runs(Path("archive"), {NEW: {}})
    cut(Path(f"archive/o.sum.t.{NEW}"), 3)
    write_clients()
    lines, rates = imported(slowdust)
    assert lines == [f"{Fate.PARTLY}: o.sum.t.{NEW}: ends after 3 steps"]
    assert list(rates) == ["l.i0", "l.x", "l.i1", "qr100"]


def test_a_run_that_was_only_loaded_and_is_torn_does_not_come_back(slowdust: Slowdust) -> None:
    write_runs(Path("archive"), {NEW: {}})
    path = Path(f"archive/o.sum.t.{NEW}")
    cut(path, 3)
    path.write_text(path.read_text(encoding="utf-8")[:-2], encoding="utf-8")
    lines, rates = imported(slowdust)
    [line] = lines
    assert mentions(line, f"{Fate.PARTLY}: o.sum.t.{NEW}: ", "last line")
    assert list(rates) == ["l.i0", "l.x"]
    assert path.name not in classic(slowdust)


def test_a_last_line_without_its_end_is_torn(
    slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    write_tables()
    paths = [Path(f"archive/o.sum.t.{NEW}"), TABLES / "mrg.l.x", TABLES / "rel.l.x"]
    for path in paths:
        path.write_text(path.read_text()[:-2])
    lines, _ = imported(slowdust)
    assert lines == snapshot


def test_tables_that_were_cut_are_rebuilt_from_the_runs(
    slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    write_tables()
    whole = published()
    for name, lines in {"mrg.qr100.L1": 2, "mrg.l.i0": 1, "rel.qr500.L3": 1}.items():
        cut(TABLES / name, lines)
    assert imported(slowdust, "--compat")[0] == snapshot
    assert classic(slowdust) == whole


def test_tables_alone_that_were_cut_are_reported(
    slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    write_tables()
    for path in Path("archive").glob("o.sum*"):
        path.unlink()
    cut(TABLES / "mrg.qr100.L1", 2)
    assert imported(slowdust)[0] == snapshot
    assert len(classic(slowdust)["res.a/rel.qr100.L1"].splitlines()) == 2


def test_files_that_are_there_twice_are_read_once(slowdust: Slowdust) -> None:
    write_tables()
    for path in (Path(f"archive/o.sum.t.{NEW}"), TABLES / "mrg.l.x"):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(b"other\n"))
    lines = imported(slowdust, "--compat")[0]
    for name, line in zip((f"o.sum.t.{NEW}.gz", "res.a/mrg.l.x.gz"), lines, strict=True):
        assert mentions(line, f"skipped: {name}: ", "plain")


def test_an_empty_file_gives_way_to_its_compressed_one(slowdust: Slowdust) -> None:
    write_clients()
    for name in ("o.ib.dop2.1", "o.res.dop2"):
        path = QUERIES / name
        path.with_name(f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.write_bytes(b"")
    lines, rates = imported(slowdust)
    for name, line in zip(("o.res.dop2", "o.ib.dop2.1"), lines, strict=True):
        assert mentions(line, f"skipped: 8m.pg174_o2.c1/qr100.L1/{name}: ", "empty")
    assert rates == {"qr100": 10_000}


def test_files_of_no_use_that_are_there_twice_have_no_line(slowdust: Slowdust) -> None:
    write_tables()
    for name in ("sb.o.scan.range100.pk1.dop8", "o.vm.dop8"):
        Path(f"archive/{name}").write_text("other\n", encoding="utf-8")
        Path(f"archive/{name}.gz").write_bytes(gzip.compress(b"other\n"))
    assert imported(slowdust)[0] == []


def test_tables_that_differ_are_reported(slowdust: Slowdust, snapshot: SnapshotAssertion) -> None:
    write_tables()
    write_merged(
        TABLES, "l.x", [[row(OLD, "l.x"), row(NEW, "l.x", {"csps": "1"}), row(NEXT, "l.x")]]
    )
    assert imported(slowdust)[0] == snapshot
    for path in Path("archive").glob("o.sum*"):
        path.unlink()
    write_merged(Path("archive/res.b"), "l.x", [[row(OLD, "l.x")], [row(NEW, "l.x")]])
    [line] = imported(slowdust)[0]
    assert mentions(line, "res.b/mrg.l.x: csps of pg174_o2.c1", "9000", "1 ", "res.a/mrg.l.x")


def test_rates_of_a_run_that_its_results_contradict_are_reported(slowdust: Slowdust) -> None:
    write_clients()
    write_runs(Path("archive"), {NEW: {"qr100.L1": {"ips": "197", "qps": "98360"}}})
    [line] = imported(slowdust)[0]
    file = f"{Fate.DIFFERS}: o.sum.t.{NEW}: qps of qr100.L1"
    assert mentions(line, file, "98360", "9836.0", "o.res")


def test_a_table_with_two_things_wrong_has_a_line_for_each(slowdust: Slowdust) -> None:
    write_tables()
    write_merged(TABLES, "l.x", [[row(OLD, "l.x"), row(NEW, "l.x", {"csps": "1"})]])
    (TABLES / "rel.l.x").unlink()
    partly, differs = imported(slowdust)[0]
    assert partly.startswith(f"{Fate.PARTLY}: res.a/mrg.l.x: ")
    assert differs.startswith(f"{Fate.DIFFERS}: res.a/mrg.l.x: ")


def test_no_classic_files_have_a_reason(
    slowdust: Slowdust, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables()
    slowdust("import", "iibench", "archive")
    [manifest] = Path().glob("**/archive/manifest.json")
    content = json.loads(manifest.read_text())
    del content["imported"]["tables"]
    manifest.write_text(json.dumps(content))
    monkeypatch.setattr("sys.argv", ["slowdust", "report", "archive", "--classic", "classic"])
    with pytest.raises(SystemExit):
        main()
    assert "0 classic files in classic" in capsys.readouterr().err
