"""Reading single files of the Insert Benchmark, whole and torn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from slowdust.archive.classic import Row
from slowdust.archive.insert.names import (
    SEQUENCES,
    FileKind,
    FileName,
    Steps,
    in_order,
    main_role,
    name_steps,
    parse_file,
    rate_of,
    step_of_directory,
)
from slowdust.archive.insert.tables import (
    CLIENT_COLUMNS,
    merged_row,
    read_client,
    read_groups,
    read_merged,
    read_result,
    read_steps,
    read_sum,
    write_table,
)
from tests.unit.archive.command import mentions
from tests.unit.archive.insert_files import RESULT, STEPS, client_output, row


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("o.sum.t.20m.my5649.cx6d", FileName(FileKind.RUN, tag="20m.my5649.cx6d")),
        ("mrg.l.i0", FileName(FileKind.MERGED, step="l.i0")),
        ("mrg.q1000.2", FileName(FileKind.MERGED, step="q1000.2")),
        ("rel.qr100.L1", FileName(FileKind.RELATIVE, step="qr100.L1")),
        (
            "mrg.q.L2.ips100.rt.query",
            FileName(FileKind.MERGED_RESPONSE, step="q.L2.ips100", role="query"),
        ),
        ("o.ib.dop8.3.gz", FileName(FileKind.CLIENT, clients=8, client=3)),
        ("o.res.dop8", FileName(FileKind.RESULT, clients=8)),
        ("o.rt.t.delete", FileName(FileKind.RESPONSE, role="delete")),
        ("mrg.some", FileName(FileKind.SELECTION)),
        ("rel.q100.2.some", FileName(FileKind.SELECTION)),
        ("mrg.l.i0.some", FileName(FileKind.SELECTED, step="l.i0")),
        ("o.vm.dop8", FileName(FileKind.BY_PRODUCT)),
        ("mrg.l.i0.rate.insert", FileName(FileKind.BY_PRODUCT)),
    ],
)
def test_a_file_says_what_it_is(name: str, printed: FileName) -> None:
    assert parse_file(name) == printed


@pytest.mark.parametrize("name", ["all.html", "rel.notes", "sb.o.scan.range100.pk1", ""])
def test_other_files_say_nothing(name: str) -> None:
    assert parse_file(name) is None


def test_steps_have_a_role_and_those_with_queries_a_rate() -> None:
    steps = ("l.i1", "l.x", "qp500.L4", "q800.1", "qr100", "q0.1")
    assert [rate_of(step) for step in steps] == [None, None, 500, 800, 100, None]
    roles = ["insert", "index", "query", "query", "query", "insert"]
    assert [main_role(step) for step in steps] == roles


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
    lines = write_table([rows]).splitlines()
    lines[3] = "edited by hand"
    lines[5] = lines[5].replace("799", "7?9")
    actual, damaged = read_steps(lines)
    assert actual == [*rows[:2], None, rows[3], None, *rows[5:]]
    assert damaged == [lines[3], lines[5]]
    assert name_steps([actual], ()) == [Steps(STEPS, 10)]


def run_of(steps: Sequence[str], clients: int = 1) -> list[Row]:
    """Return a run that reached the insert rates of its steps."""
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
    first, second = (merged_row(row(tag, "l.x")) for tag in ("8m.pg174.c1", "8m.my8044.c1"))
    lines = ["see below", *write_table([[first], [second]]).splitlines(), "-", ""]
    assert read_groups(lines) == ([[first], [second]], ["see below"])


def test_the_result_of_a_step() -> None:
    outcome = read_result(RESULT.splitlines())
    assert outcome is not None
    assert (outcome.rows, outcome.seconds, outcome.ips) == (10_000_000, 301, "33222.5")
    assert outcome.hardware["insert"]["wKB/i"] == "1.387"
    assert outcome.hardware["insert"]["cs/q"] == "0.271"
    assert (outcome.database_gb, outcome.directory_gb) == (7.25, 9.5)
    assert outcome.longest == {"insert": 0.415, "query": 0.0}
    assert outcome.exceeded["delete"] == {50: 16700, 99: 9000}, "of the first client"


def test_a_torn_result_has_what_is_left() -> None:
    outcome = read_result(RESULT.splitlines()[:4])
    assert outcome is not None
    assert (outcome.hardware, outcome.database_gb, outcome.longest) == ({}, None, {})
    assert read_result(RESULT.splitlines()[2:]) is None
    assert read_result([]) is None


def test_old_results_say_nothing_of_deletes() -> None:
    first = RESULT.splitlines()[0].removesuffix(", yes deletes")
    outcome = read_result([first])
    assert outcome is not None
    assert (outcome.rows, outcome.qps) == (10_000_000, "0.0")


def test_response_times_of_all_clients() -> None:
    lines = [
        "256us\t1ms\t4ms\t16ms\t64ms\t256ms\t1s\t4s\t16s\tgt\tmax\ttag",
        "0\t5\t90\t5\t0\t0\t0\t0\t0\t0\t0.012\tt1:DBMS",
        "0\t5\t190\t5\t0\t0\t0\t0\t0\t0\t0.015\tsum:DBMS",
        "0.000\t2.500\t95.000\t2.500\t0.000\t0.000\t0.000\t0.000\t0.000\t0.000\t0.015\tpct:DBMS",
    ]
    actual = read_sum(lines)
    assert actual is not None
    assert (actual.counts[:4], actual.longest) == ((0, 5, 190, 5), 0.015)
    assert read_sum(lines[:2]) is None


def test_response_times_of_several_runs() -> None:
    lines = [
        "256us\t1ms\t4ms\t16ms\t64ms\t256ms\t1s\t4s\t16s\tgt\tmax\ttag",
        "99.990\t0.010\tnonzero\t\t\t\t\t\t\t\t0.003\tmy8044.c1",
        "-",
        "100.000\t0.000\t0.00",
    ]
    assert read_merged(lines) == ({"my8044.c1": 0.003}, [lines[-1]])


def test_the_output_of_a_client_is_read() -> None:
    output = read_client(client_output([100, 300], queries=[5000, 7000]))
    assert output is not None
    assert (output.elapsed, output.ended, output.rows_per_commit) == (2.0, True, 50)
    assert (output.roles["insert"].total, output.roles["query"].total) == (
        400,
        12000,
    )
    assert output.roles["query"].done.tolist() == [5000, 7000]
    assert output.roles["insert"].longest_us.tolist() == [1500, 1500]
    assert output.response_times["query"].counts[:2] == (12000, 2)
    assert output.response_times["insert"].longest == 0.0115


def test_a_client_that_was_cut_off() -> None:
    lines = client_output([100, 300]).splitlines(keepends=True)
    output = read_client(b"".join(lines[:3]) + lines[3][:20])
    assert output is not None
    assert (output.roles["insert"].total, output.ended) == (100, False)
    assert read_client(b"".join(lines[:2])) is None


@pytest.mark.parametrize(
    "torn", [b"1.0\t2.0\n", b"1.2.3\t4\n", b"Warning: slow\n", b"\xff\n", b"\n"]
)
def test_strange_lines_among_the_seconds(torn: bytes) -> None:
    lines = client_output([100, 300, 500]).splitlines(keepends=True)
    output = read_client(b"".join([*lines[:3], torn, *lines[3:]]))
    assert output is not None
    assert output.roles["insert"].done.tolist() == [100, 300, 500]


def lines_of_client() -> tuple[list[bytes], bytes]:
    """Return the command line, header and a row for each of 60 seconds; and the end."""
    printed = client_output([100] * 60, queries=[5000] * 60)
    rows, title, end = printed.partition(b"Insert rt:")
    return rows.splitlines(keepends=True), title + end


def edited(row: bytes, column: str, value: str) -> bytes:
    cells = row.split(b"\t")
    cells[CLIENT_COLUMNS.index(column)] = value.encode()
    return b"\t".join(cells)


@pytest.mark.parametrize(
    "damage",
    [
        lambda row: row[:9] + b"\n",
        lambda row: edited(row, "t_dps", "9" * 400),
        lambda row: edited(row, "t_del", "9" * 308),
        lambda row: edited(row, "t_ins", "1e15"),
        lambda row: edited(row, "i_ips", "nan"),
        lambda row: edited(row, "i_ips", "1,2"),
        lambda row: edited(row, "retry_q", "-1\n"),
    ],
)
def test_a_row_that_cannot_be_read_is_skipped(damage: Callable[[bytes], bytes]) -> None:
    lines, end = lines_of_client()
    rows = lines[2:]
    output = read_client(b"".join([*lines[:2], *rows[:20], damage(rows[20]), *rows[21:]]) + end)
    assert output is not None
    assert output.damage == ("1 damaged row",)
    assert [role.total / output.elapsed for role in output.roles.values()] == [100, 0, 5000]
    assert (len(output.lengths), output.unbroken, output.complete) == (59, False, True)


def test_a_row_that_does_not_follow_the_one_before_breaks_the_seconds() -> None:
    lines, end = lines_of_client()
    rows = lines[2:]
    for changed, broken in (
        ([*rows[:20], *rows[21:]], "1 row not consecutive"),
        ([*rows[:20], edited(rows[20], "t_ins", "0"), *rows[21:]], "1 row not consecutive"),
    ):
        output = read_client(b"".join([*lines[:2], *changed]) + end)
        assert output is not None
        assert output.damage[0].startswith(broken)
        assert (output.unbroken, output.complete, output.elapsed) == (False, True, 60)


@pytest.mark.parametrize("last", [b"", b"60.0\t12\n", b"junk\n"])
def test_rows_that_are_missing_at_the_end_of_a_client(last: bytes) -> None:
    lines, end = lines_of_client()
    output = read_client(b"".join([*lines[:-10], last]) + end)
    assert output is not None
    assert (output.elapsed, output.roles["query"].total) == (50, 250_000)
    assert mentions(output.damage[-1], "5,000", "6,000")
