from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.stored import analyse
from slowdust.report.markdown import report as markdown
from slowdust.report.sections.steps import MOST_STALLS
from tests.unit.report.outline import headings
from tests.unit.report.test_markdown import section, table_rows
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_steps import Break, Overload, Standstill, insert_experiment

A, B = "postgres@15.8", "postgres@17.6"
STEPS = ["l.i0", "l.x", "l.i1", "qr100", "qp1000"]


def rendered(
    *,
    clients: Sequence[int] = (1,),
    overloaded: Sequence[Overload] = (Overload(B, "qp1000", inserts=0.7),),
    standstills: Sequence[Standstill] = (Standstill(A, "l.i1", "insert", 5),),
) -> str:
    return markdown.render(
        analyse(
            *insert_experiment(
                [A, B],
                STEPS,
                shifts={B: {"l.i0": 0.5, "qr100": 1.2}},
                clients=clients,
                overloaded=overloaded,
                standstills=standstills,
                broken=[Break(B, "l.x", 2)],
            )
        )
    )


def test_the_rates_come_before_all_else_with_what_they_count(snapshot: SnapshotAssertion) -> None:
    text = rendered()
    lines = section(text, "Rates")
    header, _, base, other = table_rows(lines)

    assert text.index("## Rates") < text.index("## Throughput")
    assert lines[0] == snapshot
    assert header == ["contender", *STEPS]
    assert base[0] == A
    assert base[1].endswith("+")
    assert other[1].endswith("-")
    assert other[5].endswith("*")


def test_relative_rates_are_marked_by_the_classic_bands() -> None:
    _, _, base, other = table_rows(section(rendered(), "Relative to the first row"))

    assert base[1:] == ["1.00"] * 5
    assert other[1].startswith("0.5")
    assert other[1].endswith("-")
    assert other[4].endswith("+")
    assert other[5] == "-*"


def test_the_insert_rates_end_with_the_target() -> None:
    rows = table_rows(section(rendered(), "Insert rate during the queries"))

    assert rows[0] == ["contender", "qr100", "qp1000"]
    assert rows[-2:] == [[B, "100", "700*"], ["target", "100", "1,000"]]


def test_each_number_of_clients_has_its_tables() -> None:
    text = rendered(clients=(1, 4))

    for title in ("Rates", "Relative to the first row", "Insert rate during the queries"):
        assert f"## {title}, 1 client\n" in text
        assert f"## {title}, 4 clients\n" in text


def test_throughput_prints_units_and_what_missed_its_sla() -> None:
    rows = {row[0]: row for row in table_rows(section(rendered(), "Throughput"))}

    assert rows["l.i0"][2].endswith(" inserts/s")
    assert rows["l.x"][2].endswith(" indexed rows/s")
    assert rows["qr100"][3].endswith(" faster")
    assert rows["qp1000"][2].endswith(" point queries/s")
    assert rows["qp1000"][3] == "SLA missed"


def test_a_base_that_missed_its_sla_says_so(snapshot: SnapshotAssertion) -> None:
    text = rendered(overloaded=[Overload(A, "qp1000", deletes=0.5)])

    row = table_rows(section(text, "Throughput"))[-1]

    assert row[2] == snapshot
    assert row[3] == "-"


def test_operations_of_hardware_are_named(snapshot: SnapshotAssertion) -> None:
    sentence = section(rendered(), "Hardware per operation")[1]

    assert sentence == snapshot


def test_writers_show_rates_backlog_and_lag() -> None:
    rows = table_rows(section(rendered(), "Concurrent writers"))

    assert rows[-1] == ["qp1000", "1", B, "1,000", "700", "1,000", "6,000", "0", "6.00", "MISSED"]
    assert rows[-2][-1] == "met"


def test_every_role_of_every_start_has_its_rate_with_its_unit() -> None:
    rows = table_rows(section(rendered(), "Steps, start by start"))[2:]

    # Three starts of two contenders; one lacks one l.x.
    assert len(rows) == 6 * (1 + 1 + 2 + 3 + 3) - 1
    assert {row[5].partition(" ")[2] for row in rows} == {
        "inserts/s",
        "deletes/s",
        "indexed rows/s",
        "range queries/s",
        "point queries/s",
    }


def test_response_times_are_in_the_classic_buckets() -> None:
    header, _, first, *_ = table_rows(section(rendered(), "Response times of statements"))

    assert header[4:] == [
        *("256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s"),
        "more",
        "max us",
    ]
    assert first[:4] == ["l.i0", "1", A, "insert"]
    counts = [int(cell.replace(",", "")) for cell in first[4:-1]]
    assert counts[2] > 0.9 * sum(counts) > 10_000


def test_sizes_of_tables_and_indexes_are_shown_for_each_step() -> None:
    rows = table_rows(section(rendered(), "Sizes at the end of each step"))

    assert rows[2] == ["l.i0", "1", A, "500,000", "0.059", "0.029", "0.879", "1.000", "3.5"]
    assert len(rows) == 2 + 2 * len(STEPS)


def test_each_hold_has_tables_and_shows_what_it_left(snapshot: SnapshotAssertion) -> None:
    manifest, slices = insert_experiment([A, B], ["l.i1", "l.i1.hold60"])
    for record in slices:
        assert record.step is not None
        if record.place.contender == A:
            record.step.dead_rows = 5_000 if record.place.test == "l.i1.hold60" else 20
        else:
            record.step.history_length = 0
    text = markdown.render(analyse(manifest, slices))

    assert headings(text) == snapshot
    rows = table_rows(section(text, "Sizes at the end of each step"))
    assert rows[0][8:10] == ["history list", "dead rows"]
    assert [row[8:10] for row in rows[2:]] == [["-", "20"], ["0", "-"], ["-", "5,000"], ["0", "-"]]
    relative = section(text, "Relative to the same contender without a hold, hold 60 s")
    assert [row[0] for row in table_rows(relative)[2:]] == [A, B]
    assert not any(line.startswith("Marks:") for line in relative)


def test_stalls_show_what_the_probes_saw_and_the_log() -> None:
    lines = section(rendered(), "Stalls")
    row = table_rows(lines)[2]

    assert row[:6] == ["l.i1", "1", A, "1", "5", "insert"]
    assert row[6] == "0"
    assert row[10] == "0.90"
    logged = f"- l.i1, {A}, start 1, second 5: LOG:  checkpoint starting: wal"
    assert logged in lines


def test_a_long_list_of_stalls_says_how_much_is_missing(snapshot: SnapshotAssertion) -> None:
    seconds = range(5, 14)
    stalls = [Standstill(A, "l.i1", role, s) for role in ("insert", "delete") for s in seconds]

    lines = section(rendered(standstills=stalls), "Stalls")

    assert len(table_rows(lines)) == 2 + MOST_STALLS
    assert lines[-1] == snapshot


def test_failed_steps_are_listed_with_their_reason(snapshot: SnapshotAssertion) -> None:
    assert section(rendered(), "Steps that failed") == snapshot


def test_tables_are_aligned_and_markdown_reads_them() -> None:
    text = rendered()

    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines[0].startswith("|"):
            assert len({len(line) for line in lines}) == 1, block
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert "| l.i0" not in html


def test_sliced_benchmarks_have_none_of_this() -> None:
    report = analyse(*synthetic_experiment(["a", "b"], ["scan"], blocks=2))

    text = markdown.render(report)

    assert "## Rates" not in text
    assert "SLA" not in text
    assert "An operation (o)" not in text
