from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.metrics import Cause, PerOperation
from slowdust.analysis.model import Writers
from slowdust.analysis.results.per_op import relative_to
from slowdust.analysis.story.reasons import explain
from slowdust.ratios import Ratio
from tests.unit.analysis.results import a_result

BASE = PerOperation(server_cpu_us=50.0, cs=2.0, read_kb=4.0, write_kb=8.0)


def causes(rqps: float, changes: dict[str, float], *, clients: int = 8) -> list[tuple[Cause, bool]]:
    per_op = PerOperation(
        server_cpu_us=50.0 * changes.get("cpu", 1.0),
        cs=2.0 * changes.get("cs", 1.0),
        read_kb=4.0 * changes.get("read", 1.0),
        write_kb=8.0 * changes.get("write", 1.0),
    )
    relative = relative_to(BASE, per_op)
    ours = a_result("b", rqps=rqps, per_op=per_op, per_op_relative=relative, clients=clients)
    base = a_result("a", per_op=BASE, clients=clients)
    return [(e.cause, e.partial) for e in explain(ours, base)]


@pytest.mark.parametrize(
    ("rqps", "changes", "expected"),
    [
        (0.80, {"cpu": 1.25}, [(Cause.CPU, False)]),
        (1.25, {"cpu": 0.80}, [(Cause.CPU, False)]),
        (0.80, {"cpu": 1.2, "cs": 1.5}, [(Cause.CONTENTION, False), (Cause.CPU, False)]),
        (0.50, {"read": 3.0}, [(Cause.IO, False)]),
        (0.80, {"write": 1.4, "cpu": 1.1}, [(Cause.IO, False), (Cause.CPU, True)]),
        (0.80, {"cpu": 0.7}, []),
        (0.80, {}, []),
        (0.80, {"cpu": 1.02}, []),
        (0.97, {"cpu": 1.03}, [(Cause.CPU, False)]),
    ],
)
def test_causes(rqps: float, changes: dict[str, float], expected: list[tuple[Cause, bool]]) -> None:
    assert causes(rqps, changes) == expected


def test_a_single_client_waits_without_contention() -> None:
    assert causes(0.80, {"cs": 1.5}) == [(Cause.CONTENTION, False)]
    assert causes(0.80, {"cs": 1.5}, clients=1) == [(Cause.WAITING, False)]


def test_a_multiple_of_next_to_nothing_explains_nothing() -> None:
    base = PerOperation(read_kb=0.001)
    ours = PerOperation(read_kb=0.004)
    result = a_result("b", rqps=0.5, per_op=ours, per_op_relative=relative_to(base, ours))

    assert explain(result, a_result("a", per_op=base)) == []


def test_evidence_too_small_for_the_time_explains_nothing() -> None:
    base = PerOperation(cs=8.0, write_kb=16.0, server_cpu_us=17_000.0)
    ours = PerOperation(cs=16.0, write_kb=32.0, server_cpu_us=34_000.0)
    result = a_result("b", rqps=0.5, per_op=ours, per_op_relative=relative_to(base, ours))

    explanations = explain(result, a_result("a", p50=18_000.0, per_op=base))

    assert [explanation.cause for explanation in explanations] == [Cause.CPU]


def test_without_probes_nothing_is_explained() -> None:
    assert explain(a_result("b", rqps=0.5), a_result("a")) == []


def test_the_time_of_a_long_step_is_of_one_row_not_of_a_statement_of_many(
    snapshot: SnapshotAssertion,
) -> None:
    base = PerOperation(cs=0.1)
    ours = PerOperation(cs=0.4)
    results = [
        a_result("a", test="l.i1", p50=5_000.0, per_op=base),
        a_result("b", test="l.i1", rqps=0.8, per_op=ours, per_op_relative=relative_to(base, ours)),
    ]
    assert explain(results[1], results[0]) == []
    for result in results:
        result.benchmark, result.unit, result.qps = "insert", "inserts/s", 10_000.0

    [explanation] = explain(results[1], results[0])

    assert explanation.cause is Cause.WAITING
    assert explanation.metric == snapshot


def test_writes_of_background_writers_explain_no_query() -> None:
    base = PerOperation(write_kb=1.0, server_cpu_us=40.0)
    ours = PerOperation(write_kb=20.0, server_cpu_us=64.0)
    kept = Writers(
        target=500.0,
        inserts=500.0,
        deletes=500.0,
        insert_backlog=0,
        delete_backlog=0,
        max_lag_s=0.0,
        sla_met=True,
    )
    result = a_result("b", rqps=0.64, per_op=ours, per_op_relative=relative_to(base, ours))
    result.writers = kept

    [explanation] = explain(result, a_result("a", per_op=base))

    assert explanation.cause is Cause.CPU


@pytest.mark.parametrize(
    ("scatter", "metrics"), [(0.2, ["context switches per operation"]), (0.4, [])]
)
def test_a_metric_whose_interval_includes_one_is_no_cause(
    scatter: float, metrics: list[str]
) -> None:
    ours = PerOperation(cs=3.0)
    result = a_result(
        "b",
        rqps=0.8,
        verdict="slower",
        per_op=ours,
        per_op_relative=relative_to(BASE, ours),
        scatter=scatter,
    )

    explanations = explain(result, a_result("a", per_op=BASE))

    assert [explanation.metric for explanation in explanations] == metrics


def test_a_metric_without_an_interval_is_no_cause() -> None:
    ours = PerOperation(cs=3.0)
    result = a_result(
        "b", rqps=0.8, verdict="slower", per_op=ours, per_op_relative=relative_to(BASE, ours)
    )
    result.compared = {}

    assert explain(result, a_result("a", per_op=BASE)) == []


def test_an_interval_on_the_other_side_of_one_than_the_totals_is_no_cause() -> None:
    ours = PerOperation(cs=3.0)
    result = a_result(
        "b", rqps=0.8, verdict="slower", per_op=ours, per_op_relative=relative_to(BASE, ours)
    )
    result.compared["cs"] = Ratio(0.85, 0.8, 0.9, "less")

    assert explain(result, a_result("a", per_op=BASE)) == []


def test_cpu_time_proves_no_cause_and_comes_after_what_does() -> None:
    ours = PerOperation(server_cpu_us=100.0, cs=3.2)
    result = a_result(
        "b", rqps=0.5, verdict="slower", per_op=ours, per_op_relative=relative_to(BASE, ours)
    )

    explanations = explain(result, a_result("a", per_op=BASE))

    assert [(item.cause, item.proves_cause) for item in explanations] == [
        (Cause.WAITING, True),
        (Cause.CPU, False),
    ]


def test_of_archived_runs_what_moved_less_than_cpu_is_not_the_first_cause() -> None:
    ours = PerOperation(server_cpu_us=50.0 * 1.88, write_kb=8.0 * 1.47)
    result = a_result("b", rqps=0.55, per_op=ours, per_op_relative=relative_to(BASE, ours))
    result.compared = {}

    explained = [movement.cause for movement in explain(result, a_result("a", per_op=BASE))]

    assert explained == [Cause.CPU, Cause.IO]


def test_of_archived_runs_the_ratio_alone_decides() -> None:
    ours = PerOperation(server_cpu_us=100.0)
    result = a_result("b", rqps=0.5, per_op=ours, per_op_relative=relative_to(BASE, ours))
    result.compared = {}

    [explanation] = explain(result, a_result("a", per_op=BASE))

    assert (explanation.cause, explanation.proves_cause) == (Cause.CPU, True)
