"""What names of archived files and directories say."""

import pytest

from slowdust.archive.names import FileName, parse_file, parse_run, parse_version


@pytest.mark.parametrize(
    ("name", "said"),
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
def test_a_file_says_what_it_is_of(name: str, said: FileName) -> None:
    assert parse_file(name) == said


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


@pytest.mark.parametrize(("letters", "digits"), [("pg", "8"), ("ma", "1108"), ("my", "8")])
def test_too_few_digits_are_no_version(letters: str, digits: str) -> None:
    assert parse_version(letters, digits) is None


def test_a_run_says_what_was_measured() -> None:
    run = parse_run("x.pg1110_o2nofp.x10a_c32r128.pk1")
    assert run is not None
    assert (run.dbms, run.version, run.build, run.config) == (
        "postgres", "11.10", "o2nofp", "x10a_c32r128"
    )  # fmt: skip


@pytest.mark.parametrize("name", ["x.zz10_a.b.pk1", "logs", "x", "pg"])
def test_other_directories_are_no_runs(name: str) -> None:
    assert parse_run(name) is None
