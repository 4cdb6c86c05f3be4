"""The classic files of an Insert Benchmark that Slowdust measured."""

import re
from pathlib import Path
from statistics import median

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.archive.classic import Row
from slowdust.archive.insert.tables import COLUMNS, read_groups
from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.store.step import RoleSecond
from tests.unit.archive.command import Slowdust, slowdust
from tests.unit.synthetic_steps import Break, Overload, insert_experiment

__all__ = ["slowdust"]
OLD, NEW = "postgres@15.8", "postgres@17.6"
STEPS = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"]
CLASSIC = ["l.i0", "l.x", "l.i1", "l.i2", "qr100.L1", "qp100.L2"]


def store(manifest: Manifest, slices: list[Slice]) -> None:
    with writing(Folder(Path("results/mine"))) as writer:
        writer.write_manifest(manifest)
        writer.append(*slices)


def written(slowdust: Slowdust, manifest: Manifest, slices: list[Slice]) -> Path:
    store(manifest, slices)
    slowdust("report", "mine", "--classic", "classic")
    return Path("classic")


def rows_of(path: Path) -> dict[str, Row]:
    groups, damaged = read_groups(path.read_text(encoding="utf-8").splitlines())
    assert damaged == []
    (rows,) = groups
    return {row.run: row for row in rows}


def of(slices: list[Slice], test: str, contender: str) -> list[Slice]:
    return [
        result
        for result in slices
        if (result.place.test, result.place.contender) == (test, contender)
    ]


def test_runs_steps_and_the_summary_have_their_files(slowdust: Slowdust) -> None:
    classic = written(slowdust, *insert_experiment([OLD, NEW], STEPS))

    assert {path.name for path in classic.iterdir()} == {
        *(f"o.sum.t.{name}" for name in (OLD, NEW)),
        *(f"{kind}.{step}" for kind in ("mrg", "rel") for step in CLASSIC),
        "summary_tables.html",
    }
    header, *lines = (classic / f"o.sum.t.{NEW}").read_text().splitlines()
    assert tuple(header.split("\t")) == COLUMNS
    assert len(lines) == len(STEPS)


def test_rates_match_the_report(slowdust: Slowdust) -> None:
    manifest, slices = insert_experiment([OLD, NEW], STEPS, shifts={NEW: {"qr100": 0.5}})
    classic = written(slowdust, manifest, slices)

    for step, name in zip(STEPS, CLASSIC, strict=True):
        for contender, row in rows_of(classic / f"mrg.{name}").items():
            rate = median(result.qps for result in of(slices, step, contender))
            column = "qps" if step.startswith("q") else "ips"
            assert row[column] == f"{rate:.0f}"
    assert rows_of(classic / "mrg.l.i0")[OLD]["qps"] == "0"
    assert rows_of(classic / "mrg.qr100.L1")[OLD]["ips"] == "100"
    relative = rows_of(classic / "rel.qr100.L1")
    assert list(relative) == [NEW]
    assert float(relative[NEW]["qps"]) == pytest.approx(0.5, abs=0.02)


def test_hardware_is_per_second_per_query_and_per_insert(slowdust: Slowdust) -> None:
    manifest, slices = insert_experiment([OLD, NEW], STEPS)
    for result in slices:
        assert result.measured.uses["host"] is not None
        result.measured.probe_seconds = 20.0
        result.measured.uses["host"]["cpu_user_s"], result.measured.uses["host"]["cpu_system_s"] = (
            20.0,
            10.0,
        )
        (
            result.measured.uses["host"]["cpu_idle_s"],
            result.measured.uses["host"]["cpu_iowait_s"],
            result.measured.uses["host"]["cpu_steal_s"],
        ) = 8.0, 2.0, 0.0
        result.measured.uses["host"]["context_switches"] = 4000
        result.measured.uses["host"]["reads"], result.measured.uses["host"]["read_bytes"] = (
            100,
            20 << 20,
        )
        result.measured.uses["host"]["writes"], result.measured.uses["host"]["write_bytes"] = (
            500,
            40 << 20,
        )
    (queries, *_) = of(slices, "qr100", OLD)
    assert queries.measured.operations is not None and queries.step is not None
    inserted = queries.step.roles["insert"].rows
    assert inserted == 2000
    for result in of(slices, "qr100", OLD):
        result.measured.operations = 50_000
    classic = written(slowdust, manifest, slices)

    row = rows_of(classic / "mrg.qr100.L1")[OLD]

    assert {column: row[column] for column in COLUMNS[2:14]} == {
        "rps": "5", "rmbps": "1.0", "wps": "25.0", "wmbps": "2.0",
        "rpq": "0.002", "rkbpq": "0.410", "wpi": "0.250", "wkbpi": "20.480",
        "csps": "200", "cpups": "75.0", "cspq": "0.080", "cpupq": "600",
    }  # fmt: skip
    assert (row["dbgb1"], row["rss"], row["maxop"]) == ("0.9", "0.2", "0.002")
    assert (classic / f"o.sum.t.{OLD}").read_text().splitlines()[5].split("\t")[2] == "5.0"


def test_percentiles_are_the_rates_that_a_share_of_the_seconds_reached(slowdust: Slowdust) -> None:
    manifest, slices = insert_experiment([OLD, NEW], STEPS, incarnations=2)
    for result in slices:
        assert result.step is not None
        for role in result.step.roles.values():
            role.seconds = 10.5
            rates = range(10 * result.place.incarnation, 10 * result.place.incarnation + 10)
            role.per_second = [RoleSecond(rate, rate * 5, 0, 0) for rate in rates]
            role.per_second.append(RoleSecond(1, 1, 0, 0))
    classic = written(slowdust, manifest, slices)

    queries, inserts = (rows_of(classic / f"mrg.{name}")[OLD] for name in ("qr100.L1", "l.i2"))

    # Of 20 whole seconds with 10 to 29 statements, the 10th and the 20th from above.
    assert (queries["p50"], queries["p99"]) == ("20", "10")
    assert (inserts["p50"], inserts["p99"]) == ("100", "50")


def test_unmeasured_values_are_not_available(slowdust: Slowdust) -> None:
    manifest, slices = insert_experiment([OLD, NEW], STEPS)
    for result in of(slices, "l.i1", NEW):
        result.measured.uses.pop("host", None)
    classic = written(slowdust, manifest, slices)

    index = rows_of(classic / "mrg.l.x")[OLD]
    blind = rows_of(classic / "mrg.l.i1")[NEW]

    assert {column for column in index.columns if index[column] == "NA"} == {
        "dbgb2", "maxop", "p50", "p99"
    }  # fmt: skip
    assert {column for column in blind.columns if blind[column] == "NA"} == {
        "rps", "rmbps", "wps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi", "csps", "cpups", "cspq",
        "cpupq", "dbgb2",
    }  # fmt: skip
    assert rows_of(classic / "rel.l.i1")[NEW]["csps"] == "NA"


def test_a_step_that_failed_keeps_its_place_and_is_in_no_summary(slowdust: Slowdust) -> None:
    broken = [Break(NEW, "l.i2", incarnation) for incarnation in (1, 2, 3)]
    classic = written(slowdust, *insert_experiment([OLD, NEW], STEPS, broken=broken))

    lines = (classic / f"o.sum.t.{NEW}").read_text().splitlines()[1:]

    assert lines[3] == "\t".join(["NA"] * 20 + [NEW])
    assert "NA" not in lines[2].split("\t")[:4]
    summary = (classic / "summary_tables.html").read_text()
    assert f"<td>{OLD}</td>" in summary
    assert f"<td>{NEW}</td>" not in summary


def test_a_missed_sla_is_grey_and_its_insert_rate_red(slowdust: Slowdust) -> None:
    overload = [Overload(NEW, "qp100", inserts=0.7)]
    classic = written(slowdust, *insert_experiment([OLD, NEW], STEPS, overloaded=overload))

    rows = rows_of(classic / "mrg.qp100.L2")
    summary = (classic / "summary_tables.html").read_text()

    assert (rows[OLD]["ips"], rows[NEW]["ips"]) == ("100", "70")
    assert f'<td id="cgray">{rows[NEW]["qps"]}</td>' in summary
    assert '<td id="cmin">70</td>' in summary
    assert "<td>target</td><td id=cgray>100</td><td id=cgray>100</td>" in summary


def test_each_number_of_clients_has_a_directory(slowdust: Slowdust) -> None:
    classic = written(slowdust, *insert_experiment([OLD, NEW], STEPS, clients=(1, 8)))

    assert {path.name for path in classic.iterdir()} == {"c1", "c8"}
    assert rows_of(classic / "c8" / "mrg.qr100.L1")[OLD]["ips"] == "800"
    target = re.search(r"<td>target</td>.*", (classic / "c8" / "summary_tables.html").read_text())
    assert target is not None and ">800<" in target[0]


def test_contenders_are_parts_of_file_names(slowdust: Slowdust) -> None:
    names = ["mariadb@11.4.5/innodb fsync=on", "./patched"]
    classic = written(slowdust, *insert_experiment(names, STEPS))

    assert (classic / "o.sum.t.mariadb@11.4.5_innodb_fsync=on").is_file()
    assert (classic / "o.sum.t.._patched").is_file()


def test_files_of_others_are_not_replaced(slowdust: Slowdust, snapshot: SnapshotAssertion) -> None:
    classic = written(slowdust, *insert_experiment([OLD, NEW], STEPS))
    slowdust("report", "mine", "--classic", "classic")
    (classic / "mrg.l.x").write_text("mine")
    (classic / "mrg.l.i0").unlink()

    complaint = slowdust("report", "mine", "--classic", "classic", code=2)

    assert complaint == snapshot
    assert (classic / "mrg.l.x").read_text() == "mine"
    assert not (classic / "mrg.l.i0").exists()


def test_they_can_be_imported_and_come_out_the_same(
    slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    classic = written(slowdust, *insert_experiment([OLD, NEW], STEPS))

    printed = slowdust("import", "iibench", "classic", "--name", "back", "--compat")
    assert "as published" not in printed
    assert printed == snapshot
    slowdust("report", "back", "--classic", "again")

    files = {path.name: without_paleness(path.read_bytes()) for path in classic.iterdir()}
    assert {path.name: path.read_bytes() for path in Path("again").iterdir()} == files


def without_paleness(text: bytes) -> bytes:
    """Remove the marks of unsure ratios: an archived run has no verdicts."""
    style = rb'<style type="text/css">\n  td\.unsure [^\n]*\n</style>\n'
    return re.sub(style, b"", text).replace(b'<td class="unsure"', b"<td")


def test_each_hold_has_a_directory_whose_files_name_the_steps_as_those_without(
    slowdust: Slowdust,
) -> None:
    held = [f"{step}.hold60" for step in STEPS]
    shifts = {OLD: {"l.i1.hold60": 0.5}}
    experiment = insert_experiment([OLD, NEW], [*STEPS, *held], shifts=shifts, clients=(1, 8))
    classic = written(slowdust, *experiment)

    assert {path.name for path in classic.iterdir()} == {"c1", "c8", "c1.hold60", "c8.hold60"}
    files = [{path.name for path in folder.iterdir()} for folder in classic.iterdir()]
    assert all(names == files[0] for names in files)
    alone = float(rows_of(classic / "c1" / "mrg.l.i1")[OLD]["ips"])
    beside = float(rows_of(classic / "c1.hold60" / "mrg.l.i1")[OLD]["ips"])
    assert beside / alone == pytest.approx(0.5, rel=0.05)
