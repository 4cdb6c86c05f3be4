"""Names of imports in the store, and the experiments that they replace."""

from itertools import pairwise
from pathlib import Path

import pytest

from slowdust.store.folder import Folder, writing
from tests.unit.archive.command import Slowdust, mentions, report, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive
from tests.unit.synthetic import synthetic_experiment

__all__ = ["slowdust"]

OLD = Written(rate=1000.5)
NEW = Written(rate=1200.25)


def test_several_directories_are_several_experiments(tmp_path: Path, slowdust: Slowdust) -> None:
    for name in ("mar25/dop1", "mar25/dop8", "apr25"):
        write_archive(tmp_path / "all" / name, {RUN_A: [OLD], RUN_B: [NEW]})
    slowdust("import", "sysbench", tmp_path / "all")
    assert {line.split()[0] for line in slowdust("list").splitlines()} == {
        "apr25", "mar25-dop1", "mar25-dop8"
    }  # fmt: skip
    slowdust("import", "sysbench", tmp_path / "all" / "mar25", "--name", "x", "--results", "other")
    listed = slowdust("list", "--results", "other").splitlines()
    assert {line.split()[0] for line in listed} == {"x-mar25-dop1", "x-mar25-dop8"}
    slowdust("import", "sysbench", tmp_path / "all/apr25" / RUN_A, "--name", "one")
    assert [result["slices"] for result in report(slowdust, "one")["results"]] == [1]


def test_a_directory_spelled_two_ways_is_one_experiment(tmp_path: Path, slowdust: Slowdust) -> None:
    archive = write_archive(tmp_path / "Q", {RUN_A: [OLD], RUN_B: [NEW]})
    (tmp_path / "link").symlink_to(archive)
    printed = slowdust("import", "sysbench", f"Q/{RUN_A}", f"link/../Q/{RUN_B}", archive, "link")
    assert [line.split()[0] for line in slowdust("list").splitlines()] == ["Q"]
    assert printed.startswith("Q: 2 contenders, 1 test, 2 results")
    slowdust("import", "sysbench", f"Q/{RUN_A}", archive / RUN_B)
    assert [line.split()[0] for line in slowdust("list").splitlines()] == ["Q"]


def test_an_import_is_replaced_and_a_measurement_is_not(
    tmp_path: Path, slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]})
    slowdust("import", "sysbench", archive)
    slowdust("import", "sysbench", archive)
    assert len(Folder(tmp_path / "results" / "a").read_slices()) == 2
    manifest, _ = synthetic_experiment(["a@1", "a@2"], ["point-query"], seed=1)
    with writing(Folder(tmp_path / "results" / "measured")) as writer:
        writer.write_manifest(manifest)
    complaint = slowdust("import", "sysbench", archive, "--name", "measured", code=2)
    assert "'measured' in results " in complaint
    assert "choose another --name" in complaint


def test_a_part_of_a_directory_replaces_no_more_than_it_has(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    archive = write_archive(tmp_path / "Q", {RUN_A: [OLD], RUN_B: [NEW]})
    slowdust("import", "sysbench", archive / RUN_B)
    slowdust("import", "sysbench", archive)
    before = report(slowdust, "Q")
    complaint = slowdust("import", "sysbench", archive / RUN_B, code=2)
    assert mentions(complaint, "'Q' in results ", "postgres@10.23:x10a_c8+o2", "--name")
    assert str(archive) in complaint
    assert report(slowdust, "Q") == before
    (archive / "qps.abs.x.tsv").write_text(f"col-1 : {RUN_A}\n\n7\tscan_range=100\n")
    slowdust("import", "sysbench", archive)
    complaint = slowdust("import", "sysbench", archive / RUN_A, archive / RUN_B, code=2)
    assert "scan.range100" in complaint
    slowdust("import", "sysbench", archive / RUN_B, "--name", "other")
    # What is no longer in the directory is no longer in the experiment.
    (archive / RUN_A).rename(tmp_path / RUN_A)
    slowdust("import", "sysbench", archive)
    slowdust("import", "sysbench", archive / RUN_B, code=2)
    (archive / "qps.abs.x.tsv").unlink()
    slowdust("import", "sysbench", archive)
    slowdust("import", "sysbench", archive / RUN_B)


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".", "..", "-x", "a b", "a\n"])
@pytest.mark.parametrize("kind", ["sysbench", "iibench"])
def test_an_import_stays_in_the_results_folder(
    tmp_path: Path, slowdust: Slowdust, name: str, kind: str
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD]})
    complaint = slowdust("import", kind, archive, f"--name={name}", code=2)
    assert "._@+-" in complaint
    assert {path.name for path in tmp_path.iterdir()} == {"a"}


def test_a_run_whose_name_says_no_version_is_last_and_reported(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    archive = write_archive(tmp_path / "a", {"x.in80.cy9.pk1": [OLD], RUN_B: [NEW]})
    printed = slowdust("import", "sysbench", archive)
    assert mentions(printed, "  version ", ": x.in80.cy9.pk1")
    contenders = report(slowdust, "a")["contenders"]
    assert contenders == ["postgres@17.4:x10a_c8+o2", "x.in80.cy9.pk1"]
    shown = slowdust("show", "a")
    assert shown.splitlines()[0] == "a: imported, measured 2025-03-04"


def test_directories_of_one_name_are_reported_by_their_paths(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    for folder in ("one", "two"):
        write_archive(tmp_path / folder / "r", {RUN_A: [OLD]})
    write_archive(tmp_path / "s", {RUN_A: [OLD]})
    printed = slowdust("import", "sysbench", "one/r", "two/r", "s").splitlines()
    paths = {
        head.partition(":")[0]: path for head, path in pairwise(printed) if path.startswith("  of ")
    }
    assert paths == {
        "r": f"  of {tmp_path / 'one' / 'r'}",
        "r-2": f"  of {tmp_path / 'two' / 'r'}",
    }


def test_the_markdown_of_a_single_archived_run_promises_no_interval(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [Written()]}))
    text = slowdust("report", "a", "--md")
    assert "without intervals" in text
    assert "95% interval" not in text


def test_a_list_of_experiments_has_columns(tmp_path: Path, slowdust: Slowdust) -> None:
    for name in ("a", "much-longer"):
        archive = write_archive(tmp_path / name, {RUN_A: [Written()]})
        slowdust("import", "sysbench", archive)
    first, second = slowdust("list").splitlines()
    assert first.index("imported") == second.index("imported")
