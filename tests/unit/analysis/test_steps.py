from __future__ import annotations

from collections.abc import Sequence

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import RoleReport, StepRun
from slowdust.analysis.results.steps import classic_buckets
from slowdust.analysis.stored import analyse
from slowdust.store.latency import Histogram
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_steps import Break, Overload, insert_experiment


def runs(test: str, *, overloaded: Sequence[Overload] = ()) -> list[StepRun]:
    return analyse(
        *insert_experiment(["a", "b"], [test], clients=[2], overloaded=overloaded)
    ).step_runs


def role(run: StepRun, name: str) -> RoleReport:
    [role] = [role for role in run.roles if role.role == name]
    return role


def test_each_contender_and_start_has_its_run_in_order() -> None:
    report = analyse(*insert_experiment(["a", "b"], ["l.i0", "qr100"], incarnations=2))

    assert [(run.test, run.contender, run.incarnation) for run in report.step_runs] == [
        ("l.i0", "a", 1),
        ("l.i0", "a", 2),
        ("l.i0", "b", 1),
        ("l.i0", "b", 2),
        ("qr100", "a", 1),
        ("qr100", "a", 2),
        ("qr100", "b", 1),
        ("qr100", "b", 2),
    ]


def test_sizes_are_compared_with_those_of_the_base_in_the_same_start() -> None:
    manifest, slices = insert_experiment(["a", "b"], ["l.i0"], incarnations=2)
    sizes = {("a", 1): 100, ("b", 1): 80, ("a", 2): None, ("b", 2): 90}
    for record in slices:
        assert record.step is not None
        record.step.data_bytes = sizes[record.place.contender, record.place.incarnation]

    ratios = [run.size_ratio for run in analyse(manifest, slices).step_runs]

    assert ratios == [1.0, None, 0.8, None]


@pytest.mark.parametrize(
    ("test", "units"),
    [
        ("l.i0", {"insert": "inserts/s"}),
        ("l.x", {"index": "indexed rows/s"}),
        ("l.i1", {"insert": "inserts/s", "delete": "deletes/s"}),
        (
            "qr100",
            {"query": "range queries/s", "insert": "inserts/s", "delete": "deletes/s"},
        ),
        (
            "qp500",
            {"query": "point queries/s", "insert": "inserts/s", "delete": "deletes/s"},
        ),
    ],
)
def test_every_rate_says_what_it_counts(test: str, units: dict[str, str]) -> None:
    run = runs(test)[0]

    assert {role.role: role.unit for role in run.roles} == units


def test_the_rate_of_the_role_that_a_step_is_about_is_the_steps() -> None:
    for test, name in (
        ("l.i0", "insert"),
        ("l.x", "index"),
        ("l.i2", "insert"),
        ("qp100", "query"),
    ):
        run = runs(test)[0]
        assert role(run, name).rate == run.qps


def test_writers_count_rows_and_queries_statements() -> None:
    run = runs("qr100")[0]
    insert, query = role(run, "insert"), role(run, "query")

    assert run.seconds is not None
    assert insert.statements is not None
    assert query.statements is not None
    assert insert.rate == pytest.approx(200)
    assert insert.rows == 50 * insert.statements
    assert query.rate == pytest.approx(query.statements / run.seconds)
    assert query.client_cpu_us == pytest.approx(0.01 * run.seconds * 1e6 / query.statements)
    assert insert.rows is not None
    assert insert.client_cpu_us == pytest.approx(0.01 * run.seconds * 1e6 / insert.rows)


def test_the_schedule_of_a_paced_role_is_reported_and_of_no_other() -> None:
    run = runs("qr1000", overloaded=[Overload("a", "qr1000", inserts=0.5)])[0]
    insert, query = role(run, "insert"), role(run, "query")

    assert run.seconds is not None
    assert insert.target == 2000
    assert insert.backlog == pytest.approx(0.5 * 2000 * run.seconds, rel=0.01)
    assert insert.late_statements == insert.statements
    assert insert.max_lag_s == pytest.approx(0.5 * run.seconds)
    assert (query.target, query.backlog, query.max_lag_s) == (None, None, None)


def test_classic_buckets_hold_all_statements() -> None:
    histogram = Histogram(
        values_ns=[1_000, 256_000, 257_000, 900_000, 5_000_000_000, 17_000_000_000],
        counts=[1, 2, 4, 8, 16, 32],
        max_ns=17_000_000_000,
        mean_ns=1.0,
    )

    assert classic_buckets(histogram) == [3, 12, 0, 0, 0, 0, 0, 0, 16, 32]


def test_a_role_that_finished_nothing_has_no_response_time() -> None:
    manifest, slices = insert_experiment(["a"], ["l.i1"], incarnations=1)
    assert slices[0].step is not None
    use = slices[0].step.roles["delete"]
    use.statements = use.rows = 0
    use.latency = Histogram(values_ns=[], counts=[], max_ns=0, mean_ns=0.0)

    delete = role(analyse(manifest, slices).step_runs[0], "delete")

    assert (delete.rate, delete.p50_us, delete.client_cpu_us) == (0, None, None)
    assert delete.buckets == [0] * 10


def test_failed_steps_are_in_the_report(snapshot: SnapshotAssertion) -> None:
    report = analyse(*insert_experiment(["a", "b"], ["l.i1"], broken=[Break("b", "l.i1", 2)]))

    [failed] = report.failed_steps
    assert (failed.test, failed.contender, failed.incarnation) == ("l.i1", "b", 2)
    assert failed.reason == snapshot
    assert len(report.step_runs) == 5


def test_slices_are_no_long_steps() -> None:
    assert analyse(*synthetic_experiment(["a", "b"], ["scan"], blocks=2)).step_runs == []
