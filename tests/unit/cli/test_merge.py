"""`slowdust merge`, and other commands on merged experiments."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.store.folder import Folder
from tests.unit.cli.command import Slowdust, spoken
from tests.unit.synthetic_hosts import NEW, keep_parts, part_of

small_part = partial(part_of, tests=["point-query", "scan"], incarnations=2, blocks=4)


@pytest.fixture
def parts(results: Path) -> list[str]:
    found = keep_parts(
        results,
        small_part("alpha", {NEW: 0.9}),
        small_part("beta", {NEW: 0.9}, seed=2),
    )
    return [part.folder.name for part in found]


def test_experiments_are_joined_by_name_folder_and_bundle(
    slowdust: Slowdust, results: Path, parts: list[str], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    bundle = tmp_path / "alpha.slowdust"
    assert slowdust("bundle", parts[0], "-o", bundle).code == 0
    outcome = slowdust("merge", bundle, results / parts[1], "--name", "both", "--replicate")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == snapshot
    first, second = Folder(results / "both").read_manifest().hosts
    assert first.parts[0].path == str(bundle.absolute())
    assert second.parts[0].experiment == parts[1]


def test_a_part_given_twice_is_named(
    slowdust: Slowdust, parts: list[str], snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("merge", *parts, parts[0], "--name", "both")
    assert outcome.err == snapshot


def test_reports_of_joined_experiments_in_all_formats(
    slowdust: Slowdust, results: Path, parts: list[str], snapshot: SnapshotAssertion
) -> None:
    slowdust("merge", *parts, "--name", "both")
    shown = slowdust("report", "both").out
    assert shown == snapshot
    page = (results / "both/report.html").read_text(encoding="utf-8")
    assert '<section id="hosts">' in page
    assert "## By host" in slowdust("report", "both", "--md").out
    assert "alpha (synthetic); beta (synthetic)" in slowdust("report", "both", "--csv").out
    report = json.loads(slowdust("report", "both", "--json").out)
    assert [host["name"] for host in report["hosts"]] == ["alpha", "beta"]
    of_hosts = next(each for each in report["results"] if each["contender"] == NEW)["hosts"]
    assert [each["host"] for each in of_hosts] == ["alpha", "beta"]
    assert all(each["low"] < each["rqps"] < each["high"] for each in of_hosts)
    assert "on-alpha" not in slowdust("report", "on-alpha", "--md").out.partition("By host")[2]


def test_joined_experiments_are_listed_shown_bundled_and_renamed(
    slowdust: Slowdust, results: Path, parts: list[str], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    slowdust("merge", *parts, "--name", "both")
    assert slowdust("list").out == snapshot
    assert slowdust("show", "both").out == snapshot
    bundle = tmp_path / "both.slowdust"
    assert slowdust("bundle", "both", "-o", bundle).code == 0
    assert slowdust("import", "bundle", bundle, "--name", "again").code == 0
    assert slowdust("rename", "again", "twice").code == 0
    assert len(Folder(results / "twice").read_manifest().hosts) == 2


def test_a_joined_experiment_is_not_resumed(
    slowdust: Slowdust, parts: list[str], snapshot: SnapshotAssertion
) -> None:
    slowdust("merge", *parts, "--name", "both")
    for command in (("more", "both"), ("run", "both", "--resume")):
        outcome = slowdust(*command)
        assert outcome.code == 2
        assert outcome.complaint == snapshot


def test_a_difference_to_its_own_part_is_refused(
    slowdust: Slowdust, parts: list[str], snapshot: SnapshotAssertion
) -> None:
    slowdust("merge", *parts, "--name", "both")
    outcome = slowdust("diff", "on-alpha", "both")
    assert outcome.code == 2
    assert outcome.complaint == snapshot


def test_a_difference_between_two_sets_of_hosts_names_them(
    slowdust: Slowdust, results: Path, parts: list[str], snapshot: SnapshotAssertion
) -> None:
    others = keep_parts(results, small_part("gamma", {NEW: 0.9}, seed=3))
    slowdust("merge", *parts, "--name", "both")
    shown = slowdust("diff", "both", others[0].folder.name, "--md").out
    assert shown == snapshot


def test_a_history_separates_sets_of_hosts_from_their_hosts(
    slowdust: Slowdust, parts: list[str], snapshot: SnapshotAssertion
) -> None:
    slowdust("merge", *parts, "--name", "both")
    shown = slowdust("history", "--md").out
    assert [line for line in shown.splitlines() if "alpha" in line] == snapshot


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--replicate", "--spread"), "--replicate"),
        (("--spread",), "--spread: "),
        (("--host", "on-alpha"), "--host"),
        (("--host", "on-alfa=a"), "'on-alfa'"),
    ],
    ids=spoken,
)
def test_wrong_use_is_one_line(
    slowdust: Slowdust,
    results: Path,
    parts: list[str],
    arguments: tuple[str, ...],
    named: str,
    *,
    snapshot: SnapshotAssertion,
) -> None:
    outcome = slowdust("merge", *parts, "--name", "both", *arguments)
    assert outcome.code == 2
    assert named in outcome.complaint
    assert outcome.complaint == snapshot
    assert not (results / "both").exists()


def test_an_unknown_part_and_a_taken_name_are_refused(
    slowdust: Slowdust, parts: list[str], snapshot: SnapshotAssertion
) -> None:
    assert slowdust("merge", "on-alfa", "--name", "x").complaint == snapshot
    outcome = slowdust("merge", *parts, "--name", "slap")
    assert outcome.code == 2
    assert outcome.complaint == snapshot


def test_a_report_is_about_the_hosts_of_one_model(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    parts = keep_parts(
        results,
        part_of("alpha", {NEW: 0.8}, tests=["scan"]),
        part_of("beta", {NEW: 0.8}, tests=["scan"], seed=2),
        part_of("gamma", cpu="AMD Epyc 9654", tests=["scan"], seed=3),
    )
    slowdust("merge", *(part.folder.name for part in parts), "--name", "three")
    of_all, of_two, of_one = (
        json.loads(slowdust("report", "three", "--json", *group).out)
        for group in ((), ("--group", "synthetic"), ("--group", "epyc"))
    )
    for report, verdict, slices in ((of_all, "unsure", 288), (of_two, "slower", 192)):
        changed = [result for result in report["results"] if result["contender"] == NEW]
        assert {result["verdict"] for result in changed} == {verdict}
        assert {result["slices"] for result in changed} == {slices / 2}
    assert [host["name"] for host in of_one["hosts"]] == ["gamma"]
    assert slowdust("report", "three", "--group", "epyc").code == 0
    assert (results / "three/report-on-epyc.html").is_file()
    refused = slowdust("report", "three", "--group", "sparc")
    assert refused.code == 2
    assert refused.complaint == snapshot
    assert slowdust("report", "slap", "--group", "x").complaint == snapshot
