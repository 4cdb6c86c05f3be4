"""The Insert Benchmark on real servers, through the command line."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import GetBuild, GetBuildOf
from tests.integration.slowdust_command import Workplace, wait_for_line, wait_until

STEPS = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"]
PAIR = ("postgres@15.8", "postgres@17.6")
INSERT = ("--benchmark", "insert", "--count", "off")
TINY = (*INSERT, "--rows", "4000,1000,200", "--seconds", "1s", "--set", "shared_buffers=32MB")


@pytest.fixture
def workplace(open_dir: Path, postgres_builds: GetBuild) -> Workplace:
    for version in ("15.8", "17.6"):
        postgres_builds(version)
    return Workplace(open_dir)


def steps_of(workplace: Workplace, name: str) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in workplace.slice_lines(name)]
    return [{**record, **record["place"]} for record in records]


def keys(records: list[dict[str, Any]], incarnation: int) -> list[tuple[str, str]]:
    return [(r["test"], r["contender"]) for r in records if r["incarnation"] == incarnation]


def kill_server(workplace: Workplace, version: str, number: signal.Signals) -> None:
    (pid_file,) = workplace.data_root.glob(f"instances/*/*{version}*/data/postmaster.pid")
    os.kill(int(pid_file.read_text().splitlines()[0]), number)


def test_two_versions_end_to_end(workplace: Workplace) -> None:
    workplace.run(
        "compare", *PAIR, *TINY, "--rates", "100", "--incarnations", "2", "--name", "pair"
    )
    records = steps_of(workplace, "pair")
    turns = [record["contender"] for record in records]
    a, b = PAIR
    # Steps alternate, and the second incarnation begins with the other contender.
    assert turns == [a, b, b, a] * 3 + [b, a, a, b] * 3
    assert list(dict.fromkeys(record["test"] for record in records)) == STEPS
    for record in records:
        detail = record["step"]
        assert detail["rows_expected"] == detail["rows_counted"] == 4000
        assert detail["table_bytes"] > 0
        assert detail["samples"]
        assert "errors" not in record["measured"]
        assert record["measured"]["uses"]["server"]["cpu_s"] > 0
        assert record["measured"]["uses"]["server"]["context_switches"] > 0
        assert record["block"] == 0
    assert {record["unit"] for record in records} == {
        "inserts/s", "indexed rows/s", "range queries/s", "point queries/s",
    }  # fmt: skip
    manifest = workplace.manifest("pair")
    method = manifest["method"]["insert"]
    assert method["rows"] == {"l.i0@1": 4000, "l.i1@1": 1000, "l.i2@1": 200}
    assert {plan["test"] for plan in manifest["plans"]} >= {"qr100", "qp100"}
    assert not [text for text in manifest.get("warnings", []) if "should have" in text]
    report = workplace.report("pair")
    assert {result["test"] for result in report["results"]} == set(STEPS)
    assert (workplace.folder / "results" / "pair" / "report.html").stat().st_size
    assert workplace.nothing_is_left()


def test_a_target_that_no_server_holds_is_told_and_not_compared(workplace: Workplace) -> None:
    out = workplace.run(
        "compare", *PAIR, *TINY, "--rates", "100,1000000", "--tests", "qr*", "--incarnations", "1",
        "--name", "sla",
    )  # fmt: skip
    records = [record for record in steps_of(workplace, "sla") if record["test"] == "qr1000000"]
    assert len(records) == 2
    for record in records:
        schedule = record["step"]["roles"]["insert"]["schedule"]
        assert schedule["backlog"] > 0.05 * schedule["due"]
        assert record["step"]["target"] == 1_000_000
        assert record["step"]["rows_counted"] == 4000
    report = workplace.report("sla")
    other = {r["test"]: r for r in report["results"] if r["contender"] == PAIR[1]}
    assert other["qr100"]["rqps"] > 0
    assert "verdict" in other["qr100"]
    assert other["qr100"]["writers"]["sla_met"]
    assert "rqps" not in other["qr1000000"]
    assert "verdict" not in other["qr1000000"]
    assert not other["qr1000000"]["writers"]["sla_met"]
    said = "Not compared, because the writers beside the queries missed their SLA"
    (sentence,) = (sentence for sentence in report["tldr"] if sentence.startswith(said))
    assert "qr1000000 on 17.6" in sentence or f"qr1000000 on {PAIR[1]}" in sentence
    assert "qr100 " not in sentence
    assert sentence in " ".join(out.split())
    page = workplace.page("sla")
    assert "SLA failed: " in page
    assert "of 1,000,000" in page


@pytest.mark.parametrize(
    ("step", "rows"),
    [
        ("l.i0", "60000,1000,200"),
        ("l.x", "60000,1000,200"),
        ("l.i1", "4000,60000,200"),
        ("l.i2", "4000,1000,4000"),
        ("qr100", "4000,1000,200"),
        ("qp100", "4000,1000,200"),
    ],
)
def test_an_experiment_killed_in_a_step_resumes_from_l_i0(
    workplace: Workplace, step: str, rows: str
) -> None:
    process = workplace.start(
        "compare", *PAIR, *INSERT, "--rows", rows, "--seconds", "1s", "--rates", "100",
        "--incarnations", "1", "--name", "killed",
    )  # fmt: skip
    wait_for_line(process, f"{step} on ")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    before = workplace.slice_lines("killed")
    finished = STEPS[: STEPS.index(step)]
    wait_until(workplace.nothing_is_left, "the killed run's servers are gone")
    file = workplace.folder / "results" / "killed" / "experiment.toml"
    workplace.run("run", str(file), "--resume")
    assert workplace.slice_lines("killed")[: len(before)] == before
    records = steps_of(workplace, "killed")
    assert len(before) == len(finished) * len(PAIR)
    # What was killed in l.i0 has left no record: its incarnation begins again.
    again = keys(records, 2 if finished else 1)
    assert [test for test, _ in again] == [name for name in STEPS for _ in PAIR]
    total = int(rows.split(",", maxsplit=1)[0])
    for record in records:
        assert record["step"]["rows_expected"] == record["step"]["rows_counted"] == total
    assert workplace.manifest("killed")["finished"]


def test_a_server_killed_in_a_query_step_fails_that_step_alone(workplace: Workplace) -> None:
    process = workplace.start(
        "compare", *PAIR, *INSERT, "--rows", "4000,1000,200", "--seconds", "3s",
        "--rates", "500", "--tests", "q*", "--incarnations", "1", "--name", "died",
    )  # fmt: skip
    # The order of qr500 is A B: the third step of the first incarnation.
    wait_for_line(process, f"qr500 on {PAIR[1]}")
    time.sleep(0.7)  # well within the three seconds
    kill_server(workplace, "17.6", signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "qr500@1 of incarnation 1 failed" in errors
    (failure,) = workplace.manifest("died")["failed_steps"]
    assert (failure["test"], failure["contender"]) == ("qr500", PAIR[1])
    assert "killed by signal 9" in failure["reason"]
    assert 0 < failure["after_s"] < 60, "its own time: it stands still in the turns of the other"
    report = workplace.report("died")
    assert [(f["test"], f["contender"]) for f in report["failed_steps"]] == [("qr500", PAIR[1])]
    assert "qr500 failed on" in report["answer"]["failures"]
    (warning,) = (text for text in report["warnings"] if "started again" in text)
    assert warning.startswith(f"{PAIR[1]} in incarnation 1")
    assert "after qr500@1, before these steps: qp500@1" in warning
    page = workplace.page("died")
    assert 'aria-label="Failed steps"' in page
    assert "killed by signal 9" in page
    records = steps_of(workplace, "died")
    assert [(r["test"], r["contender"]) for r in records[4:]] == [
        ("qr500", PAIR[0]), ("qp500", PAIR[1]), ("qp500", PAIR[0])
    ]  # fmt: skip
    assert not any(
        contender.get("failed") for contender in workplace.manifest("died")["contenders"]
    )
    assert workplace.nothing_is_left()


def test_all_options_at_once(workplace: Workplace) -> None:
    workplace.run(
        "compare", PAIR[1], *TINY, "--clients", "1,2", "--shared-table", "--partitions", "3",
        "--hold", "500ms", "--statements", "text", "--rates", "100",
        "--tests", "qr*", "--incarnations", "1", "--name", "options",
        "--set", "synchronous_commit=on", "--set", "synchronous_commit=off",
    )  # fmt: skip
    manifest = workplace.manifest("options")
    assert [contender["name"] for contender in manifest["contenders"]] == [
        f"{PAIR[1]} synchronous_commit={value}" for value in ("on", "off")
    ]
    method = manifest["method"]["insert"]
    assert method["shared_table"]
    assert method["partitions"] == 3
    assert method["statements"] == "text"
    records = steps_of(workplace, "options")
    for clients in (1, 2):
        level = [record for record in records if record["clients"] == clients]
        assert len(level) == 6
        for record in level:
            assert record["step"]["rows_counted"] == 4000 * clients
    assert {record["test"] for record in records} == {
        "l.i0.hold0.5",
        "l.x.hold0.5",
        "qr100.hold0.5",
    }
    for record in records:
        role = record["step"]["roles"].get("transaction")
        assert (role is not None) == (record["test"] == "qr100.hold0.5")
        assert role is None or role["statements"] >= 1


def test_engines_and_their_sizes(open_dir: Path, builds: GetBuildOf) -> None:
    builds("mariadb", "10.11.18")
    builds("mysql", "9.7.4")
    workplace = Workplace(open_dir)
    workplace.run(
        "compare", "mariadb@10.11.18/innodb:small", "mariadb@10.11.18/rocksdb:small",
        "mysql@9.7.4:small", *INSERT, "--rows", "4000,1000,200",
        "--seconds", "1s", "--rates", "100", "--tests", "l.i1,qr*", "--incarnations", "1",
        "--name", "engines",
    )  # fmt: skip
    records = steps_of(workplace, "engines")
    assert len(records) == 12
    for record in records:
        assert record["step"]["rows_counted"] == 4000
        assert "errors" not in record["measured"]
        # 4000 rows of more than 30 bytes, whatever they take beside.
        assert record["step"]["table_bytes"] > 4000 * 30
    for detail in (record["step"] for record in records if record["test"] == "l.x"):
        assert detail["index_bytes"] > 4000 * 3 * 10
        # Each server has some small tables of its own in files of the same kind.
        assert 0.4 < (detail["table_bytes"] + detail["index_bytes"]) / detail["data_bytes"] < 1.1


@pytest.mark.parametrize(
    ("contender", "options", "left", "most"),
    [
        # A vacuum may end a second or more before the step does.
        (
            "postgres@17.6",
            "--rows 40000,40000 --rows-per-commit 100,1,5,50 --set autovacuum_naptime=1s",
            "dead_rows",
            40_000,
        ),
        (
            "mysql@9.7.4:small",
            "--rows 20000,20000 --rows-per-commit 100,50,5,50",
            "history_length",
            20_000 // 50,
        ),
    ],
    ids=["postgres", "mysql"],
)
def test_a_hold_leaves_old_versions_that_are_else_removed(
    *,
    open_dir: Path,
    builds: GetBuildOf,
    contender: str,
    options: str,
    left: str,
    most: int,
) -> None:
    dbms, version = contender.removesuffix(":small").split("@")
    builds(dbms, version)
    workplace = Workplace(open_dir)
    workplace.run(
        "compare", contender, *INSERT, *options.split(), "--tests", "l.i1",
        "--hold", "0,60", "--incarnations", "1", "--name", "held",
    )  # fmt: skip
    records = {record["test"]: record["step"] for record in steps_of(workplace, "held")}
    assert list(records) == [f"{step}{hold}" for hold in ("", ".hold60") for step in STEPS[:3]]
    assert records["l.i1.hold60"][left] > 0.9 * most
    assert records["l.i1"][left] < 0.7 * most
    results = {result["test"]: result for result in workplace.report("held")["results"]}
    assert results["l.i1.hold60"][left] == records["l.i1.hold60"][left]
    other = ({"dead_rows", "history_length"} - {left}).pop()
    assert all(other not in record for record in records.values())
