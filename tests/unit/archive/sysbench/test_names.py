"""Parsing the names of archived files and directories."""

import pytest

from slowdust.archive.runs import (
    facts_of,
    order_of_runs,
    parse_run,
    parse_version,
    titles_of,
    undecoded,
)
from slowdust.archive.sysbench.names import FileName, parse_file


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        (
            "sb.met.hot-points.range100.pk1.dop40",
            FileName("met", "hot-points", None, 100, 40, None, None),
        ),
        (
            "sb.io.point-query.warm.range100.pk1.dop8.gz",
            FileName("io", "point-query", "warm", 100, 8, None, None),
        ),
        (
            "sb.r.qps.scan.warmpre.range100.pk0",
            FileName("r.qps", "scan", "warmpre", 100, None, None, None, pk=0),
        ),
        (
            "sb.perf.hw.read-only.range10000.pk1.2.sorted",
            FileName("perf.hw", "read-only", None, 10000, None, 2, "sorted"),
        ),
        (
            "sb.prepare.met.point-query.warm.range100.pk1",
            FileName("prepare.met", "point-query", "warm", 100, None, None, None),
        ),
    ],
)
def test_a_file_says_what_it_is_of(name: str, printed: FileName) -> None:
    assert parse_file(name) == printed


@pytest.mark.parametrize("name", ["conf.diff", "sb.o.pgvac", "sb.perf.last", "notes.txt", ""])
def test_other_files_say_nothing(name: str) -> None:
    assert parse_file(name) is None


def test_tests_have_the_labels_of_the_tables() -> None:
    file = parse_file("sb.met.scan.warm.range100.pk1.dop40")
    assert file is not None
    assert file.label == "scan.warm_range=100"


@pytest.mark.parametrize(
    ("written", "version"),
    [
        ("pg1110", "11.10"),
        ("pg110", "11.0"),
        ("pg1023", "10.23"),
        ("pg176", "17.6"),
        ("pg9624", "9.6.24"),
        ("pg18", "18"),
        ("pg96", "9.6"),
        ("ma1108", "11.8"),
        ("ma100244", "10.2.44"),
        ("my8044", "8.0.44"),
        ("my8407", "8.4.7"),
        ("my9500", "9.5.0"),
        ("my5649", "5.6.49"),
        ("ma110803", "11.8.3"),
        ("ma120101", "12.1.1"),
        ("ma101118", "10.11.18"),
        ("rx80", "8.0"),
    ],
)
def test_versions_are_read_by_the_rules_of_their_dbms(written: str, version: str) -> None:
    letters = written.rstrip("0123456789")
    assert parse_version(letters, written.removeprefix(letters)) == version


@pytest.mark.parametrize(
    ("letters", "digits"), [("pg", "8"), ("ma", "11"), ("ma", "10244"), ("my", "8")]
)
def test_digits_that_could_be_of_several_versions_are_none(letters: str, digits: str) -> None:
    assert parse_version(letters, digits) is None


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("x.pg1110_o2nofp.x10a_c32r128.pk1", "postgres@11.10:x10a_c32r128+o2nofp"),
        ("x.pg18beta1_o2nofp.x10b_c8r32.pk1", "postgres@18beta1:x10b_c8r32+o2nofp"),
        ("pg17rc1_def.cx9a2_bee", "postgres@17rc1:cx9a2_bee+def"),
        ("pg19devel", "postgres@19devel"),
        ("pgdevel_o2nofp_260514_abcdef12", "postgres@devel-20260514-abcdef12+o2nofp"),
        (
            "x.pg_oriole_patches17_5_o2nofp.x10a_oriole_c32r128.pk1",
            "orioledb@17-patches5:x10a_oriole_c32r128+o2nofp",
        ),
        ("ma110806_rel_withdbg.z12b_c8r32", "mariadb@11.8.6:z12b_c8r32+rel_withdbg"),
        ("fbmy5635_202203072101.cy9c5_u", "myrocks@5.6.35-202203072101:cy9c5_u"),
        ("fbmy5635_rel_20240710.cy9c5_u", "myrocks@5.6.35-20240710:cy9c5_u+rel"),
        (
            "fbmy8032_rel_o2nofp_end_je_241023_ba9709c9_971.za5_c32r128",
            "myrocks@8.0.32-20241023-ba9709c9-971:za5_c32r128+rel_o2nofp_end_je",
        ),
        (
            "fbmy8032_rel_241023_ba9709c9_971_bug1481_1482.za2_bee",
            "myrocks@8.0.32-20241023-ba9709c9-971:za2_bee+rel_bug1481_1482",
        ),
        ("my8407_rel_c0ffee1.z12a", "mysql@8.4.7-c0ffee1:z12a+rel"),
        ("my8407_rel_241023.z12a", "mysql@8.4.7:z12a+rel_241023"),
        ("pg18_20251301", "postgres@18+20251301"),
        ("pg18_deadbeef", "postgres@18+deadbeef"),
        ("pg18.x10a-c8.v2.pk0", "postgres@18:x10a-c8.v2"),
        ("my5649.cx6d.badcnf", "mysql@5.6.49:cx6d+badcnf"),
    ],
)
def test_a_run_says_what_was_measured(name: str, title: str) -> None:
    run = parse_run(name)
    assert run is not None
    assert run.title == title


@pytest.mark.parametrize(
    "name", ["x.zz10_a.b.pk1", "logs", "x", "pg", "24", "pg18.x..y", "in80.y9"]
)
def test_other_directories_are_no_runs(name: str) -> None:
    assert parse_run(name) is None


def test_runs_are_in_the_order_of_versions_and_those_that_do_not_say_are_last() -> None:
    numbered = ["pg9624_o2.c", "pg1023_o2.c", "pg110_o2.c", "pg1110_o2.c", "pg17devel"]
    early = [
        "pg17beta2",
        "pg17beta10",
        "pg17rc1",
        "pg170",
        "pg177",
        "pg18beta1",
        "pg18rc1",
        "pg180",
    ]
    written = [*numbered, *early, "pg19devel", "pgdevel", "24", "ma10244_rel.z"]

    assert sorted(set(written), key=order_of_runs) == written


def test_numbers_after_a_hash_are_counted_on() -> None:
    builds = [
        "fbmy8032_rel_231023_ba9709c9_1021.z",
        "fbmy8032_rel_241023_ba9709c9_971.z",
        "fbmy8032_rel_241023_ab9709c9_1021.z",
        "fbmy8032_rel_241023_ba9709c9_1021.z",
        "fbmy8032_rel_241023_ba9709c9_1021_2.z",
    ]
    assert sorted(sorted(builds), key=order_of_runs) == builds


def test_a_name_that_does_not_say_its_version_is_reported() -> None:
    decoded = facts_of("pg174", "postgres@17.4")
    others = [facts_of(run, run) for run in ("a", "b", "c", "d", "ma10244_rel")]

    assert (others[-1].dbms, others[-1].build.version) == ("mariadb", "unknown")
    assert undecoded([decoded]) == []
    assert undecoded([decoded, others[-1]]) == ["version not decoded: ma10244_rel"]
    assert undecoded(others) == ["version not decoded: a, b, c, d and 1 more"]


@pytest.mark.parametrize(
    "name", ["x.pg{}.c", "x.pg17beta{}.c", "pg_oriole_patches{}_5", "x.fbmy8032_rel_20241023_{}.c"]
)
def test_numbers_without_end_are_none(name: str) -> None:
    printed = parse_run(name.format("9" * 5000))
    assert printed is None or len(printed.version or "") < 20
    assert order_of_runs(name.format("9" * 5000))


def test_runs_with_and_without_a_primary_key_are_distinguished() -> None:
    runs = ["x.pg110_o2.c8.pk1", "x.pg110_o2.c8.pk0", "x.pg174_o2.c8.pk0"]

    assert list(titles_of(runs).values()) == [
        "postgres@11.0:c8+o2", "postgres@11.0:c8+o2+pk0", "postgres@17.4:c8+o2"
    ]  # fmt: skip
