"""The Insert Benchmark through the command line.

What the commands do is shown with SQLite, which starts in no time; one experiment of Postgres and
one of MySQL and MariaDB show what only these have.
"""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import GetBuild, GetBuildOf
from tests.integration.slowdust_command import Workplace, wait_for_line
from tests.tiers.selection import full
from tests.waiting import wait_until

STEPS = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"]
PAIR = ("sqlite@3.17.0:insert", "sqlite@3.50.2:rollback")
ROWS = 2000
INSERT = ("--benchmark", "insert", "--count", "off", "--rates", "100")
ONCE = (*INSERT, "--incarnations", "1")
TINY = ("--rows", f"{ROWS},500,100", "--seconds", "500ms")


pytestmark = pytest.mark.builds(*PAIR)


def steps_of(workplace: Workplace, name: str) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in workplace.slice_lines(name)]
    return [{**record, **record["place"]} for record in records]


def test_two_versions_end_to_end(workplace: Workplace) -> None:
    workplace.run("compare", *PAIR, *INSERT, *TINY, "--incarnations", "2", "--name", "pair")
    records = steps_of(workplace, "pair")
    turns = [record["contender"] for record in records]
    a, b = PAIR
    # Steps alternate, and the second incarnation begins with the other contender.
    assert turns == [a, b, b, a] * 3 + [b, a, a, b] * 3
    assert list(dict.fromkeys(record["test"] for record in records)) == STEPS
    for record in records:
        detail = record["step"]
        assert detail["rows_expected"] == detail["rows_counted"] == ROWS
        assert detail["table_bytes"] > 0
        assert detail["samples"]
        assert "errors" not in record["measured"]
        assert record["measured"]["uses"]["server"]["cpu_s"] > 0
        assert record["block"] == 0
    assert {record["unit"] for record in records} == {
        "inserts/s", "indexed rows/s", "range queries/s", "point queries/s",
    }  # fmt: skip
    manifest = workplace.manifest("pair")
    method = manifest["method"]["insert"]
    assert method["rows"] == {"l.i0@1": ROWS, "l.i1@1": 500, "l.i2@1": 100}
    assert {plan["test"] for plan in manifest["plans"]} >= {"qr100", "qp100"}
    assert not [text for text in manifest.get("warnings", []) if "should have" in text]
    report = workplace.report("pair")
    assert {result["test"] for result in report["results"]} == set(STEPS)
    assert workplace.page("pair")
    assert workplace.nothing_is_left()


@full
def test_a_target_that_no_server_holds_is_reported_and_not_compared(workplace: Workplace) -> None:
    rates = ("--rates", "100,1000000", "--tests", "qr*")
    out = workplace.run("compare", *PAIR, *ONCE, *TINY, *rates, "--name", "sla")
    records = [record for record in steps_of(workplace, "sla") if record["test"] == "qr1000000"]
    assert len(records) == 2
    for record in records:
        schedule = record["step"]["roles"]["insert"]["schedule"]
        assert schedule["backlog"] > 0.05 * schedule["due"]
        assert record["step"]["target"] == 1_000_000
        assert record["step"]["rows_counted"] == ROWS
    report = workplace.report("sla")
    other = {r["test"]: r for r in report["results"] if r["contender"] == PAIR[1]}
    assert other["qr100"]["rqps"] > 0
    assert "verdict" in other["qr100"]
    assert other["qr100"]["writers"]["sla_met"]
    assert "rqps" not in other["qr1000000"]
    assert "verdict" not in other["qr1000000"]
    assert not other["qr1000000"]["writers"]["sla_met"]
    (sentence,) = (text for text in report["tldr"] if "missed their SLA" in text)
    assert "qr1000000" in sentence
    assert "qr100 " not in sentence
    assert sentence in " ".join(out.split())
    page = workplace.page("sla")
    assert "SLA failed: " in page
    assert "of 1,000,000" in page


@pytest.mark.parametrize(
    ("step", "rows"),
    [
        ("qr100", "2000,500,100"),
        pytest.param("l.i0", "60000,500,100", marks=full),
        pytest.param("l.i2", "2000,500,6000", marks=full),
        pytest.param("qp100", "2000,500,100", marks=full),
    ],
)
def test_an_experiment_killed_in_a_step_resumes_from_l_i0(
    workplace: Workplace, step: str, rows: str
) -> None:
    options = ("--rows", rows, "--seconds", "1s", "--name", "killed")
    process = workplace.start("compare", *PAIR, *ONCE, *options)
    wait_for_line(process, f"measuring {step} ")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    before = workplace.slice_lines("killed")
    finished = STEPS[: STEPS.index(step)]
    assert len(before) == len(finished) * len(PAIR)
    wait_until(workplace.nothing_is_left, "the killed run's servers are gone")

    workplace.run("run", "results/killed/experiment.toml", "--resume")
    assert workplace.slice_lines("killed")[: len(before)] == before
    records = steps_of(workplace, "killed")
    # What was killed in l.i0 has left no record: its incarnation begins again.
    last = 2 if finished else 1
    again = [record["test"] for record in records if record["incarnation"] == last]
    assert again == [name for name in STEPS for _ in PAIR]
    total = int(rows.partition(",")[0])
    for record in records:
        assert record["step"]["rows_expected"] == record["step"]["rows_counted"] == total
    assert workplace.manifest("killed")["finished"]


@full
def test_a_server_killed_in_a_query_step_fails_that_step_alone(workplace: Workplace) -> None:
    options = ("--rows", "2000,500,100", "--seconds", "3s", "--tests", "q*", "--name", "died")
    process = workplace.start("compare", *PAIR, *ONCE, *options)
    wait_for_line(process, "measuring qr100 (step 3 of 4, start 1)")
    workplace.kill_server("sqlite@3.50.2")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert re.search(r"qr100@1 .*\b1 failed", errors)
    (failure,) = workplace.manifest("died")["failed_steps"]
    assert (failure["test"], failure["contender"]) == ("qr100", PAIR[1])
    assert "killed by signal 9" in failure["reason"]
    assert 0 < failure["after_s"] < 60, "its own time: it stands still in the turns of the other"
    report = workplace.report("died")
    assert [(f["test"], f["contender"]) for f in report["failed_steps"]] == [("qr100", PAIR[1])]
    assert "qr100 failed on" in report["answer"]["failures"]
    (warning,) = (text for text in report["warnings"] if "after qr100@1" in text)
    assert warning.startswith(PAIR[1])
    assert warning.endswith(": qp100@1")
    page = workplace.page("died")
    assert 'id="failed-steps"' in page
    assert "killed by signal 9" in page
    records = steps_of(workplace, "died")
    assert [(r["test"], r["contender"]) for r in records[4:]] == [
        ("qr100", PAIR[0]), ("qp100", PAIR[1]), ("qp100", PAIR[0])
    ]  # fmt: skip
    assert not any(
        contender.get("failed") for contender in workplace.manifest("died")["contenders"]
    )
    assert workplace.nothing_is_left()


def test_postgres_with_all_options_at_once(open_dir: Path, postgres_builds: GetBuild) -> None:
    postgres_builds("17.6")
    workplace = Workplace(open_dir)
    workplace.run(
        "compare", "postgres@17.6", *ONCE, *TINY, "--clients", "1,2", "--shared-table",
        "--partitions", "3", "--hold", "500ms", "--statements", "text", "--tests", "qr*",
        "--set", "shared_buffers=32MB", "--name", "options",
        "--set", "synchronous_commit=on", "--set", "synchronous_commit=off",
    )  # fmt: skip
    manifest = workplace.manifest("options")
    assert [contender["name"] for contender in manifest["contenders"]] == [
        f"postgres@17.6 synchronous_commit={value}" for value in ("on", "off")
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
            assert record["step"]["rows_counted"] == ROWS * clients
    assert {record["test"] for record in records} == {
        "l.i0.hold0.5",
        "l.x.hold0.5",
        "qr100.hold0.5",
    }
    for record in records:
        role = record["step"]["roles"].get("transaction")
        assert (role is not None) == (record["test"] == "qr100.hold0.5")
        assert role is None or role["statements"] >= 1
        assert record["step"]["table_bytes"] > 0
        assert record["measured"]["uses"]["server"]["cpu_s"] > 0
        assert record["measured"]["uses"]["server"]["context_switches"] > 0


@pytest.mark.parametrize(
    "contenders",
    [
        ("mariadb@10.11.18/rocksdb:small", "mysql@9.7.4:small"),
        pytest.param(("mariadb@10.11.18/innodb:small",), marks=full),
    ],
)
def test_engines_and_their_sizes(
    open_dir: Path, builds: GetBuildOf, contenders: tuple[str, ...]
) -> None:
    for contender in contenders:
        builds(*re.split("[/:]", contender)[0].split("@"))
    workplace = Workplace(open_dir)
    workplace.run(
        "compare", *contenders, *ONCE, "--rows", "4000,1000,200",
        "--seconds", "500ms", "--tests", "l.i1,qr*", "--name", "engines",
    )  # fmt: skip
    records = steps_of(workplace, "engines")
    assert len(records) == 4 * len(contenders)
    for record in records:
        assert record["step"]["rows_counted"] == 4000
        assert "errors" not in record["measured"]
        # 4000 rows of more than 30 bytes each, without overhead.
        assert record["step"]["table_bytes"] > 4000 * 30
    for detail in (record["step"] for record in records if record["test"] == "l.x"):
        assert detail["index_bytes"] > 4000 * 3 * 10
        # Each server has some small tables of its own in files of the same kind.
        assert 0.4 < (detail["table_bytes"] + detail["index_bytes"]) / detail["data_bytes"] < 1.1


@full
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
    held = ("--tests", "l.i1", "--hold", "0,60", "--name", "held")
    workplace.run("compare", contender, *ONCE, *options.split(), *held)
    records = {record["test"]: record["step"] for record in steps_of(workplace, "held")}
    assert list(records) == [f"{step}{hold}" for hold in ("", ".hold60") for step in STEPS[:3]]
    assert records["l.i1.hold60"][left] > 0.9 * most
    assert records["l.i1"][left] < 0.9 * records["l.i1.hold60"][left]
    results = {result["test"]: result for result in workplace.report("held")["results"]}
    assert results["l.i1.hold60"][left] == records["l.i1.hold60"][left]
    other = ({"dead_rows", "history_length"} - {left}).pop()
    assert all(other not in record for record in records.values())
