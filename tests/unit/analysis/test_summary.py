from __future__ import annotations

import pytest

from slowdust.analysis.model import Report, Result, Writers
from slowdust.analysis.results.summary import (
    Shade,
    Summary,
    SummaryTable,
    summary_tables,
    titles_of,
)
from slowdust.analysis.stored import analyse
from slowdust.ratios import Verdict
from tests.unit.analysis.results import a_result
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_steps import Break, Overload, insert_experiment


def a_step(
    contender: str,
    qps: float,
    *,
    rqps: float | None = 1.0,
    verdict: Verdict | None = "same",
    inserts: float = 100.0,
) -> Result:
    result = a_result(contender, test="qr100", rqps=rqps, verdict=verdict)
    result.benchmark, result.unit, result.qps = "insert", "range queries/s", qps
    result.writers = Writers(
        target=100.0,
        inserts=inserts,
        deletes=100.0,
        insert_backlog=0,
        delete_backlog=0,
        max_lag_s=0.0,
        sla_met=inserts >= 95,
    )
    return result


def summary_of(*results: Result) -> Summary:
    manifest, _ = insert_experiment(["a"], ["qr100"])
    report = analyse(manifest, [])
    report.results, report.contenders = list(results), [result.contender for result in results]
    [summary] = summary_tables(report)
    return summary


def shades(table: SummaryTable) -> list[Shade]:
    return [row.cells[0].shade for row in table.rows]


def a_report() -> Report:
    return analyse(
        *insert_experiment(
            ["a", "b"],
            ["l.i0", "l.x", "qr100", "qp1000"],
            shifts={"b": {"l.i0": 0.5}},
            clients=[1, 4],
            overloaded=[Overload("b", "qp1000", inserts=0.7)],
            broken=[Break("b", "l.x", incarnation) for incarnation in (1, 2, 3)],
        )
    )


def test_contenders_by_steps_for_each_number_of_clients() -> None:
    one, four = summary_tables(a_report())

    assert (one.clients, four.clients) == (1, 4)
    assert [(column.test, column.unit) for column in one.absolute.columns] == [
        ("l.i0", "inserts/s"),
        ("l.x", "indexed rows/s"),
        ("qr100", "range queries/s"),
        ("qp1000", "point queries/s"),
    ]
    assert [row.name for row in one.absolute.rows] == ["a", "b"]
    assert four.absolute.rows[0].cells[0].value == pytest.approx(160_000, rel=0.05)
    assert len(one.tables) == 3


def test_each_hold_has_its_tables_and_what_it_costs_each_contender() -> None:
    steps = ["l.i1", "qr100", "l.i1.hold60", "qr100.hold60"]
    shifts = {"a": {"l.i1.hold60": 0.5}, "b": {"qr100": 2.0, "qr100.hold60": 0.5}}
    summaries = summary_tables(analyse(*insert_experiment(["a", "b"], steps, shifts=shifts)))

    none, held = summaries
    assert titles_of(summaries) == ["no hold", "hold 60 s"]
    assert [column.test for column in none.absolute.columns] == steps[:2]
    assert [column.test for column in held.absolute.columns] == steps[2:]
    assert none.with_hold is None
    assert held.with_hold is not None
    ratios = [[cell.value for cell in row.cells] for row in held.with_hold.rows]
    assert ratios == [pytest.approx([0.5, 1.0], rel=0.05), pytest.approx([1.0, 0.25], rel=0.05)]


def test_a_hold_without_the_same_steps_compared_with_none_is_relative_to_nothing() -> None:
    summaries = summary_tables(analyse(*insert_experiment(["a"], ["qr100.hold60"])))

    assert [summary.with_hold for summary in summaries] == [None]
    assert titles_of(summaries) == ["hold 60 s"]
    plain = summary_tables(analyse(*insert_experiment(["a"], ["qr100"], clients=[1, 4])))
    assert titles_of(plain) == ["1 client", "4 clients"]


def test_a_step_that_a_contender_lacks_is_an_empty_cell() -> None:
    summary = summary_tables(a_report())[0]

    cell = summary.absolute.rows[1].cells[1]
    assert (cell.value, cell.shade) == (None, Shade.PLAIN)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((1000.0, 400.0, 600.0), [Shade.BEST, Shade.WORST, Shade.PLAIN]),
        ((1000.0, 550.0, 400.0, 850.0), [Shade.BEST, Shade.WORST, Shade.WORST, Shade.BEST]),
        ((1000.0, 800.0), [Shade.BEST, Shade.PLAIN]),
        ((1000.0, 799.0), [Shade.BEST, Shade.WORST]),
        ((500.2, 499.9), [Shade.BEST, Shade.BEST]),
    ],
)
def test_shades_of_rates_are_the_classic_ones(
    rates: tuple[float, ...], expected: list[Shade]
) -> None:
    results = [a_step(name, rate) for name, rate in zip("abcd", rates, strict=False)]

    assert shades(summary_of(*results).absolute) == expected


def test_rates_without_their_writes_do_not_make_a_column() -> None:
    """The highest rate is marked among cells that met the SLA; cells that missed it are grey,
    except the lowest."""
    summary = summary_of(
        a_step("a", 1000.0),
        a_step("b", 2000.0, inserts=50.0),
        a_step("c", 950.0),
        a_step("d", 300.0, inserts=50.0),
    )

    assert shades(summary.absolute) == [Shade.BEST, Shade.SLA_MISSED, Shade.BEST, Shade.WORST]
    assert [row.cells[0].missed_sla for row in summary.absolute.rows] == [False, True, False, True]


@pytest.mark.parametrize(
    ("rqps", "shade"),
    [
        (0.94, Shade.SLOWER),
        (0.954, Shade.SLOWER),
        (0.956, Shade.PLAIN),
        (1.044, Shade.PLAIN),
        (1.046, Shade.FASTER),
    ],
)
def test_bands_of_relative_rates_are_of_what_is_printed(rqps: float, shade: Shade) -> None:
    summary = summary_of(
        a_step("a", 1000.0, verdict=None), a_step("b", 1000.0 * rqps, rqps=rqps, verdict="same")
    )
    unsure = summary_of(
        a_step("a", 1000.0, verdict=None), a_step("b", 1000.0 * rqps, rqps=rqps, verdict="unsure")
    )

    assert shades(summary.relative) == [Shade.PLAIN, shade]
    assert shades(unsure.relative) == [Shade.PLAIN, Shade.UNSURE]


def test_steps_that_missed_their_sla_have_a_rate_and_no_relative_one() -> None:
    summary = summary_tables(a_report())[0]
    absolute, relative = (t.rows[1].cells[3] for t in (summary.absolute, summary.relative))

    assert absolute.value == pytest.approx(6000, rel=0.05)
    assert (relative.value, relative.shade) == (None, Shade.SLA_MISSED)


def test_the_insert_rates_end_with_their_target() -> None:
    table = summary_tables(a_report())[1].insert_rate

    assert table is not None
    assert [column.test for column in table.columns] == ["qr100", "qp1000"]
    assert {column.unit for column in table.columns} == {"inserts/s"}
    assert [row.name for row in table.rows] == ["a", "b", "target"]
    of_b, target = (row.cells[1] for row in table.rows[1:])
    assert of_b.value == pytest.approx(2800, rel=0.01)
    assert of_b.shade is Shade.SLA_MISSED
    assert target.value == 4000


def test_without_queries_there_is_no_table_of_insert_rates() -> None:
    [summary] = summary_tables(analyse(*insert_experiment(["a", "b"], ["l.i0"])))

    assert summary.insert_rate is None
    assert len(summary.tables) == 2


def test_sliced_benchmarks_have_no_summary() -> None:
    assert summary_tables(analyse(*synthetic_experiment(["a", "b"], ["scan"], blocks=2))) == []
