from __future__ import annotations

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import ContenderInfo, Report
from slowdust.analysis.results.contenders import contender_info
from slowdust.analysis.results.noise import writes_of_others
from slowdust.analysis.results.notes import notes_about_others, notes_about_writes_of_others
from slowdust.analysis.stored import analyse
from slowdust.analysis.story.notes import (
    notes_about_contenders,
    notes_about_report,
    notes_about_single_runs,
)
from slowdust.store.measured import OTHERS
from slowdust.store.slice import Slice
from slowdust.store.step import Chunk, StepDetail
from tests.unit.analysis.results import a_result
from tests.unit.synthetic import synthetic_manifest, synthetic_slice
from tests.unit.synthetic_steps import insert_experiment


def infos(*names: str, **differing: object) -> list[ContenderInfo]:
    """Contenders by name; `differing` is field -> one value for each."""
    manifest = synthetic_manifest(names, ["scan"])
    contenders = [contender_info(facts, manifest.contenders[0]) for facts in manifest.contenders]
    for field, values in differing.items():
        assert isinstance(values, list)
        for index, value in enumerate(values):
            contenders[index] = msgspec.structs.replace(contenders[index], **{field: value})
    return contenders


def test_versions_of_one_dbms_need_no_note() -> None:
    assert (
        notes_about_contenders(infos("mysql@5.6.24", "mysql@9.7.4", engine=["innodb", "innodb"]))
        == []
    )


def test_different_dbms_are_reported_with_what_is_the_same_and_what_is_not(
    snapshot: SnapshotAssertion,
) -> None:
    [note] = notes_about_contenders(infos("postgres@17.6", "mysql@9.7.4", "mysql@5.6.24"))

    assert note == snapshot


def test_configs_of_different_names_are_listed(snapshot: SnapshotAssertion) -> None:
    [note] = notes_about_contenders(
        infos("mysql@9.7.4", "mariadb@11.4", config=["small", "durable"])
    )
    assert note == snapshot


def test_different_engines_are_reported(snapshot: SnapshotAssertion) -> None:
    [note] = notes_about_contenders(
        infos("mariadb@10.11", "mariadb@10.11#2", engine=["innodb", "rocksdb"])
    )
    assert note == snapshot


def test_engines_that_isolate_differently_are_reported(snapshot: SnapshotAssertion) -> None:
    levels = [{"log_bin": "off"}, {"transaction_isolation": "READ-COMMITTED"}]
    engines = ["innodb", "rocksdb"]
    notes = notes_about_contenders(
        infos("mariadb@10", "mariadb@10#2", engine=engines, settings=levels)
    )

    assert len(notes) == 2
    assert notes[1] == snapshot


def test_servers_without_settings_have_no_isolation_level() -> None:
    levels = [{}, {"transaction_isolation": "READ-COMMITTED"}]
    engines = ["innodb", "rocksdb"]
    assert (
        len(
            notes_about_contenders(infos("mariadb@1", "mariadb@2", engine=engines, settings=levels))
        )
        == 1
    )


def test_an_isolation_that_is_the_default_is_not_different() -> None:
    levels = [{"log_bin": "off"}, {"transaction_isolation": "REPEATABLE-READ"}]
    engines = ["innodb", "rocksdb"]
    assert (
        len(
            notes_about_contenders(infos("mariadb@1", "mariadb@2", engine=engines, settings=levels))
        )
        == 1
    )


def test_a_dbms_without_engines_is_not_another_engine() -> None:
    notes = notes_about_contenders(infos("postgres@17.6", "mysql@9.7.4", engine=[None, "innodb"]))
    assert len(notes) == 1


def test_unexpected_allocators_are_a_warning(snapshot: SnapshotAssertion) -> None:
    [note] = notes_about_contenders(
        infos("mysql@5.6.24", "mysql@9.7.4", allocator=["glibc", "tcmalloc"])
    )
    assert note == snapshot
    assert "+glibc" in note


def test_allocators_that_were_asked_for_are_no_surprise() -> None:
    asked = infos(
        "mariadb@11.4",
        "mariadb@11.4+jemalloc",
        allocator=["glibc", "jemalloc"],
        environment=[[], ["MALLOC_ARENA_MAX=1", "jemalloc"]],
    )
    assert notes_about_contenders(asked) == []


def test_asking_for_something_else_is_not_asking_for_an_allocator(
    snapshot: SnapshotAssertion,
) -> None:
    [note] = notes_about_contenders(
        infos(
            "mysql@5.6.24",
            "mysql@9.7.4",
            allocator=["glibc", "tcmalloc"],
            environment=[[], ["MALLOC_ARENA_MAX=1"]],
        )
    )
    assert note == snapshot


def test_an_unknown_allocator_is_not_different() -> None:
    assert notes_about_contenders(infos("mysql@1", "mysql@2", allocator=["glibc", None])) == []
    assert notes_about_contenders(infos("mysql@1", "mysql@2", allocator=[None, "tcmalloc"])) == []


def test_caches_of_different_sizes_are_reported(snapshot: SnapshotAssertion) -> None:
    names = ("mysql@5.6.24", "mysql@9.7.4")

    assert notes_about_contenders(infos(*names, buffer_pool_bytes=[136 << 20, 136 << 20])) == []
    assert (
        notes_about_contenders(infos(*names, buffer_pool_bytes=[136 << 20, 256 << 20])) == snapshot
    )


def test_archived_runs_may_differ_in_machine_and_time(
    snapshot: SnapshotAssertion,
) -> None:
    assert notes_about_single_runs(infos("mysql@8.0", "mysql@9.7")) == []
    [note] = notes_about_single_runs(infos("postgres@17.6", "mysql@9.7.4"))
    assert note == snapshot


def slices_beside_others(*shares: float) -> list[Slice]:
    """Return slices of 0.1 s on two CPUs; other programs used these shares of them."""
    records = []
    for share in shares:
        record = synthetic_slice()
        record.measured.probe_seconds = 0.1
        record.measured.uses[OTHERS] = {"cpu_s": share * 0.2, "cpus": 2}
        records.append(record)
    return records


def test_other_programs_are_reported_with_their_share_in_the_slices_they_disturbed(
    snapshot: SnapshotAssertion,
) -> None:
    assert notes_about_others(slices_beside_others(0.4, 0.01, 0.5, 0.0)) == snapshot


def test_other_programs_that_disturbed_few_slices_are_not_reported() -> None:
    assert notes_about_others(slices_beside_others(0.9, *[0.0] * 30)) == []
    assert notes_about_others(slices_beside_others(*[0.02] * 30)) == []


@pytest.mark.parametrize(("clients", "is_noted"), [(1, True), (16, True), (32, False), (64, False)])
def test_a_program_on_the_only_clients_cpu_is_seen_among_many_cpus(
    clients: int, *, is_noted: bool
) -> None:
    records = slices_beside_others(*[1 / 32] * 10)
    for record in records:
        record.measured.uses[OTHERS]["cpus"] = 32
        record.measured.uses[OTHERS]["cpu_s"] = 0.1
        record.place.clients = clients
    assert bool(notes_about_others(records)) is is_noted


def test_other_programs_that_were_not_measured_are_not_reported() -> None:
    record = synthetic_slice()
    record.measured.uses.pop(OTHERS, None)
    assert notes_about_others([record]) == []


def step_in_chunks(incarnation: int, disk: int, server: int | None) -> Slice:
    """A step of 10 s whose server wrote less, or more, than the disk; bytes."""
    record = synthetic_slice()
    record.place.incarnation = incarnation
    record.measured.probe_seconds = 10.0
    record.measured.uses = {"host": {"write_bytes": disk}}
    if server is not None:
        record.measured.uses["server"] = {"write_bytes": server}
    chunk = Chunk(block=0, slot=0, started=0.0, amount=1, seconds=10.0)
    record.step = StepDetail(roles={}, chunks=[chunk])
    return record


def test_large_writes_of_others_to_the_disk_are_reported(
    snapshot: SnapshotAssertion,
) -> None:
    steps = [step_in_chunks(1, 600 << 20, 500 << 20), step_in_chunks(2, 900 << 20, 300 << 20)]

    assert [writes_of_others(step) for step in steps] == [100 << 20, 600 << 20]
    assert notes_about_writes_of_others(steps) == snapshot
    assert notes_about_writes_of_others(steps[:1]) == [], "a sixth of all"
    assert notes_about_writes_of_others([step_in_chunks(1, 90 << 20, 0)]) == [], "9 MB/s"


def test_writes_of_others_are_unknown_without_the_servers_own_and_without_chunks() -> None:
    unknown, whole = step_in_chunks(1, 1 << 30, None), step_in_chunks(1, 1 << 30, 0)
    assert whole.step is not None
    whole.step.chunks = []
    assert writes_of_others(unknown) is None
    assert writes_of_others(whole) is None
    assert writes_of_others(step_in_chunks(1, 1 << 20, 1 << 30)) == 0
    assert notes_about_writes_of_others([unknown, whole]) == []


def test_contenders_without_a_server_are_reported_with_what_they_lack(
    snapshot: SnapshotAssertion,
) -> None:
    lite = a_result("sqlite@3.50.2", per_op={"server_cpu_us": 4.0})
    other = a_result("postgres@17.6", per_op={"server_cpu_us": 9.0, "client_cpu_us": 2.0})
    unmeasured = a_result("mysql@9.7.4", per_op={})
    report = Report(
        experiment="e",
        base=lite.contender,
        contenders=[lite.contender, other.contender],
        margin=0.03,
        results=[lite, other, unmeasured],
        tldr=[],
        contender_info=infos("postgres@17.6", "postgres@15.8"),
    )
    [note] = notes_about_report(report)
    assert note == snapshot


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        (["postgres@17.6", "mysql@9.7.4"], "SELECT 1"),
        (["mongodb@7.0.14", "mongodb@8.0.6"], "ping"),
        (["postgres@17.6", "ferretdb@1.24.2"], "SELECT 1 or ping"),
    ],
)
def test_a_round_trip_matches_what_was_asked(
    names: list[str], asked: str, snapshot: SnapshotAssertion
) -> None:
    contenders = infos(*names, running=[True, True], round_trip_us=[61.0, 2000.0])
    report = Report(
        experiment="e",
        base=names[0],
        contenders=names,
        margin=0.03,
        results=[],
        tldr=[],
        contender_info=contenders,
    )
    notes = " ".join(notes_about_report(report))
    assert notes == snapshot


URL, BUILD = "postgres://ann@db/bench", "postgres@17.6"


def steps_by_url(*names: str, chunks: int, incarnations: int = 1) -> Report:
    """Return the report of long steps; the first contender is a running server."""
    manifest, slices = insert_experiment(names, incarnations=incarnations)
    assert manifest.method.steps is not None
    manifest.method.steps.turns = "chunks" if chunks else "whole-steps"
    manifest.contenders[0].running = True
    for record in slices:
        assert record.step is not None
        record.step.chunks = [
            Chunk(block=number // 2, slot=0, started=0.0, amount=100 + number % 3, seconds=1.0)
            for number in range(chunks)
        ]
    return analyse(manifest, slices)


def test_a_running_server_that_cannot_be_suspended_is_reported_once(
    snapshot: SnapshotAssertion,
) -> None:
    report = steps_by_url(URL, BUILD, chunks=8)
    assert report.notes == snapshot
    assert report.method["turns"] == snapshot


def test_no_server_is_suspended_in_whole_steps_and_alone(
    snapshot: SnapshotAssertion,
) -> None:
    for report in (
        steps_by_url(URL, BUILD, chunks=0, incarnations=2),
        steps_by_url(URL, chunks=8),
    ):
        assert report.notes == snapshot


def test_a_single_whole_step_is_not_said_to_have_intervals(snapshot: SnapshotAssertion) -> None:
    notes = steps_by_url(URL, BUILD, chunks=0).notes
    assert notes == snapshot
