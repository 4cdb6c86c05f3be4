"""Published tables without the files of their runs."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.archive.command import Slowdust, mentions, report, slowdust
from tests.unit.archive.sysbench_files import RATES, RUN_A, RUN_B, TABLE, Written, write_archive

__all__ = ["slowdust"]


def test_tables_alone_are_an_experiment_of_what_they_have(
    tmp_path: Path, slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    below = tmp_path / "apr25" / "tables"
    below.mkdir(parents=True)
    (tmp_path / "apr25" / "o.met.x").write_text(TABLE)
    (below / "qps.abs.x.tsv").write_text(RATES)
    printed = slowdust("import", "sysbench", tmp_path / "apr25")
    assert printed.splitlines()[0].startswith("apr25: 2 contenders, 4 tests, 7 results, clean")
    slowdust("report", "apr25", "--classic", "classic")
    rates = Path("classic/tables/qps.abs.x.tsv").read_text(encoding="utf-8")
    assert rates == RATES
    assert "only from a table" in printed
    actual = {
        (result["test"], result["contender"][-2:]): result
        for result in report(slowdust, "apr25")["results"]
    }
    point, scan = actual["point-query.range100", "tc"], actual["scan.range100", "tc"]
    assert (point["qps"], point["rqps"], point["clients"]) == (1300, pytest.approx(1.3), 64)
    # The number of CPUs is unknown: the time is the sum over all of them.
    assert point["per_op"]["host_share_us"] == pytest.approx(2.0)
    assert "host_cpu_us" not in point["per_op"]
    assert point.keys().isdisjoint({"latency_us", "measured_s", "peak_rss_gb", "counters"})
    assert (scan["unit"], scan["clients"]) == ("thousand rows/s", 64)
    lone = actual["insert.range100", "tc"]
    assert (lone["qps"], lone["notes"][-1]) == snapshot
    assert actual["load", "je"]["group"] == "load and warm-up"


def clients_told(slowdust: Slowdust, name: str) -> set[int]:
    return {result["clients"] for result in report(slowdust, name)["results"]}


def test_a_table_of_rates_alone_needs_the_number_of_clients(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    # CPUs, and rows in millions, are no clients.
    below = tmp_path / "apr25.c48.50m" / "b"
    below.mkdir(parents=True)
    (below / "qps.abs.x.tsv").write_text(RATES)
    printed = slowdust("import", "sysbench", below, code=1)
    assert mentions(printed, "qps.abs.x.tsv: ", "number of clients", "--clients")
    slowdust("import", "sysbench", below, "--clients", "4")
    assert clients_told(slowdust, "b") == {4}


@pytest.mark.parametrize(
    ("given", "below", "table", "source"),
    [
        ("dop4", "", "qps.abs.x.tsv", "the directory dop4"),
        ("dop4", "tables", "qps.abs.x.tsv", "the directory dop4"),
        ("sb.in.4u.50m.c48", "tables", "qps.abs.x.tsv", "the directory sb.in.4u.50m.c48"),
        ("sb.40u", "", "qps.abs.pgo.dop4.prep1.tsv", "qps.abs.pgo.dop4.prep1.tsv"),
    ],
)
def test_names_report_the_number_of_clients_where_nothing_else_does(
    *, tmp_path: Path, slowdust: Slowdust, given: str, below: str, table: str, source: str
) -> None:
    (tmp_path / given / below).mkdir(parents=True)
    (tmp_path / given / below / table).write_text(RATES)
    printed = slowdust("import", "sysbench", tmp_path / given, "--name", "a")
    assert mentions(printed, "  4 clients, from the name of ", source, "--clients")
    assert clients_told(slowdust, "a") == {4}
    printed = slowdust("import", "sysbench", tmp_path / given, "--name", "a", "--clients", "7")
    assert "by the name of" not in printed
    assert clients_told(slowdust, "a") == {7}


def test_names_around_the_directory_that_was_given_report_nothing(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    given = tmp_path / "nov25.4u" / "all" / "set"
    given.mkdir(parents=True)
    (given / "qps.abs.x.tsv").write_text(RATES)
    slowdust("import", "sysbench", given, code=1)
    printed = slowdust("import", "sysbench", given, "--clients", "4")
    assert "for all threads, an assumption" in printed
    printed = slowdust("import", "sysbench", tmp_path / "nov25.4u", "--name", "x")
    assert "4 clients, from the name of the directory nov25.4u" in printed
    assert mentions(printed, "scan: ", "for one thread", "date of the directory nov25.4u")


def test_a_directory_that_an_experiment_is_called_by_reports_something(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    given = tmp_path / "nov25.set" / "dop4"
    given.mkdir(parents=True)
    (given / "qps.abs.x.tsv").write_text(RATES)
    printed = slowdust("import", "sysbench", given)
    assert printed.startswith("nov25.set-dop4: ")
    assert mentions(printed, "for one thread", "date of the directory nov25.set")


def test_files_count_more_than_names(tmp_path: Path, slowdust: Slowdust) -> None:
    """A table called dop1 may be of 1 MB of work_mem."""
    archive = tmp_path / "dop9"
    levels = [Written(rate=1000.0, dop=dop, extra={"r.qps": ""}) for dop in (4, 8)]
    write_archive(archive, {RUN_A: levels})
    (archive / RUN_B).mkdir()
    for tag in ("dop1", "dop4"):
        table = (
            f"col-1 : {RUN_A}\ncol-2 : {RUN_B}\n\ncol-1\tcol-2\n1000\t{{}}\thot-points_range=100\n"
        )
        rate = {"dop1": "800", "dop4": "400"}[tag]
        (archive / f"qps.abs.{tag}.tsv").write_text(table.format(rate))
    printed = slowdust("import", "sysbench", archive, "--name", "a")
    assert "by the name of" not in printed
    rates = {
        (result["clients"], result["qps"])
        for result in report(slowdust, "a")["results"]
        if "17.4" in result["contender"]
    }
    assert rates == {(8, 800), (4, 400)}


LOAD = "sb.prepare.met.point-query.warm.range100.pk1"
ROW = "0.000025\t0.192\t0\t0\t1.235\t{rate}\t{run}\n"
HEAD = "--- absolute\ncpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms\n"


@pytest.mark.parametrize("loaded", [None, 95_000])
def test_a_load_of_a_table_has_the_clients_of_the_others(
    tmp_path: Path, slowdust: Slowdust, loaded: int | None
) -> None:
    runs = {RUN_A: [Written(load=loaded)], RUN_B: [Written()]}
    archive = write_archive(tmp_path / "a", runs)
    rows = "".join(ROW.format(rate=rate, run=run) for run, rate in ((RUN_A, 95000), (RUN_B, 99000)))
    (archive / "o.met.x").write_text(f"{LOAD}\n{HEAD}{rows}")
    slowdust("import", "sysbench", archive)
    loads = [result for result in report(slowdust, "a")["results"] if result["test"] == "load"]
    assert [(result["clients"], result["qps"]) for result in loads] == [(8, 95000), (8, 99000)]
    assert loads[1]["rqps"] == pytest.approx(99 / 95)
    assert clients_told(slowdust, "a") == {8}


def test_a_load_alone_has_the_clients_that_a_name_or_the_user_reports(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    (tmp_path / "a").mkdir()
    rows = ROW.format(rate=95000, run=RUN_A)
    (tmp_path / "a" / "o.met").write_text(f"{LOAD}\n{HEAD}{rows}")
    printed = slowdust("import", "sysbench", "a", code=1)
    assert mentions(printed, "o.met: ", "number of clients")
    slowdust("import", "sysbench", "a", "--clients", "4")
    assert clients_told(slowdust, "a") == {4}
    (tmp_path / "a" / "o.met").rename(tmp_path / "a" / "o.met.dop16")
    printed = slowdust("import", "sysbench", "a")
    assert "16 clients, from the name of o.met.dop16" in printed
    assert clients_told(slowdust, "a") == {16}


BARE = frozenset({"o", "vm", "io", "ps", "met"})


@pytest.mark.parametrize(
    ("others", "tables", "clients", "expected"),
    [
        ({RUN_B: Written(test="point-query.warm", dop=16)}, True, 16, None),
        ({}, True, 4, "table"),
        ({}, False, 8, "other tests"),
    ],
)
def test_rates_that_say_no_clients_match_other_runs_or_of_the_tables(
    *,
    tmp_path: Path,
    slowdust: Slowdust,
    others: dict[str, Written],
    tables: bool,
    clients: int,
    expected: str | None,
) -> None:
    warm = Written(test="point-query.warm", without=BARE)
    usual = Written(without=frozenset() if tables else frozenset({"o"}))
    runs = {run: [test, Written()] for run, test in others.items()}
    archive = write_archive(tmp_path / "a", {RUN_A: [warm, usual], **runs})
    printed = slowdust("import", "sysbench", archive)
    actual = [result for result in report(slowdust, "a")["results"] if "warm" in result["test"]]
    assert {result["clients"] for result in actual} == {clients}
    assert ("point-query.warm.range100: " in printed) == (expected is not None)
    if expected is not None:
        parts = ("point-query.warm.range100: ", f" {clients} clients", expected)
        assert mentions(printed, *parts)
        assert any(mentions(each, *parts) for each in report(slowdust, "a")["warnings"])


def test_the_clients_of_a_load_are_not_those_of_a_test(tmp_path: Path, slowdust: Slowdust) -> None:
    warm = Written(test="point-query.warm", without=BARE)
    archive = write_archive(tmp_path / "a", {RUN_A: [warm, Written()], RUN_B: [Written()]})
    (archive / RUN_B / f"sb.prepare.met.{warm.common}.dop16").write_text(warm.met("95000"))
    slowdust("import", "sysbench", archive)
    actual = {result["test"]: result["clients"] for result in report(slowdust, "a")["results"]}
    assert actual["point-query.warm.range100"] == 4


def test_a_table_of_hardware_reports_the_clients_of_rates(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    warm = Written(test="point-query.warm", without=BARE)
    archive = write_archive(tmp_path / "a", {RUN_A: [warm, Written()]})
    rows = ROW.format(rate=900, run=RUN_B)
    (archive / "o.met.x").write_text(f"sb.met.{warm.common}.dop2\n{HEAD}{rows}")
    slowdust("import", "sysbench", archive)
    actual = {(result["test"], result["clients"]) for result in report(slowdust, "a")["results"]}
    assert actual == {("point-query.warm.range100", 2), ("hot-points.range100", 8)}


def test_runs_without_a_number_of_clients_are_reported_by_their_directory(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    bare = Written(without=frozenset({"o", "vm", "io", "ps", "met"}))
    write_archive(tmp_path / "set.16u", {RUN_A: [bare]})
    printed = slowdust("import", "sysbench", tmp_path / "set.16u", "--name", "a")
    assert "16 clients, from the name of the directory set.16u" in printed
    assert clients_told(slowdust, "a") == {16}


def test_a_table_is_of_one_number_of_clients(tmp_path: Path, slowdust: Slowdust) -> None:
    """Most tests decide the number: results at other numbers are skipped."""
    tests = [Written(test=test, rate=100.0) for test in ("delete", "insert", "update-index")]
    odd = Written(
        test="delete", rate=7.0, dop=99, without=frozenset({"r.qps", "r.rtavg", "r.rt95"})
    )
    archive = write_archive(tmp_path / "a", {RUN_A: [*tests, odd], RUN_B: tests})
    text = f"col-1 : {RUN_A}\ncol-2 : {RUN_B}\n\ncol-1\tcol-2\n" + "".join(
        f"100\t100\t{test}_range=100\n" for test in ("delete", "insert", "new", "update-index")
    )
    (archive / "qps.abs.tsv").write_text(text)
    slowdust("import", "sysbench", archive, "--compat")
    actual = {
        (result["test"], result["contender"][9:14], result["clients"]): result["qps"]
        for result in report(slowdust, "a")["results"]
    }
    usual = {
        (f"{test}.range100", version, 8): 100
        for test in ("delete", "insert", "new", "update-index")
        for version in ("10.23", "17.4:")
    }
    assert actual == usual | {("delete.range100", "10.23", 99): 7}
    slowdust("report", "a", "--classic", "classic")
    assert Path("classic/qps.abs.tsv").read_text(encoding="utf-8") == text


def test_a_run_without_numbers_has_that_of_most_others(tmp_path: Path, slowdust: Slowdust) -> None:
    result, odd = (
        Written(test="delete"),
        Written(test="delete", dop=99, without=frozenset({"r.qps"})),
    )
    bare = Written(test="delete", without=frozenset({"o", "vm", "io", "ps", "met"}))
    runs = {RUN_A: [result, Written(test="insert"), odd], RUN_B: [bare]}
    slowdust("import", "sysbench", write_archive(tmp_path / "a", runs))
    levels = {
        (result["contender"][9:14], result["clients"])
        for result in report(slowdust, "a")["results"]
        if result["test"].startswith("delete")
    }
    assert levels == {("10.23", 8), ("10.23", 99), ("17.4:", 8)}


def test_a_test_that_no_run_has_at_that_number_has_its_own(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    tests = [
        Written(test="insert"),
        Written(test="delete"),
        Written(test="point-query.warm", dop=4),
    ]
    odd = Written(
        test="point-query.warm", dop=99, without=frozenset({"r.qps", "r.rtavg", "r.rt95"})
    )
    archive = write_archive(tmp_path / "a", {RUN_A: tests, RUN_B: [*tests, odd]})
    (archive / "qps.abs.tsv").write_text(
        f"col-1 : {RUN_A}\ncol-2 : {RUN_B}\n\ncol-1\tcol-2\n5\t6\tpoint-query.warm_range=100\n"
    )
    for path in archive.glob("*/*.point-query.warm.*dop4*"):
        if path.parent.name == RUN_A and not path.name.startswith("sb.met"):
            path.unlink()
    slowdust("import", "sysbench", archive)
    levels = {
        (result["contender"][9:14], result["clients"])
        for result in report(slowdust, "a")["results"]
        if result["test"].startswith("point-query.warm")
    }
    assert levels == {("10.23", 4), ("17.4:", 4), ("17.4:", 99)}
