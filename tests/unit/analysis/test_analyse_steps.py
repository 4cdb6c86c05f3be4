"""The Insert Benchmark from slices to a report."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.notes import PLAN_OF_WRITERS_DIFFERS
from slowdust.analysis.stored import analyse
from slowdust.ratios import Ratio
from slowdust.store.manifest import Plan
from tests.unit.ratios import value_of
from tests.unit.synthetic_steps import Break, Overload, Standstill, insert_experiment

A, B = "postgres@15.8", "postgres@17.6"
MISSED = Overload(B, "qp1000", inserts=0.7)


def the(report: Report, test: str, contender: str) -> Result:
    [result] = [r for r in report.results if (r.test, r.contender) == (test, contender)]
    return result


def test_known_shifts_are_recovered() -> None:
    report = analyse(
        *insert_experiment([A, B], shifts={B: {"l.i0": 0.8, "l.x": 1.3}}, incarnations=4)
    )

    assert the(report, "l.i0", B).verdict == "slower"
    assert value_of(the(report, "l.i0", B).ratio) == pytest.approx(0.8, abs=0.02)
    assert the(report, "l.x", B).verdict == "faster"
    assert {the(report, test, B).verdict for test in ("l.i1", "qr100", "qp500")} == {"same"}
    assert the(report, "qr100", B).slices == 4
    assert the(report, "qr100", B).notes == []


def test_hardware_is_per_insert_per_indexed_row_and_per_query() -> None:
    manifest, slices = insert_experiment([A], ["l.i1", "l.x", "qr100"], incarnations=1)
    inserts, rows, queries = slices

    report = analyse(manifest, slices)

    for record, test in ((inserts, "l.i1"), (rows, "l.x"), (queries, "qr100")):
        assert record.measured.operations is not None
        expected = record.measured.uses["server"]["cpu_s"] * 1e6 / record.measured.operations
        assert the(report, test, A).per_op["server_cpu_us"] == pytest.approx(expected)
    assert queries.step is not None
    assert queries.measured.operations == queries.step.roles["query"].statements


def test_steps_are_in_the_order_of_running_for_any_rates() -> None:
    names = ["l.i0", "l.x", "qr50", "qp50", "qr100", "qp100", "qr70"]
    manifest, slices = insert_experiment([A, B], names, incarnations=2)

    results = analyse(manifest, slices[::-1]).results

    assert [r.test for r in results if r.contender == A] == names
    assert {r.group for r in results} == {"write", "index creation", "range", "point"}


def test_queries_whose_writers_missed_their_sla_are_not_compared(
    snapshot: SnapshotAssertion,
) -> None:
    report = analyse(*insert_experiment([A, B], overloaded=[MISSED]))

    missed = the(report, "qp1000", B)
    assert missed.writers is not None
    assert not missed.writers.sla_met
    assert (missed.typical, missed.ratio) == (None, None)
    assert missed.per_op_relative is None
    assert missed.qps == pytest.approx(6000, rel=0.05)
    assert missed.notes == snapshot
    assert value_of(the(report, "qp1000", A).ratio) == 1
    assert the(report, "qr1000", B).ratio is not None


def test_nothing_is_compared_with_a_base_that_missed_its_sla(snapshot: SnapshotAssertion) -> None:
    report = analyse(
        *insert_experiment([A, B, "postgres@18.1"], overloaded=[Overload(A, "qr500", deletes=0.5)])
    )

    assert the(report, "qr500", A).ratio is None
    for name in (B, "postgres@18.1"):
        result = the(report, "qr500", name)
        assert (result.ratio, result.per_op_relative) == (None, None)
        assert result.notes == snapshot


def test_rows_that_were_lost_are_noted(snapshot: SnapshotAssertion) -> None:
    manifest, slices = insert_experiment([A, B], ["l.i1"], incarnations=2)
    detail = next(p for p in slices if (p.place.contender, p.place.incarnation) == (B, 2)).step
    assert detail is not None
    detail.rows_counted = 499_950

    assert the(analyse(manifest, slices), "l.i1", B).notes == snapshot


def test_a_failed_step_costs_its_pair_and_no_other(snapshot: SnapshotAssertion) -> None:
    report = analyse(
        *insert_experiment([A, B], ["l.i0", "l.i1", "qr100"], broken=[Break(B, "l.i1", 2)])
    )

    result = the(report, "l.i1", B)
    assert (result.slices, the(report, "l.i1", A).slices) == (2, 3)
    assert result.ratio is not None
    assert result.notes == snapshot
    assert the(report, "qr100", B).notes == []


def test_a_step_that_always_failed_has_no_result_and_says_so() -> None:
    broken = [Break(B, "l.i1", incarnation) for incarnation in (1, 2, 3)]

    report = analyse(*insert_experiment([A, B], ["l.i0", "l.i1"], broken=broken))

    assert [r.contender for r in report.results if r.test == "l.i1"] == [A]
    assert len(report.failed_steps) == 3


def test_one_start_has_rates_and_no_verdicts(snapshot: SnapshotAssertion) -> None:
    report = analyse(*insert_experiment([A, B], ["l.i0", "qr100"], incarnations=1))

    result = the(report, "l.i0", B)
    assert value_of(result.ratio) == pytest.approx(1, abs=0.03)
    assert result.ratio == Ratio(value_of(result.ratio), verdict="unsure", margin=report.margin)
    assert result.notes == snapshot
    assert any(note.startswith("One start:") for note in report.notes)


def test_starts_that_disagree_are_noted(snapshot: SnapshotAssertion) -> None:
    report = analyse(*insert_experiment([A, B], ["l.i0"], noise=0.2, incarnations=3, seed=2))

    assert the(report, "l.i0", B).notes == snapshot


def test_the_method_says_how_steps_ran_and_nothing_of_slices(snapshot: SnapshotAssertion) -> None:
    manifest, slices = insert_experiment([A, B], ["l.i0"])
    assert manifest.method.steps is not None
    manifest.method.steps.partitions = 8
    manifest.method.steps.holds_s = [0.0, 30.0]

    method = analyse(manifest, slices).method

    assert [f"{what}: {value}" for what, value in method.items()] == snapshot
    assert not {"slice", "budget"} & set(method)


def test_the_tldr_explains_rates_failures_and_stalls(
    snapshot: SnapshotAssertion,
) -> None:
    report = analyse(
        *insert_experiment(
            [A, B],
            shifts={B: {"qr100": 0.8}},
            overloaded=[MISSED],
            standstills=[Standstill(A, "l.i1", "insert", 5), Standstill(A, "l.i1", "delete", 5)],
            broken=[Break(B, "l.i2", 2, reason="the server ended: signal 9\nlog line")],
        )
    )

    sentences = report.tldr
    assert report.answer is not None
    assert report.answer.failures == snapshot
    assert report.answer.slower == snapshot
    assert sentences == snapshot


def test_unsure_steps_want_starts_not_slices(snapshot: SnapshotAssertion) -> None:
    report = analyse(*insert_experiment([A, B], ["l.i0", "l.x"], noise=0.1, incarnations=2))

    assert report.answer is not None
    assert report.answer.open == snapshot


def test_where_something_was_decided_or_starts_are_many_no_remedy_is_named(
    snapshot: SnapshotAssertion,
) -> None:
    shifted = {B: {"l.i0": 0.2}}
    decided = analyse(
        *insert_experiment([A, B], ["l.i0", "l.x"], noise=0.1, incarnations=2, shifts=shifted)
    )
    many = analyse(*insert_experiment([A, B], ["l.i0", "l.x"], noise=0.1, incarnations=6))
    once = analyse(*insert_experiment([A, B], ["l.i0"], incarnations=1))

    answers = [report.answer for report in (decided, many, once)]
    assert [answer and answer.open for answer in answers] == snapshot


def test_one_start_next_to_busy_idlers_is_noted_and_named(snapshot: SnapshotAssertion) -> None:
    manifest, slices = insert_experiment([A, B], ["l.i0"], incarnations=3)
    for record in slices:
        busy = record.place.incarnation == 2 and record.place.contender == B
        window = record.measured.probe_seconds or record.measured.seconds
        assert window is not None
        uses = record.measured.uses
        record.measured.uses = {name: uses[name] for name in ("client", "server", "host")}
        record.measured.uses["idle.another"] = {"cpu_s": (0.08 if busy else 0.001) * window}

    report = analyse(manifest, slices)

    result = the(report, "l.i0", B)
    assert result.idle_cpu_share == pytest.approx(0.082 / 3)
    assert result.notes == snapshot
    assert not any("idle" in note for note in the(report, "l.i0", A).notes)


def test_many_failed_steps_are_counted(snapshot: SnapshotAssertion) -> None:
    broken = [
        Break(B, test, incarnation)
        for test in ("l.i1", "l.i2", "qr100")
        for incarnation in (1, 2, 3)
    ]

    answer = analyse(*insert_experiment([A, B], broken=broken)).answer
    assert answer is not None

    assert answer.failures == snapshot


def test_a_calm_experiment_reports_no_stalls_and_no_sla() -> None:
    sentences = " ".join(analyse(*insert_experiment([A, B])).tldr)

    assert "Stalls" not in sentences
    assert "SLA" not in sentences
    assert "failed" not in sentences


@pytest.mark.parametrize(
    ("statement", "notes"),
    [
        ("SELECT price FROM purchases1", []),
        ("DELETE FROM purchases1", [PLAN_OF_WRITERS_DIFFERS]),
    ],
)
def test_the_plan_of_writers_is_not_that_of_the_queries(statement: str, notes: list[str]) -> None:
    manifest, slices = insert_experiment([A, B], ["l.i2", "qr100"])
    for step in ("l.i2", "qr100"):
        manifest.plans += [
            Plan(test=step, contender=name, statement=statement, plan=plan)
            for name, plan in ((A, "Index Scan"), (B, "Bitmap Heap Scan"))
        ]

    report = analyse(manifest, slices)

    assert the(report, "qr100", B).notes == notes
    assert the(report, "qr100", B).has_other_plan == (not notes)
    assert the(report, "l.i2", B).has_other_plan
