from pathlib import Path

import msgspec
import pytest

from slowdust.errors import SlowdustError, UsageError
from slowdust.store.folder import Folder, experiments, writing
from slowdust.store.latency import Histogram, LatencyUs
from slowdust.store.manifest import (
    BuildFacts,
    ContenderFacts,
    Manifest,
    Method,
    Plan,
    StepFailure,
)
from slowdust.store.measured import PRINTED_SCHEMA, Measured, Printed, PrintedRole
from slowdust.store.slice import SCHEMA, Place, Slice
from slowdust.store.step import RoleUse, StepDetail
from tests.unit.synthetic_steps import insert_experiment
from tests.unit.synthetic_waits import synthetic_waits


def record(block: int) -> Slice:
    return Slice(
        place=Place(
            benchmark="micro",
            test="point-query",
            clients=1,
            contender="postgres@17.6",
            block=block,
        ),
        qps=400.0,
        measured=Measured(
            started=1.0,
            seconds=0.25,
            operations=100,
            statements=100,
            rows=100,
            bytes_sent=1,
            bytes_received=1,
            latency=Histogram(values_ns=[1000], counts=[100], max_ns=1000, mean_ns=1000.0),
            uses={"client": {"cpu_user_s": 0.1, "threads": 1}},
        ),
    )


def manifest() -> Manifest:
    return Manifest(
        schema=SCHEMA,
        experiment="x",
        slowdust="0",
        driver="0",
        started="2024-01-01T00:00:00+00:00",
        base="a",
        contenders=[],
        tests=[],
        clients=[1],
        method=Method(
            seed=1,
            tables=1,
            rows=1,
            slice_s=0.25,
            discard_s=0.0,
            warmup_s=0.5,
            budget_s=1.0,
            margin=0.03,
            incarnations=2,
        ),
    )


def test_records_come_back(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        writer.append(record(0))
        writer.append(record(1))
    assert folder.read_slices() == [record(0), record(1)]


def test_unmeasured_values_are_absent(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        writer.append(record(0))
    content = (folder.path / "slices.ndjson").read_text()
    assert "server" not in content
    assert "null" not in content


def test_a_torn_last_line_is_ignored_and_cut(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        writer.append(record(0))
        writer.append(record(1))
    file = folder.path / "slices.ndjson"
    file.write_bytes(file.read_bytes()[:-20])
    assert folder.read_slices() == [record(0)]
    with writing(folder) as writer:
        writer.append(record(2))
    assert folder.read_slices() == [record(0), record(2)]


@pytest.mark.parametrize(
    "line", [b'{"step":{}}', b'{"archived":{},"response":3}', b'{"idle_cpu_s":3}', b"{broken"]
)
def test_a_damaged_line_of_the_first_schema_is_named(tmp_path: Path, line: bytes) -> None:
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        writer.append(record(0))
    file = folder.path / "slices.ndjson"
    file.write_bytes(file.read_bytes() + b"\n" + line + b"\n")
    with pytest.raises(SlowdustError, match="is damaged: line 3: "):
        folder.read_slices()


def test_damage_elsewhere_is_said(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        writer.append(record(0))
    file = folder.path / "slices.ndjson"
    file.write_bytes(b"{broken\n" + file.read_bytes())
    with pytest.raises(SlowdustError, match="damaged"):
        folder.read_slices()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    with (
        writing(folder),
        pytest.raises(UsageError, match="is running"),
        writing(Folder(tmp_path / "x")),
    ):
        pass


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        writer.write_manifest(msgspec.structs.replace(manifest(), schema=PRINTED_SCHEMA + 1))
    with pytest.raises(UsageError, match=f"schema {PRINTED_SCHEMA + 1}.*upgrade"):
        folder.read_manifest()


def test_a_missing_experiment_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'nothing'"):
        Folder(tmp_path / "nothing").read_manifest()


def test_lists_experiments_newest_first(tmp_path: Path) -> None:
    for name in ("old", "new"):
        with writing(Folder(tmp_path / name)) as writer:
            writer.write_manifest(manifest())
    import os

    os.utime(tmp_path / "old" / "manifest.json", (1, 1))
    assert [folder.name for folder in experiments(tmp_path)] == ["new", "old"]


def test_records_of_the_first_schema_are_read_next_to_those_of_today(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    flat = {
        "benchmark": "insert", "test": "l.i0", "clients": 1, "contender": "a", "incarnation": 2,
        "block": 0, "slot": 1, "qps": 5.0, "unit": "inserts/s", "seconds": 2.0,
        "server": {"cpu_s": 0.5}, "client": {"threads": 2}, "idle_cpu_s": {"b": 0.25},
        "flags": ["not exact"], "per_op": {"host_cs": 3.0}, "response": {"max_us": 7.0},
        "archived": {"run": "x", "file": "l.i0"},
        "step": {
            "roles": {
                "insert": {"rate": 3.0, "response": {"max_us": 7.0, "buckets": [1, 2]}}
            },
            "samples": [{"start": 0.0, "seconds": 1.0, "server": {"cpu_s": 0.2}}],
        },
    }  # fmt: skip
    with writing(folder) as writer:
        (folder.path / "slices.ndjson").write_bytes(msgspec.json.encode(flat) + b"\n")
        writer.append(record(0))
    earlier, todays = folder.read_slices()

    assert todays == record(0)
    assert (earlier.place.contender, earlier.place.incarnation, earlier.place.slot) == ("a", 2, 1)
    assert (earlier.qps, earlier.measured.seconds) == (5.0, 2.0)
    assert earlier.measured.uses == {
        "server": {"cpu_s": 0.5},
        "client": {"threads": 2},
        "idle.b": {"cpu_s": 0.25},
    }
    assert earlier.printed is not None
    assert (earlier.printed.notes, earlier.printed.per_operation) == (
        ["not exact"],
        {"host_cs": 3.0},
    )
    assert earlier.printed.response == LatencyUs(max=7.0)
    assert earlier.printed.texts == {"run": "x", "file": "l.i0"}
    assert earlier.step is not None
    inserts = earlier.step.roles["insert"]
    assert inserts.printed == PrintedRole(rate=3.0, response=LatencyUs(max=7.0), buckets=[1, 2])
    assert earlier.step.samples[0].uses == {"server": {"cpu_s": 0.2}}


def test_imports_of_the_second_schema_are_read_as_those_of_today(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    facts = ContenderFacts(
        name="a",
        dbms="mysql",
        build=BuildFacts(source="archived", version="1"),
        config="c",
        settings={},
        run="x.my1",
    )
    today = Slice(
        place=Place(benchmark="insert", test="l.i0", clients=1, contender="a"),
        qps=3.0,
        printed=Printed(per_operation={"host_cs": 1.5}, texts={"run": "x.my1"}),
        step=StepDetail(roles={"insert": RoleUse(printed=PrintedRole(rate=3.0))}),
    )
    imported = msgspec.structs.replace(manifest(), contenders=[facts])
    with writing(folder) as writer:
        writer.write_manifest(imported)
        writer.append(today)
    for file, new in (("manifest.json", "run"), ("slices.ndjson", "printed")):
        path = folder.path / file
        path.write_text(path.read_text().replace(f'"{new}":', '"archived":'))
    assert folder.read_manifest() == imported
    assert folder.read_slices() == [today]


def test_windows_of_waits_are_read_as_written_without_a_torn_line(tmp_path: Path) -> None:
    first, second = synthetic_waits({"a": {"IO/WalSync": 10.0}}, incarnations=1, repeats=2)
    folder = Folder(tmp_path / "x")
    assert folder.read_waits() == [], "an older experiment has none"
    with writing(folder) as writer:
        writer.append(record(0))
        writer.append_waits(first)
        writer.append_waits(second)
    file = folder.path / "waits.ndjson"
    file.write_bytes(file.read_bytes()[:-20])
    assert folder.read_waits() == [first]
    with writing(folder) as writer:
        writer.append_waits(second)
    assert folder.read_waits() == [first, second]


def test_steps_of_before_holds_are_read_with_the_hold_of_their_experiment(tmp_path: Path) -> None:
    manifest, slices = insert_experiment(["a"], ["l.i1", "qr100"], incarnations=1)
    steps = manifest.method.steps
    assert steps is not None
    steps.long_transaction_s = 60.0
    manifest.settled, manifest.turns_done = ["l.i1@1"], {"l.i1@1": 1}
    manifest.plans = [Plan(test="qr100", contender="a", statement="SELECT", plan="scan")]
    manifest.failed_steps = [
        StepFailure(test="l.i1", clients=1, contender="a", incarnation=1, reason="", after_s=1)
    ]
    folder = Folder(tmp_path / "x")
    with writing(folder) as writer:
        writer.write_manifest(manifest)
        writer.append(*slices)
        read = folder.read_manifest()
        assert read.method.steps is not None
        assert read.method.steps.holds_s == [60.0]
        assert read.tests == ["l.i1.hold60", "qr100.hold60"]
        assert (read.settled, read.turns_done) == (["l.i1.hold60@1"], {"l.i1.hold60@1": 1})
        assert [plan.test for plan in read.plans] == ["qr100.hold60"]
        assert [failure.test for failure in read.failed_steps] == ["l.i1.hold60"]
        # A resumed experiment writes names with a hold after names without one.
        writer.write_manifest(read)
        later = slices[0]
        later.place.test = "l.i1.hold60"
        writer.append(later)
    assert folder.read_manifest() == read
    assert [record.place.test for record in folder.read_slices()] == [
        "l.i1.hold60", "qr100.hold60", "l.i1.hold60",
    ]  # fmt: skip
