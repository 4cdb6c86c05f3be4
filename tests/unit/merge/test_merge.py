"""Parts merged into one experiment: nothing is lost, counted twice or mixed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.calibration import calibration_of
from slowdust.errors import SlowdustError, UsageError
from slowdust.merge.merge import merge
from slowdust.merge.sources import Source, disambiguate_hosts
from slowdust.store.bundle import open_bundle, pack
from slowdust.store.experiments import Annotation, read_annotation, write_annotation
from slowdust.store.finding import Finding, Severity
from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import MERGED_SCHEMA, Counting, Manifest
from slowdust.store.preparation import Preparation
from slowdust.store.slice import Slice
from slowdust.store.trial import Trial
from tests.unit.synthetic_calibration import synthetic_calibration
from tests.unit.synthetic_counts import synthetic_counts
from tests.unit.synthetic_hosts import NEW, OLD, keep_parts, part_of


@pytest.fixture
def parts(tmp_path: Path) -> list[Source]:
    return keep_parts(tmp_path, part_of("alpha"), part_of("beta", seed=2))


def _joined(results: Path) -> Folder:
    return Folder(results / "joined")


def _ratio_keys(slices: list[Slice]) -> set[tuple[object, ...]]:
    return {(record.place.test, record.measured.started, record.qps) for record in slices}


def test_a_machine_that_took_the_name_of_another_is_a_host_of_its_own(tmp_path: Path) -> None:
    of = [part_of("alpha"), part_of("beta", seed=2), part_of("alpha", seed=3)]
    of[2][0].experiment = "again"
    parts = [replace(part, host="rack1") for part in keep_parts(tmp_path, *of)]
    with pytest.raises(UsageError, match="different facts"):
        merge(parts, _joined(tmp_path))
    manifest = merge(disambiguate_hosts(parts), _joined(tmp_path)).folder.read_manifest()
    assert [host.name for host in manifest.hosts] == ["rack1", "rack1-2"]
    assert [part.experiment for part in manifest.hosts[0].parts] == ["on-alpha", "again"]


def test_all_slices_are_there_once_and_each_start_is_of_one_host(
    tmp_path: Path, parts: list[Source]
) -> None:
    joined = merge(parts, _joined(tmp_path))
    slices = joined.folder.read_slices()
    of_parts = [record for part in parts for record in part.folder.read_slices()]
    assert _ratio_keys(slices) == _ratio_keys(of_parts)
    assert len(slices) == len(of_parts)
    manifest = joined.folder.read_manifest()
    assert [(host.name, host.incarnations) for host in manifest.hosts] == [
        ("alpha", [1, 2, 3]),
        ("beta", [4, 5, 6]),
    ]
    assert manifest.hosts[1].parts[0].experiment == "on-beta"
    assert manifest.hosts[1].parts[0].path == str(tmp_path / "on-beta")
    assert manifest.schema == MERGED_SCHEMA
    assert manifest.host == {"CPU": "synthetic", "Memory": "7.9 GiB"}
    assert manifest.method.incarnations == 6
    assert manifest.spent_s == 1000.0
    assert joined.sentences == ()


def test_joining_again_makes_the_same_bytes_and_keeps_the_users_note(
    tmp_path: Path, parts: list[Source]
) -> None:
    folder = merge(parts, _joined(tmp_path)).folder
    write_annotation(folder, Annotation(note="nightly"))
    before = {path.name: path.read_bytes() for path in folder.path.glob("*.*json")}
    again = merge(parts, _joined(tmp_path)).folder
    assert {path.name: path.read_bytes() for path in again.path.glob("*.*json")} == before
    assert read_annotation(again).note == "nightly"
    assert not list(tmp_path.glob(".slowdust-tmp-*"))


def test_a_part_that_grew_is_taken_again(tmp_path: Path, parts: list[Source]) -> None:
    before = len(merge(parts, _joined(tmp_path)).folder.read_slices())
    with writing(parts[0].folder) as writer:
        record = parts[0].folder.read_slices()[0]
        record.place.incarnation, record.measured.started = 4, 1.0
        writer.append(record)
    joined = merge(parts, _joined(tmp_path))
    assert len(joined.folder.read_slices()) == before + 1
    assert [host.incarnations for host in joined.manifest.hosts] == [[1, 2, 3, 4], [5, 6, 7]]


def test_a_part_given_twice_counts_once_and_is_named(
    tmp_path: Path, parts: list[Source], snapshot: SnapshotAssertion
) -> None:
    joined = merge([*parts, parts[0]], _joined(tmp_path))
    assert joined.sentences == snapshot
    assert len(joined.folder.read_slices()) == sum(len(p.folder.read_slices()) for p in parts)


@pytest.mark.parametrize("order", [1, -1])
def test_a_copy_that_continued_counts_alone(
    tmp_path: Path, parts: list[Source], order: int, snapshot: SnapshotAssertion
) -> None:
    shutil.copytree(parts[0].folder.path, tmp_path / "longer")
    longer = Source(Folder(tmp_path / "longer"), given="longer")
    with writing(longer.folder) as writer:
        record = longer.folder.read_slices()[0]
        record.place.incarnation, record.measured.started = 4, 1.0
        writer.append(record)
    joined = merge([longer, *parts][::order], _joined(tmp_path))
    assert joined.sentences == snapshot
    assert [host.name for host in joined.manifest.hosts][::order] == ["alpha", "beta"]


def test_a_joined_experiment_has_all_of_its_parts(
    tmp_path: Path, parts: list[Source], snapshot: SnapshotAssertion
) -> None:
    first = Source(merge(parts, Folder(tmp_path / "two")).folder)
    [third] = keep_parts(tmp_path, part_of("gamma", seed=3))
    joined = merge([first, parts[1], third], _joined(tmp_path))
    assert joined.sentences == snapshot
    assert [(host.name, host.incarnations) for host in joined.manifest.hosts] == [
        ("alpha", [1, 2, 3]),
        ("beta", [4, 5, 6]),
        ("gamma", [7, 8, 9]),
    ]


def test_copies_that_diverged_are_refused(
    tmp_path: Path, parts: list[Source], snapshot: SnapshotAssertion
) -> None:
    shutil.copytree(parts[0].folder.path, tmp_path / "other")
    other = Source(Folder(tmp_path / "other"), given="other")
    for number, folder in enumerate((parts[0].folder, other.folder)):
        with writing(folder) as writer:
            record = folder.read_slices()[0]
            record.place.incarnation, record.measured.started = 4, float(number)
            writer.append(record)
    with pytest.raises(UsageError) as error:
        merge([parts[0], other], _joined(tmp_path))
    assert str(error.value) == snapshot


def test_parts_of_one_host_are_one_host(tmp_path: Path) -> None:
    first, second = part_of("alpha"), part_of("alpha", seed=2)
    second[0].experiment = "on-alpha-again"
    [host] = merge(keep_parts(tmp_path, first, second), _joined(tmp_path)).manifest.hosts
    assert host.incarnations == [1, 2, 3, 4, 5, 6]
    assert [part.experiment for part in host.parts] == ["on-alpha", "on-alpha-again"]
    assert (host.started, host.finished) == (first[0].started, second[0].finished)


def test_hosts_with_the_same_facts_are_distinguished_by_names(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    both = [part_of("alpha"), part_of("alpha", seed=2)]
    both[1][0].experiment = "elsewhere"
    both[1][0].started, both[1][0].finished = both[0][0].started, both[0][0].finished
    parts = keep_parts(tmp_path, *both)
    with pytest.raises(UsageError) as error:
        merge(parts, _joined(tmp_path))
    assert str(error.value) == snapshot
    named = [Source(part.folder, name) for part, name in zip(parts, ("a", "b"), strict=True)]
    assert [h.name for h in merge(named, _joined(tmp_path)).manifest.hosts] == ["a", "b"]
    with pytest.raises(UsageError) as error2:
        merge([named[0], parts[1]], _joined(tmp_path))
    assert str(error2.value) == snapshot


def test_a_host_that_is_not_known_is_asked_for(tmp_path: Path) -> None:
    manifest, slices = part_of("alpha")
    manifest.host = {}
    [part] = keep_parts(tmp_path, (manifest, slices))
    with pytest.raises(UsageError, match=r"--host on-alpha=NAME"):
        merge([part], _joined(tmp_path))


def _margin(manifest: Manifest) -> None:
    manifest.method.margin = 0.05


def _rows(manifest: Manifest) -> None:
    manifest.method.rows = 5


def _build(manifest: Manifest) -> None:
    manifest.contenders[1].build.sha256 = "0" * 64


def _setting(manifest: Manifest) -> None:
    manifest.contenders[0].settings["fsync"] = "off"


def _engine(manifest: Manifest) -> None:
    manifest.contenders[0].engine = "rocksdb"


def _environment(manifest: Manifest) -> None:
    manifest.contenders[1].environment = ["jemalloc"]


def _base(manifest: Manifest) -> None:
    manifest.base = NEW


@pytest.mark.parametrize(
    "change",
    [
        _margin,
        _rows,
        _build,
        _setting,
        _engine,
        _environment,
        _base,
    ],
)
def test_parts_that_measured_other_things_are_refused(
    tmp_path: Path, change: Callable[[Manifest], None], snapshot: SnapshotAssertion
) -> None:
    other = part_of("beta", seed=2)
    change(other[0])
    with pytest.raises(UsageError) as error:
        merge(keep_parts(tmp_path, part_of("alpha"), other), _joined(tmp_path))
    assert str(error.value) == snapshot
    assert not _joined(tmp_path).path.exists()


def test_another_benchmark_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    other = part_of("beta", seed=2)
    for record in other[1]:
        record.place.benchmark = "slap"
    with pytest.raises(UsageError) as error:
        merge(keep_parts(tmp_path, part_of("alpha"), other), _joined(tmp_path))
    assert str(error.value) == snapshot


def test_lengths_of_slices_and_budgets_may_differ(tmp_path: Path) -> None:
    other = part_of("beta", seed=2)
    other[0].method.slice_s, other[0].method.budget_s, other[0].method.seed = 0.1, 60.0, 2
    manifest = merge(keep_parts(tmp_path, part_of("alpha"), other), _joined(tmp_path)).manifest
    method = manifest.method
    assert (method.slice_s, method.budget_s, method.seed) == (None, 660.0, None)


def test_shards_have_other_tests_and_contenders(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    third = "postgres@18.0"
    parts = keep_parts(
        tmp_path,
        part_of("alpha", tests=["scan"]),
        part_of("beta", tests=["point-query"], contenders=[OLD, third], seed=2),
    )
    manifest = merge(parts, _joined(tmp_path), "spread").manifest
    assert manifest.tests == ["scan", "point-query"]
    assert [contender.name for contender in manifest.contenders] == [OLD, NEW, third]
    with pytest.raises(UsageError) as error:
        merge(parts, _joined(tmp_path), "replicate")
    assert str(error.value) == snapshot


def test_a_test_on_several_hosts_is_not_spread(
    tmp_path: Path, parts: list[Source], snapshot: SnapshotAssertion
) -> None:
    assert merge(parts, _joined(tmp_path), "replicate").manifest.hosts
    with pytest.raises(UsageError) as error:
        merge(parts, _joined(tmp_path), "spread")
    assert str(error.value) == snapshot


def test_an_experiment_that_was_measured_is_never_replaced(
    tmp_path: Path, parts: list[Source]
) -> None:
    with pytest.raises(UsageError, match="'on-alpha'"):
        merge(parts, parts[0].folder)
    keep_parts(tmp_path, part_of("gamma", seed=3))
    with pytest.raises(UsageError, match="'on-gamma'"):
        merge(parts, Folder(tmp_path / "on-gamma"))


def test_a_damaged_part_changes_nothing(tmp_path: Path, parts: list[Source]) -> None:
    merge(parts, _joined(tmp_path))
    before = _joined(tmp_path).read_slices()
    (parts[1].folder.path / "slices.ndjson").write_bytes(b"{}\n" * 2)
    with pytest.raises(SlowdustError, match="is damaged"):
        merge(parts, _joined(tmp_path))
    assert _joined(tmp_path).read_slices() == before


def test_counts_and_facts_of_tables_follow_their_starts(tmp_path: Path) -> None:
    both = [part_of("alpha"), part_of("beta", seed=2)]
    for manifest, _ in both:
        manifest.counting = Counting(source="valgrind")
        manifest.preparations = [
            Preparation(contender=OLD, incarnation=1, moment=1, after="load", facts={})
        ]
    parts = keep_parts(tmp_path, *both)
    counts = synthetic_counts([OLD, NEW], ["scan"], seed=1)
    for part in parts:
        with writing(part.folder) as writer:
            writer.append_count(*counts)
    joined = merge(parts, _joined(tmp_path))
    numbers = [count.place.incarnation for count in joined.folder.read_counts()]
    ours = [count.place.incarnation for count in counts]
    assert numbers == [*ours, *(number + 3 for number in ours)]
    moments = [(each.moment, each.incarnation) for each in joined.manifest.preparations]
    assert moments == [(1, 1), (2, 4)]


def test_counts_of_another_source_are_skipped_and_named(tmp_path: Path) -> None:
    both = [part_of("alpha"), part_of("beta", seed=2)]
    both[0][0].counting, both[1][0].counting = Counting(source="pmu"), Counting(source="valgrind")
    parts = keep_parts(tmp_path, *both)
    for part, source in zip(parts, ("pmu", "valgrind"), strict=True):
        counts = synthetic_counts([OLD, NEW], ["scan"], seed=1)
        with writing(part.folder) as writer:
            writer.append_count(*(msgspec.structs.replace(c, source=source) for c in counts))
    joined = merge(parts, _joined(tmp_path))
    assert {count.source for count in joined.folder.read_counts()} == {"pmu"}
    assert "in a different way" in joined.sentences[0]


def test_findings_and_warnings_name_their_host(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    other = part_of("beta", seed=2)
    finding = Finding(check="Governor", severity=Severity.WARNING, state="powersave")
    other[0].findings, other[0].warnings = [finding], ["the disk is slow"]
    manifest = merge(keep_parts(tmp_path, part_of("alpha"), other), _joined(tmp_path)).manifest
    assert [each.check for each in manifest.findings] == ["Governor of beta"]
    assert manifest.warnings == snapshot


def test_of_trials_those_of_one_host_are_kept(tmp_path: Path) -> None:
    """Rates of two hosts are not compared: a search that another host repeats is one search."""
    sources = []
    for name, count in (("alpha", 2), ("beta", 4)):
        folder = Folder(tmp_path / name)
        trials = [
            Trial(
                contender=OLD, start=1, turn=turn, rate=100.0, seconds=1.0, took=1.0,
                operations=100, times={"p99": 0.001},
            )
            for turn in range(count)
        ]  # fmt: skip
        with writing(folder) as writer:
            manifest, _ = part_of(name)
            manifest.experiment = name
            writer.write_manifest(manifest)
            writer.append_trials(*trials)
        pack(folder, tmp_path / "bundle")
        received = open_bundle(tmp_path / "bundle", tmp_path / f"from-{name}")
        (tmp_path / "bundle").unlink()
        assert received.read_trials() == trials
        sources.append(Source(received, host=name))
    merged = merge(sources, _joined(tmp_path)).folder.read_trials()
    assert [(trial.start, trial.turn) for trial in merged] == [(2, turn) for turn in range(4)]


def test_hosts_of_a_fleet_share_the_tests_of_a_calibration(tmp_path: Path) -> None:
    sources = []
    for name, test in (("alpha", "point-query"), ("beta", "update-index")):
        manifest, slices = synthetic_calibration([test], blocks=5)
        manifest.experiment, manifest.host = name, {"host": name, "CPU": "x"}
        with writing(Folder(tmp_path / name)) as writer:
            writer.write_manifest(manifest)
            writer.append(*slices)
        sources.append(Source(Folder(tmp_path / name), host=name))
    folder = merge(sources, _joined(tmp_path)).folder
    calibration = calibration_of(folder.read_manifest(), folder.read_slices())
    assert calibration is not None
    assert {each.test for each in calibration.tests} == {"point-query", "update-index"}
    named = [replace(source, given=source.folder.name) for source in sources]
    with pytest.raises(UsageError, match="is a calibration"):
        merge(named, Folder(tmp_path / "by-hand"))
