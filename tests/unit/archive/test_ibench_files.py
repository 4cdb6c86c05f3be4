"""What single files of the Insert Benchmark tell, whole and torn."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from slowdust.archive.insert.sequences import SEQUENCES, Steps, name_steps
from slowdust.formats.insert import client as ibench_client
from slowdust.formats.insert import course as ibench_course
from slowdust.formats.insert import response as ibench_response
from slowdust.formats.insert import result as ibench_result
from slowdust.formats.insert import tables as ibench
from slowdust.formats.insert.names import (
    FileKind,
    IbenchFile,
    in_order,
    known_as,
    parse_file,
    rate_of,
    step_of_directory,
)
from slowdust.formats.insert.tables import Row
from tests.unit.archive.ibench_files import RESULT, STEPS, client_output, row


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("o.sum.t.20m.my5649.cx6d", IbenchFile(FileKind.RUN, tag="20m.my5649.cx6d")),
        ("mrg.l.i0", IbenchFile(FileKind.MERGED, step="l.i0")),
        ("mrg.q1000.2", IbenchFile(FileKind.MERGED, step="q1000.2")),
        ("rel.qr100.L1", IbenchFile(FileKind.RELATIVE, step="qr100.L1")),
        (
            "mrg.q.L2.ips100.rt.query",
            IbenchFile(FileKind.MERGED_RESPONSE, step="q.L2.ips100", role="query"),
        ),
        ("o.ib.dop8.3.gz", IbenchFile(FileKind.CLIENT, clients=8, client=3)),
        ("o.res.dop8", IbenchFile(FileKind.RESULT, clients=8)),
        ("o.rt.t.delete", IbenchFile(FileKind.RESPONSE, role="delete")),
        ("mrg.some", IbenchFile(FileKind.SELECTION)),
        ("rel.q100.2.some", IbenchFile(FileKind.SELECTION)),
        ("mrg.l.i0.some", IbenchFile(FileKind.SELECTION)),
        ("o.vm.dop8", IbenchFile(FileKind.BY_PRODUCT)),
        ("mrg.l.i0.rate.insert", IbenchFile(FileKind.BY_PRODUCT)),
    ],
)
def test_a_file_says_what_it_is(name: str, said: IbenchFile) -> None:
    assert parse_file(name) == said


@pytest.mark.parametrize("name", ["all.html", "rel.notes", "sb.o.scan.range100.pk1", ""])
def test_other_files_say_nothing(name: str) -> None:
    assert parse_file(name) is None


def test_steps_are_called_as_slowdust_calls_them() -> None:
    assert [known_as(step) for step in ("l.x", "qr100.L1", "q100.2")] == ["l.x", "qr100", "q100.2"]
    assert [rate_of(step) for step in ("l.i1", "qp500.L4", "q800.1")] == [None, 500, 800]


def test_steps_run_in_their_order() -> None:
    assert in_order(reversed(STEPS)) == list(STEPS)
    assert in_order(["q1000.1", "q200.2", "l.z", "q200.1", "l.x"]) == [
        "l.x", "q200.1", "q200.2", "q1000.1", "l.z",
    ]  # fmt: skip


def test_directories_of_steps() -> None:
    of_2021 = ["l.i0", "q.L1.ips100", "q.L2.ips100", "q.L3.ips200", "q.L4.ips200", "logs"]
    assert [step_of_directory(name, of_2021) for name in of_2021] == [
        "l.i0", "q100.1", "q100.2", "q200.1", "q200.2", None,
    ]  # fmt: skip
    assert step_of_directory("qp.L2.ips100", ["qr.L1.ips100", "qp.L2.ips100"]) == "qp100.L2"


def test_a_damaged_step_keeps_its_place() -> None:
    rows = [row("8m.pg174.c1", step) for step in STEPS]
    lines = ibench.write([rows]).splitlines()
    lines[3] = "edited by hand"
    lines[5] = lines[5].replace("799", "7?9")
    found, damaged = ibench.read_steps(lines)
    assert found == [*rows[:2], None, rows[3], None, *rows[5:]]
    assert damaged == [lines[3], lines[5]]
    assert name_steps([found], ()) == [Steps(STEPS, 10)]


def run_of(steps: Sequence[str], clients: int = 1) -> list[Row]:
    """That reached the insert rates of its steps."""
    rates = [(step, rate_of(step)) for step in steps]
    return [
        row("8m.pg174.c1", step, {"ips": str(rate * clients)} if rate else {})
        for step, rate in rates
    ]


@pytest.mark.parametrize("steps", SEQUENCES)
def test_a_table_that_ends_early_is_the_beginning_of_what_is_around_it(
    steps: tuple[str, ...],
) -> None:
    for count in range(1, len(steps)):
        rows = run_of(steps)[:count]
        cut = Steps(steps[:count], len(steps))
        assert name_steps([rows, run_of(steps)], ()) == [cut, Steps(steps, len(steps))]
        assert name_steps([rows], steps) == [cut]
        assert name_steps([[*rows[:-1], None], run_of(steps)], ())[0] == cut


def test_a_table_alone_that_ends_early_is_what_its_rates_say() -> None:
    of_2021, of_2022, _ = SEQUENCES
    assert name_steps([run_of(of_2021)[:6]], ()) == [Steps(of_2021[:6], 15)]
    assert name_steps([run_of(of_2022)], of_2021) == [Steps(of_2022, 6)]
    assert name_steps([run_of(of_2022)[:4]], ()) == [Steps(of_2022[:4], None)]
    unknown = run_of(of_2022)[:5]
    unknown[4] = row("8m.pg174.c1", "q100.1", {"ips": "NA"})
    assert name_steps([unknown], ()) == [None]


def test_groups_with_strange_lines() -> None:
    first, second = (ibench.merged(row(tag, "l.x")) for tag in ("8m.pg174.c1", "8m.my8044.c1"))
    lines = ["see below", *ibench.write([[first], [second]]).splitlines(), "-", ""]
    assert ibench.read_groups(lines) == ([[first], [second]], ["see below"])


def test_what_a_step_came_to() -> None:
    result = ibench_result.read(RESULT.splitlines())
    assert result is not None
    assert (result.rows, result.seconds, result.ips, result.deletes) == (
        10_000_000, 301, "33222.5", True,
    )  # fmt: skip
    assert result.hardware["insert"]["wKB/i"] == "1.387"
    assert result.hardware["insert"]["cs/q"] == "0.271"
    assert (result.database_gb, result.directory_gb) == (7.25, 9.5)
    assert result.longest == {"insert": 0.415, "query": 0.0}
    assert result.exceeded["delete"] == {50: 16700, 99: 9000}, "of the first client"
    assert result.client_cpu_s == 120.5


def test_a_torn_result_has_what_is_left() -> None:
    result = ibench_result.read(RESULT.splitlines()[:4])
    assert result is not None
    assert (result.hardware, result.database_gb, result.longest) == ({}, None, {})
    assert ibench_result.read(RESULT.splitlines()[2:]) is None
    assert ibench_result.read([]) is None


def test_old_results_say_nothing_of_deletes() -> None:
    first = RESULT.splitlines()[0].removesuffix(", yes deletes")
    result = ibench_result.read([first])
    assert result is not None
    assert result.deletes is None


def test_response_times_of_all_clients() -> None:
    lines = [
        "256us\t1ms\t4ms\t16ms\t64ms\t256ms\t1s\t4s\t16s\tgt\tmax\ttag",
        "0\t5\t90\t5\t0\t0\t0\t0\t0\t0\t0.012\tt1:DBMS",
        "0\t5\t190\t5\t0\t0\t0\t0\t0\t0\t0.015\tsum:DBMS",
        "0.000\t2.500\t95.000\t2.500\t0.000\t0.000\t0.000\t0.000\t0.000\t0.000\t0.015\tpct:DBMS",
    ]
    found = ibench_response.read_sum(lines)
    assert found is not None
    assert (found.counts[:4], found.longest) == ((0, 5, 190, 5), 0.015)
    assert ibench_response.read_sum(lines[:2]) is None


def test_response_times_of_several_runs() -> None:
    lines = [
        "256us\t1ms\t4ms\t16ms\t64ms\t256ms\t1s\t4s\t16s\tgt\tmax\ttag",
        "99.990\t0.010\tnonzero\t\t\t\t\t\t\t\t0.003\tmy8044.c1",
        "-",
        "100.000\t0.000\t0.00",
    ]
    found, damaged = ibench_response.read_merged(lines)
    assert found["my8044.c1"].percent[:4] == (99.99, 0.01, None, 0.0)
    assert (found["my8044.c1"].longest, damaged) == (0.003, [lines[-1]])


def test_what_a_client_printed() -> None:
    output = ibench_client.read(client_output([100, 300], queries=[5000, 7000]))
    assert output is not None
    assert (output.courses.elapsed, output.ended, output.rows_per_commit) == (2.0, True, 50)
    assert (output.courses.of_roles["insert"].total, output.courses.of_roles["query"].total) == (
        400,
        12000,
    )
    assert output.courses.of_roles["query"].done.tolist() == [5000, 7000]
    assert output.courses.of_roles["insert"].longest_us.tolist() == [1500, 1500]
    assert output.response_times["query"].counts[:2] == (12000, 2)
    assert output.response_times["insert"].longest == 0.0115


def test_a_client_that_was_cut_off() -> None:
    lines = client_output([100, 300]).splitlines(keepends=True)
    output = ibench_client.read(b"".join(lines[:3]) + lines[3][:20])
    assert output is not None
    assert (output.courses.of_roles["insert"].total, output.ended) == (100, False)
    assert ibench_client.read(b"".join(lines[:2])) is None


@pytest.mark.parametrize(
    "torn", [b"1.0\t2.0\n", b"1.2.3\t4\n", b"Warning: slow\n", b"\xff\n", b"\n"]
)
def test_strange_lines_among_the_seconds(torn: bytes) -> None:
    lines = client_output([100, 300, 500]).splitlines(keepends=True)
    output = ibench_client.read(b"".join([*lines[:3], torn, *lines[3:]]))
    assert output is not None
    assert output.courses.of_roles["insert"].done.tolist() == [100, 300, 500]


def lines_of_client() -> tuple[list[bytes], bytes]:
    """The command line, header and a row for each of 60 seconds; and the end."""
    printed = client_output([100] * 60, queries=[5000] * 60)
    rows, title, end = printed.partition(b"Insert rt:")
    return rows.splitlines(keepends=True), title + end


def edited(row: bytes, column: str, value: str) -> bytes:
    cells = row.split(b"\t")
    cells[ibench_course.COLUMNS.index(column)] = value.encode()
    return b"\t".join(cells)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda rows: [*rows[:20], *rows[50:]], "rows of 30 of its 60 s are missing or damaged"),
        (lambda rows: rows[30:], "rows of 30 of its 60 s"),
        (lambda rows: [*rows[:20], b"junk\n", *rows[21:]], "rows of 1 of its 60 s"),
        (lambda rows: [*rows[:20], rows[20][:9] + b"\n", *rows[21:]], "rows of 1 of its 60 s"),
        (lambda rows: [*rows[:20], edited(rows[20], "t_ins", "7"), *rows[21:]], "rows of 1 of"),
        (lambda rows: [*rows[:20], edited(rows[20], "t_sec", "999"), *rows[21:]], "rows of 1 of"),
        (lambda rows: [*rows[:20], edited(rows[20], "t_dps", "9" * 400), *rows[21:]], "rows of 1"),
        (lambda rows: [*rows[:20], edited(rows[20], "t_del", "9" * 308), *rows[21:]], "rows of 1"),
        (lambda rows: [*rows[:20], edited(rows[20], "retry_q", "-1\n"), *rows[21:]], "rows of 1"),
        (lambda rows: [*rows[:20], rows[9], *rows[20:]], "1 damaged row"),
        (
            lambda rows: [*rows[:20], edited(rows[20], "i_ips", "10000"), *rows[21:]],
            "i_ips and t_ins contradict each other at 21.0 s",
        ),
        (
            lambda rows: [*rows[:20], edited(rows[20], "i_sec", "5.0"), *rows[21:]],
            "i_sec and t_sec contradict each other at 21.0 s",
        ),
    ],
)
def test_damaged_rows_of_a_client_change_no_rate(
    damage: Callable[[list[bytes]], list[bytes]], told: str
) -> None:
    lines, end = lines_of_client()
    output = ibench_client.read(b"".join([*lines[:2], *damage(lines[2:])]) + end)
    assert output is not None
    [reason] = output.damage
    assert told in reason
    courses = output.courses
    rates = [course.total / courses.elapsed for course in courses.of_roles.values()]
    assert rates == [100, 0, 5000]
    assert courses.unbroken == ("contradict" in told)
    if courses.unbroken:
        assert courses.of_roles["insert"].done.tolist() == [100] * 60


@pytest.mark.parametrize("wrong", ["2000.0", "4.0"])
def test_a_wrong_time_while_nothing_was_done_is_that_of_one_row(wrong: str) -> None:
    lines = client_output([0] * 5 + [100] * 55).splitlines(keepends=True)
    lines[3] = edited(lines[3], "t_sec", wrong)
    output = ibench_client.read(b"".join(lines))
    assert output is not None
    assert output.damage == ("rows of 1 of its 60 s are missing or damaged",)
    assert (output.courses.elapsed, output.courses.of_roles["insert"].total) == (60, 5500)
    assert output.complete


@pytest.mark.parametrize("last", [b"", b"60.0\t12\n", b"junk\n"])
def test_rows_that_are_missing_at_the_end_of_a_client(last: bytes) -> None:
    lines, end = lines_of_client()
    output = ibench_client.read(b"".join([*lines[:-10], last]) + end)
    assert output is not None
    assert (output.courses.elapsed, output.courses.of_roles["query"].total) == (50, 250_000)
    assert output.damage[-1] == ("5,000 rows inserted by its last row and 6,000 by its end")


def test_rounded_rates_and_times_of_a_client_contradict_nothing() -> None:
    """The client prints them for intervals that are a little longer than a second."""
    rng = random.Random(1)
    totals, end, rows = [0.0, 0.0, 0.0], 0.0, []
    for _ in range(300):
        length = 1 + rng.random() / 15
        done = [round(rng.choice([0, 3, 900, 200_000]) * rng.random()) for _ in totals]
        totals, end = [a + b for a, b in zip(totals, done, strict=True)], end + length
        rates = [cell for d, t in zip(done, totals, strict=True) for cell in (d / length, t / end)]
        cells = [f"{length:.1f}", f"{end:.1f}", *(f"{rate:.0f}" for rate in rates), "9", "9", "9"]
        rows.append("\t".join([*cells, *(f"{total:.0f}" for total in totals), "0", "0", "0"]))
    output = ibench_client.read("".join(f"{one}\n" for one in rows).encode())
    assert output is not None
    assert (output.damage, output.courses.unbroken) == ((), True)
