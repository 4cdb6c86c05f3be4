from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.metrics import BESIDE, COMPARED, PERCENTILES, Metric
from slowdust.analysis.model import Report, Result
from slowdust.analysis.results.compared import judge_quantity, pairs_of
from slowdust.analysis.stored import analyse
from slowdust.ratios import Margins
from slowdust.store.measured import STORAGE, Printed, Schedule
from slowdust.store.slice import Slice
from tests.unit.ratios import interval_of
from tests.unit.synthetic import QUIET, Hardware, Noise, synthetic_experiment
from tests.unit.synthetic_steps import Overload, insert_experiment
from tests.unit.synthetic_times import Truth, timed_slices

A, B = "a@1", "a@2"


def of(report: Report, test: str, contender: str = B) -> Result:
    [result] = [r for r in report.results if (r.test, r.contender) == (test, contender)]
    return result


def verdicts(result: Result) -> dict[str, str | None]:
    """Return the metrics that move smoothly: p50 and p99 lie on the edge of a synthetic bucket."""
    edges = ("p50_us", "p99_us")
    return {key: c.verdict for key, c in result.compared.items() if key not in edges}


def with_operations(slices: list[Slice], operations: int) -> None:
    """Leave this number of operations in each slice, all with the same response time."""
    for record in slices:
        latency = record.measured.latency
        assert latency is not None
        record.measured.operations = operations
        latency.values_ns, latency.counts = [latency.values_ns[2]], [operations]


def test_less_and_more_are_of_the_contender() -> None:
    report = analyse(
        *synthetic_experiment(
            [A, B],
            ["scan", "point-query"],
            shifts={B: {"scan": 0.7, "point-query": 1.3}},
            hardware={
                B: {"scan": Hardware(cpu=1.25), "point-query": Hardware(cpu=0.5, switches=0.5)}
            },
            noise=QUIET,
        )
    )

    scan, point = of(report, "scan"), of(report, "point-query")
    assert verdicts(scan) == {
        **{"server_cpu_us": "more", "cs": "same", "read_kb": "same", "write_kb": "same"},
        **{"p75_us": "more", "p95_us": "more"},
    }
    assert verdicts(point) == {
        **{"server_cpu_us": "less", "cs": "less", "read_kb": "same", "write_kb": "same"},
        **{"p75_us": "less", "p95_us": "less"},
    }
    cpu = scan.compared["server_cpu_us"]
    low, high = interval_of(cpu)
    assert low < cpu.value < high
    assert cpu.value == pytest.approx(1.25, abs=0.01)
    assert scan.compared["p95_us"].value == pytest.approx(1 / 0.7, abs=0.01)


def test_percentiles_have_a_wider_margin_than_hardware() -> None:
    shifts, cpu = {B: 1 / 1.06}, {B: Hardware(cpu=1.06)}
    report = analyse(
        *synthetic_experiment([A, B], ["scan"], shifts=shifts, hardware=cpu, noise=QUIET)
    )

    result = of(report, "scan")

    assert result.compared["server_cpu_us"].verdict == "more"
    assert result.compared["p75_us"].verdict == result.compared["p95_us"].verdict == "same"


def test_the_base_and_what_cannot_be_compared_have_none() -> None:
    manifest, slices = synthetic_experiment([A, B], ["scan", "insert"], blocks=4)
    for record in slices:
        if record.place.contender == B and record.place.test == "insert":
            record.unit = "rows/s"

    report = analyse(manifest, slices)

    assert of(report, "scan", A).compared == of(report, "insert").compared == {}
    of_every_test = {
        quantity.key
        for quantity in COMPARED
        if quantity not in BESIDE
        and not (isinstance(quantity, Metric) and quantity.probe == STORAGE)
    }
    assert of(report, "scan").compared.keys() == of_every_test


def test_in_an_open_loop_response_times_are_judged_without_the_rate() -> None:
    manifest, slices = synthetic_experiment([A, B], ["scan"], shifts={B: 0.7}, noise=QUIET)
    for record in slices:
        record.measured.schedule = Schedule(
            rate=100.0, arrivals="poisson", late_operations=0, max_lag_ns=0, mean_lag_ns=0.0
        )

    result = of(analyse(manifest, slices), "scan")

    assert result.verdict is None
    assert result.compared["p75_us"].verdict == "more"


def test_blocks_are_pooled_until_a_percentile_has_five_operations_beyond_it(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = synthetic_experiment([A, B], ["scan"], shifts={B: 0.8}, noise=QUIET)
    with_operations(slices, 50)

    result = of(analyse(manifest, slices), "scan")

    # 12 blocks: p99 needs 500 operations, 16 slices, and two incarnations have no 4 such pools.
    assert [p.field for p in PERCENTILES if p.key in result.compared] == ["p50", "p75", "p95"]
    assert result.compared["p95_us"].value == pytest.approx(1.25, abs=0.01)
    assert result.notes[-1] == snapshot


def test_a_pool_with_fewer_operations_has_no_percentile(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment([A, B], ["scan"], noise=QUIET, blocks=4)
    with_operations(slices, 3)

    result = of(analyse(manifest, slices), "scan")

    assert not result.compared.keys() & {percentile.key for percentile in PERCENTILES}
    assert result.notes[-1] == snapshot


def test_rare_writes_are_pooled_and_none_at_all_have_no_ratio() -> None:
    manifest, slices = synthetic_experiment([A, B], ["scan", "insert"], noise=QUIET, seed=2)
    for record in slices:
        if record.place.test == "scan" or record.place.block % 3:
            record.measured.uses["server"]["write_bytes"] = 0
        if record.place.contender == B:
            record.measured.uses["server"]["write_bytes"] *= 2

    report = analyse(manifest, slices)

    assert of(report, "insert").compared["write_kb"].value == pytest.approx(2.0, rel=0.01)
    assert "write_kb" not in of(report, "scan").compared
    assert of(report, "scan").notes == []


def test_a_block_that_was_cut_short_does_not_count() -> None:
    manifest, slices = synthetic_experiment([A, B], ["scan"], noise=QUIET, blocks=6)
    cut = max((r for r in slices if r.place.contender == B), key=lambda r: r.measured.started or 0)
    slices.remove(cut)
    whole = analyse(manifest, slices)
    for record in slices:
        place = (record.place.incarnation, record.place.block)
        if place == (cut.place.incarnation, cut.place.block):
            record.measured.uses["server"]["cpu_s"] *= 1000

    assert of(analyse(manifest, slices), "scan").compared == of(whole, "scan").compared


def test_unmeasured_values_are_absent() -> None:
    manifest, slices = synthetic_experiment([A, B], ["scan"], blocks=4)
    for record in slices:
        del record.measured.uses["server"]

    result = of(analyse(manifest, slices), "scan")

    assert result.compared.keys() == {percentile.key for percentile in PERCENTILES}


def test_long_steps_are_compared_unless_their_writers_missed_their_sla() -> None:
    missed = Overload(B, "qr100", inserts=0.5)
    report = analyse(*insert_experiment([A, B], ["l.i0", "qr100"], overloaded=[missed]))

    assert of(report, "l.i0").compared["server_cpu_us"].low is not None
    assert of(report, "qr100").compared == {}


def test_a_longer_tail_shows_in_p99_alone() -> None:
    slices = timed_slices(
        Truth(tail=2.0),
        operations=1000,
        noise=Noise(restart=0.002),
        tests=2,
        incarnations=3,
        blocks=8,
        rng=np.random.default_rng(4),
    )
    pairs = pairs_of(slices, ["a", "b"])

    by_key = {
        quantity.key: {judged.verdict for judged in judge_quantity(quantity, pairs, Margins(0.03))}
        for quantity in PERCENTILES
    }

    assert by_key["p50_us"] == by_key["p75_us"] == {"same"}
    assert by_key["p99_us"] == {"faster"}


def test_archived_runs_have_no_comparisons(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment([A, B], ["scan"], incarnations=1, blocks=2)
    for record in slices:
        record.printed = Printed()

    result = of(analyse(manifest, slices), "scan")

    assert result.compared == {}
    assert result.notes == snapshot
