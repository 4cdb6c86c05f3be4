from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report, Result
from slowdust.analysis.stored import analyse
from slowdust.errors import UsageError
from slowdust.ratios import Ratio
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.ratios import value_of
from tests.unit.synthetic import QUIET, Noise, synthetic_experiment


def quiet(**given: float) -> tuple[Manifest, list[Slice]]:
    return synthetic_experiment(
        ["a@1", "a@2"],
        ["update-index", "point-query"],
        shifts={"a@2": {name.replace("_", "-"): shift for name, shift in given.items()}},
        noise=QUIET,
        blocks=6,
    )


def the(report: Report, test: str, contender: str) -> Result:
    [result] = [r for r in report.results if (r.test, r.contender) == (test, contender)]
    return result


def test_known_shifts_are_recovered(snapshot: SnapshotAssertion) -> None:
    report = analyse(*quiet(point_query=0.9))

    slower, same = the(report, "point-query", "a@2"), the(report, "update-index", "a@2")
    assert slower.verdict == "slower"
    assert value_of(slower.ratio) == pytest.approx(0.9, abs=0.005)
    assert slower.per_op_relative is not None
    assert slower.per_op_relative["server_cpu_us"] == pytest.approx(1 / 0.9, rel=0.01)
    assert same.verdict == "same"
    assert report.answer is not None
    assert report.answer.slower == snapshot


def test_the_base_has_results_too_and_comes_first() -> None:
    report = analyse(*quiet())

    assert [r.contender for r in report.results] == ["a@1", "a@2"] * 2
    base = the(report, "point-query", "a@1")
    assert base.typical == base.ratio == Ratio(1.0)
    assert base.per_op_relative is None


def test_another_base_can_be_chosen() -> None:
    report = analyse(*quiet(point_query=0.5), base="a@2")

    assert report.contenders == ["a@2", "a@1"]
    assert value_of(the(report, "point-query", "a@1").ratio) == pytest.approx(2.0, rel=0.02)


def test_an_unknown_base_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="a@1, a@2"):
        analyse(*quiet(), base="a@3")


def test_results_are_in_the_methods_order() -> None:
    manifest, slices = synthetic_experiment(
        ["a", "b"], ["insert", "scan", "point-query.pre"], clients=[8, 1], blocks=2
    )

    order = [(r.test, r.clients) for r in analyse(manifest, slices).results if r.contender == "a"]

    assert order == [
        ("point-query.pre", 1),
        ("point-query.pre", 8),
        ("scan", 1),
        ("scan", 8),
        ("insert", 1),
        ("insert", 8),
    ]


def test_steps_of_other_benchmarks_keep_the_order_in_which_they_ran() -> None:
    manifest, slices = synthetic_experiment(["a", "b"], ["l.i0", "l.x", "l.i1"], blocks=2)
    for record in slices:
        record.place.benchmark = "of a later version"

    results = analyse(manifest, slices).results

    assert [r.test for r in results if r.contender == "a"] == ["l.i0", "l.x", "l.i1"]
    assert {r.group for r in results} == {"of a later version"}


def test_totals_of_a_result() -> None:
    manifest, slices = quiet()
    slices[0].measured.errors = {"40001": 2}
    slices[0].measured.retries = 5

    result = the(analyse(manifest, slices), slices[0].place.test, slices[0].place.contender)

    assert (result.slices, result.incarnations) == (24, 2)
    assert result.measured_s == pytest.approx(6.0)
    assert (result.errors, result.errors_by_state, result.retries) == (2, {"40001": 2}, 5)
    assert "errors: 2" in result.notes
    assert "retries: 5" in result.notes
    assert result.late_operations is None
    assert result.peak_rss_gb == pytest.approx(180 / 1024)


def test_without_server_probes_their_values_are_absent() -> None:
    manifest, slices = quiet()
    for record in slices:
        record.measured.uses = {"host": record.measured.uses["host"]}

    result = analyse(manifest, slices).results[0]

    assert "server_cpu_us" not in result.per_op
    assert result.backends_changed is None
    assert result.idle_cpu_share is None
    assert result.peak_rss_gb is None


def test_a_contender_that_never_finished_an_operation_is_not_comparable(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = quiet()
    for record in slices:
        if record.place.contender == "a@2":
            record.qps, record.measured.operations, record.measured.errors = 0.0, 0, {"53300": 7}
            assert record.measured.latency is not None
            record.measured.latency.values_ns, record.measured.latency.counts = [], []

    report = analyse(manifest, slices)

    result = the(report, "point-query", "a@2")
    assert (result.typical, result.ratio) == (None, None)
    assert result.latency_us is None
    assert result.notes == snapshot
    assert report.tldr == snapshot


def test_a_step_that_the_base_lacks_is_not_compared() -> None:
    manifest, slices = quiet()
    left = [p for p in slices if (p.place.test, p.place.contender) != ("point-query", "a@1")]

    result = the(analyse(manifest, left), "point-query", "a@2")

    assert result.ratio is None
    assert result.per_op_relative is None


def test_a_killed_block_changes_no_other(snapshot: SnapshotAssertion) -> None:
    manifest, slices = quiet(point_query=0.9)

    whole = the(analyse(manifest, slices), "point-query", "a@2")
    torn = the(analyse(manifest, slices[:-1]), "point-query", "a@2")

    assert torn.slices + the(analyse(manifest, slices[:-1]), "point-query", "a@1").slices == 47
    assert value_of(torn.ratio) == pytest.approx(value_of(whole.ratio), rel=0.005)
    assert torn.notes == snapshot


def test_plans_that_differ_are_shown_and_noted() -> None:
    manifest, slices = quiet()
    manifest.plans[-1].plan = "Seq Scan"

    report = analyse(manifest, slices)

    [difference] = report.plan_differences
    assert difference.test == "point-query"
    assert difference.plans == {"a@1": "Index Scan", "a@2": "Seq Scan"}
    assert difference.differences.keys() == {"a@2"}
    assert difference.differing_lines == {"a@1": [0], "a@2": [0]}
    assert report.same_plans == {
        test: ["a@2"] for test in {result.test for result in report.results} - {"point-query"}
    }
    assert the(report, "point-query", "a@2").has_other_plan
    assert not the(report, "update-index", "a@2").has_other_plan


def test_a_plan_for_other_rows_is_the_same_plan() -> None:
    manifest, slices = quiet()
    condition = "Index Scan using i on t\n  Index Cond: (transactionid >= '{}'::bigint)"
    for place, plan in enumerate(manifest.plans):
        plan.plan = condition.format(1000 + place)

    report = analyse(manifest, slices)

    assert report.plan_differences == []
    assert not any(result.has_other_plan for result in report.results)


def test_plans_of_different_dbms_are_not_compared() -> None:
    manifest, slices = synthetic_experiment(
        ["postgres@1", "mysql@2", "mysql@3"], ["point-query", "scan"], noise=QUIET, blocks=4
    )
    printed = {"postgres@1": "Index Scan", "mysql@2": "const", "mysql@3": "const"}
    for plan in manifest.plans:
        plan.plan = printed[plan.contender]
    manifest.plans[-1].plan = "ALL"

    report = analyse(manifest, slices)

    [difference] = report.plan_differences
    assert difference.test == "scan"
    assert difference.plans == {"mysql@2": "const", "mysql@3": "ALL"}
    assert not any(result.has_other_plan for result in report.results)
    beside_mysql = analyse(manifest, slices, base="mysql@2")
    differing = [(r.test, r.contender) for r in beside_mysql.results if r.has_other_plan]
    assert differing == [("scan", "mysql@3")]


def test_settings_that_differ_from_the_base() -> None:
    manifest, slices = quiet()
    manifest.contenders[1].settings = {"shared_buffers": "1GB", "jit": "off"}

    info = analyse(manifest, slices).contender_info[1]

    assert info.differing == {"shared_buffers": "1GB", "fsync": "(not set)", "jit": "off"}


def test_an_experiment_without_slices_has_a_report(snapshot: SnapshotAssertion) -> None:
    manifest, _ = quiet()

    report = analyse(manifest, [])

    assert report.results == []
    assert report.tldr == snapshot


def test_disturbances_of_slices_are_noted(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment(
        ["a", "b"], ["point-query"], noise=Noise(drift=0.4, restart=0.1), blocks=4, seed=3
    )
    for record in slices:
        record.measured.uses["client"]["busiest_thread"] = 0.95
        record.measured.uses |= {
            f"idle.{name}": {"cpu_s": cpu_s} for name, cpu_s in {"other": 0.1}.items()
        }
        record.measured.skipped_probes = ["disk"]

    report = analyse(manifest, slices)

    notes = " / ".join(the(report, "point-query", "b").notes)
    assert notes == snapshot
    assert " / ".join(the(report, "point-query", "a").notes) == snapshot


def test_one_start_is_noted(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment(["a", "b"], ["scan"], incarnations=1, blocks=3)

    notes = the(analyse(manifest, slices), "scan", "b").notes
    assert notes == snapshot


def test_the_method_says_which_lengths_of_slices_were_chosen() -> None:
    manifest, slices = synthetic_experiment(["a", "b"], ["scan"], blocks=3)
    manifest.method.slice_s = None
    manifest.method.slice_lengths = {"point-query@1": 0.05, "scan@1": 0.25, "scan@8": 0.05}
    assert analyse(manifest, slices).method["slice"].startswith("0.05 s; scan 0.25 s (")
    manifest.method.slice_lengths = {"scan@1": 0.05}
    assert analyse(manifest, slices).method["slice"].startswith("0.05 s (")
