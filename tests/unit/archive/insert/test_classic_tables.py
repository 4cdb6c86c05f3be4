"""The chain o.sum, mrg, rel, summary is rebuilt from its first existing file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slowdust.archive.insert.classic import SUMMARY
from slowdust.archive.insert.tables import COLUMNS
from tests.tiers.selection import full
from tests.unit.archive.command import Slowdust, slowdust
from tests.unit.archive.insert_files import (
    RESULT,
    STEPS,
    client_output,
    row,
    write_merged,
    write_runs,
)
from tests.unit.archive.published import RUNS, needs_archive

__all__ = ["slowdust"]
OLD, NEW = "8m.pg1110_o2.c1", "8m.pg174_o2.c1"


def classic(slowdust: Slowdust, *arguments: str) -> dict[str, str]:
    """Return the content of each classic file by its name."""
    slowdust("import", "iibench", "archive", *arguments)
    slowdust("report", "archive", "--classic", "classic")
    files = [path for path in Path("classic").rglob("*.*") if path.is_file()]
    return {str(path.relative_to("classic")): path.read_text() for path in files}


def cells(content: str) -> list[dict[str, str]]:
    """Return the cells of each row of a table, by column."""
    lines = content.splitlines()[1:]
    return [dict(zip(COLUMNS, line.split("\t"), strict=True)) for line in lines]


def test_tables_of_runs_alone(slowdust: Slowdust) -> None:
    write_runs(Path("archive"), {OLD: {}, NEW: {"l.x": {"csps": "18000"}}})
    written = classic(slowdust, "--compat")
    write_runs(Path("whole"), {OLD: {}, NEW: {"l.x": {"csps": "18000"}}})
    for step in STEPS:
        changed = {"csps": "18000"} if step == "l.x" else {}
        write_merged(Path("whole"), step, [[row(OLD, step), row(NEW, step, changed)]])
    assert SUMMARY in written
    assert {name: text for name, text in written.items() if name != SUMMARY} == {
        path.name: path.read_text() for path in Path("whole").iterdir()
    }


@needs_archive
@pytest.mark.parametrize(
    "gone",
    [
        ["mrg.q100.1", "rel.*"],
        pytest.param(["mrg.l.*"], marks=full),
        pytest.param(["rel.q*"], marks=full),
    ],
)
def test_tables_that_are_missing_in_a_directory(slowdust: Slowdust, gone: list[str]) -> None:
    published = RUNS / "ibench.jan2021" / "20m"
    shutil.copytree(published, "archive", copy_function=shutil.copyfile)
    for pattern in gone:
        for path in Path("archive/res.a").glob(pattern):
            path.unlink()
    written = classic(slowdust, "--compat")
    for path in (published / "res.a").glob("*.[lq]*"):
        assert written[f"res.a/{path.name}"] == path.read_text(), path


def test_steps_that_no_run_has_are_not_made(slowdust: Slowdust) -> None:
    write_merged(Path("archive/res.a"), "l.i0", [[row(OLD, "l.i0")]])
    write_merged(Path("archive/res.b"), "l.x", [[row(OLD, "l.x")]])
    assert sorted(classic(slowdust)) == [
        "res.a/mrg.l.i0", "res.a/rel.l.i0", f"res.a/{SUMMARY}",
        "res.b/mrg.l.x", "res.b/rel.l.x", f"res.b/{SUMMARY}",
    ]  # fmt: skip


def write_sources(run: str) -> None:
    """Write the sources of o.sum: o.res of a load, o.ib of a step with queries; nothing of l.x."""
    for step in ("l.i0", "l.x", "qr100.L1"):
        Path("archive", run, step).mkdir(parents=True)
    Path("archive", run, "l.i0", "o.res.dop2").write_text(RESULT, encoding="utf-8")
    Path("archive", run, "l.x", "o.rt.t.insert").write_text("torn\n", encoding="utf-8")
    for client in (1, 2):
        printed = client_output([90, 100, 98] * 20, queries=[5000, 4000, 6000] * 20)
        Path("archive", run, "qr100.L1", f"o.ib.dop2.{client}").write_bytes(printed)


def test_files_of_clients_alone(slowdust: Slowdust) -> None:
    write_sources(OLD)
    write_sources(NEW)
    written = classic(slowdust, "--compat")
    assert sorted(written) == [
        "mrg.l.i0", "mrg.qr100.L1", f"o.sum.t.{OLD}", f"o.sum.t.{NEW}", "rel.l.i0", "rel.qr100.L1",
        SUMMARY,
    ]  # fmt: skip
    load, index, queries = cells(written[f"o.sum.t.{OLD}"])
    assert load == {
        "ips": "33222", "qps": "0", "rps": "0.6", "rmbps": "0.0", "wps": "1400.0", "wmbps": "45.0",
        "rpq": "0.000", "rkbpq": "0.001", "wpi": "0.042", "wkbpi": "1.387", "csps": "9000",
        "cpups": "40.0", "cspq": "0.271", "cpupq": "NA", "dbgb1": "7.2", "dbgb2": "9.5",
        "rss": "4.5", "maxop": "0.415", "p50": "16700", "p99": "9100", "tag": OLD,
    }  # fmt: skip
    assert index == dict.fromkeys(COLUMNS, "NA") | {"tag": OLD}
    known = {"ips": "192", "qps": "10000", "maxop": "0.000", "p50": "5000", "p99": "4000"}
    assert queries == dict.fromkeys(COLUMNS, "NA") | known | {"tag": OLD}
    assert cells(written["mrg.qr100.L1"]) == [
        queries | {"tag": tag.removeprefix("8m.")} for tag in (OLD, NEW)
    ]


def test_rates_of_results_alone_are_cut_as_published(slowdust: Slowdust) -> None:
    write_sources(OLD)
    result = RESULT.replace("301 seconds", "300 seconds").replace("33222.5", "33333.3")
    Path("archive", OLD, "l.i0", "o.res.dop2").write_text(
        result.replace("5000000", "5000299"), encoding="utf-8"
    )
    assert cells(classic(slowdust)[f"o.sum.t.{OLD}"])[0]["ips"] == "33333"


def test_a_run_of_sources_next_to_tables_gets_its_own(slowdust: Slowdust) -> None:
    write_runs(Path("archive"), {OLD: {}})
    write_sources(NEW)
    written = classic(slowdust, "--compat")
    assert len(cells(written[f"o.sum.t.{OLD}"])) == len(STEPS)
    assert len(cells(written[f"o.sum.t.{NEW}"])) == 3
    assert [result["tag"] for result in cells(written["mrg.l.i0"])] == [
        "pg1110_o2.c1",
        "pg174_o2.c1",
    ]


def test_a_table_that_was_cut_is_made_where_its_sources_are(slowdust: Slowdust) -> None:
    write_runs(Path("archive"), {OLD: {}, NEW: {}})
    path = Path(f"archive/o.sum.t.{OLD}")
    whole = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(whole[:-1]), encoding="utf-8")
    assert path.name not in classic(slowdust, "--compat")
    sources = Path("archive", OLD, "qp1000.L6")
    sources.mkdir(parents=True)
    (sources / "o.res.dop8").write_text(RESULT)
    shutil.rmtree("classic")
    written = classic(slowdust, "--compat")[path.name].splitlines(keepends=True)
    assert (written[:-1], written[-1].split("\t")[0]) == (whole[:-1], "33222")
