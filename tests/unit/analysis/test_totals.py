"""Totals compared with typical values: stalls that a trimmed mean does not see."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.comparison import block_ratios, judge, mean_response, total_of
from slowdust.analysis.results.notes import notes_about_totals
from slowdust.analysis.results.per_op import rate_of
from slowdust.analysis.stored import analyse
from slowdust.stats.blocks import BlockRatios
from slowdust.stats.estimate import estimate_all
from slowdust.stats.location import BlockTotals, ratio_of_totals, totals_by_incarnation
from slowdust.stats.relative import Estimate
from slowdust.stats.verdict import DIFFERENT, Judgement, judge_estimates
from slowdust.store.slice import Slice
from tests.unit.ratios import interval_of, value_of
from tests.unit.synthetic import (
    QUIET,
    FloatArray,
    Noise,
    synthetic_experiment,
    synthetic_rates,
    synthetic_ratios,
    synthetic_slice,
)
from tests.unit.synthetic_steps import insert_experiment

MARGIN = 0.03


def simulated(count: int, noise: Noise, incarnations: int = 3) -> list[list[Estimate]]:
    rng = np.random.default_rng(5)
    return [
        estimate_all(
            synthetic_ratios(
                synthetic_rates(
                    np.zeros((8, 2)), noise=noise, incarnations=incarnations, blocks=20, rng=rng
                ),
                2,
            )
        )
        for _ in range(count)
    ]


def stalling(share_of_speed: float, *, every: int) -> list[Slice]:
    """Slices of two equal contenders; in some slices of b an operation waits."""
    _, slices = synthetic_experiment(
        ["a", "b"], ["point-query"], noise=QUIET, incarnations=3, blocks=20
    )
    of_b = [record for record in slices if record.place.contender == "b"]
    for record in of_b[::every]:
        assert record.measured.seconds is not None
        record.measured.seconds /= share_of_speed
        record.qps *= share_of_speed
    return slices


def block_totals(amount: FloatArray) -> BlockTotals:
    return BlockTotals(amount, np.ones(amount.shape), np.ones(len(amount), dtype=bool))


def test_the_jackknife_of_equal_times_agrees_with_a_naive_one() -> None:
    amount = np.random.default_rng(1).uniform(50, 150, (12, 2))

    location = ratio_of_totals(block_totals(amount))

    def log_ratio(rows: FloatArray) -> float:
        return math.log(rows[:, 0].sum() / rows[:, 1].sum())

    without = [log_ratio(np.delete(amount, block, axis=0)) for block in range(12)]
    variance = 11 / 12 * sum((value - np.mean(without)) ** 2 for value in without)
    assert location.mean == pytest.approx(log_ratio(amount))
    assert location.squares / (location.size * (location.size - 1)) == pytest.approx(variance)


def test_a_contender_that_did_nothing_but_in_one_block_has_a_ratio_that_says_little() -> None:
    location = ratio_of_totals(block_totals(np.array([[0.0, 5.0], [7.0, 5.0]])))

    assert location.mean == pytest.approx(math.log(0.7))
    assert location.squares > 1


def test_a_silent_start_is_in_the_ratio_of_all() -> None:
    calm, silent = np.full((4, 2), 100.0), np.array([[0.0, 100.0]] * 4)

    locations = totals_by_incarnation({number: block_totals(calm) for number in range(1, 6)})
    with_silence = totals_by_incarnation(
        {1: block_totals(silent), **{number: block_totals(calm) for number in range(2, 7)}}
    )

    assert [location.mean for location in locations.values()] == [0.0] * 5
    assert [*with_silence] == [1, 2, 3, 4, 5, 6]
    mean = np.mean([location.mean for location in with_silence.values()])
    assert mean == pytest.approx(math.log(5 / 6))


def test_a_contender_that_never_did_anything_has_no_ratio() -> None:
    silent = block_totals(np.array([[0.0, 5.0], [0.0, 5.0]]))

    assert totals_by_incarnation({1: silent, 2: silent}) == {}


@pytest.mark.parametrize("silent", [(3,), (1, 2)])
def test_a_contender_that_was_silent_for_a_start_is_not_the_same(
    silent: tuple[int, ...],
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = synthetic_experiment(
        ["a", "b"], ["point-query"], noise=QUIET, incarnations=4
    )
    for record in slices:
        if record.place.contender == "b" and record.place.incarnation in silent:
            record.qps, record.measured.operations, record.measured.seconds = 0.0, 0, 0.0

    [judgement] = judge(slices, ["a", "b"], MARGIN)
    report = analyse(manifest, slices)

    all_time = judgement.estimate.all_time
    assert all_time is not None
    assert all_time.silent == silent
    assert (judgement.verdict, judgement.basis) == ("unsure", "all time")
    assert not judgement.settled
    base, result = report.results
    assert value_of(result.ratio) == pytest.approx(result.qps / base.qps, rel=0.02)
    assert result.silent_incarnations == [*silent]
    assert result.notes == snapshot
    assert report.answer is not None
    assert report.answer.warnings == snapshot


def test_a_contender_with_a_silent_slice_in_every_block_is_judged_by_totals() -> None:
    manifest, slices = synthetic_experiment(
        ["a", "b"], ["point-query"], noise=QUIET, incarnations=3, blocks=20
    )
    silenced: set[tuple[int, int]] = set()
    for record in slices:
        block = record.place.incarnation, record.place.block
        if record.place.contender == "b" and block not in silenced:
            silenced.add(block)
            record.qps, record.measured.operations, record.measured.seconds = 0.0, 0, 0.0

    [judgement] = judge(slices, ["a", "b"], MARGIN)
    [_, result] = analyse(manifest, slices).results

    assert judgement.estimate.ratio is None
    assert (judgement.verdict, judgement.basis) == ("slower", "all time")
    assert (result.typical, result.verdict) == (None, "slower")
    assert value_of(result.ratio) == pytest.approx(0.5, rel=0.02)


def test_a_difference_that_the_totals_do_not_have_is_unsure() -> None:
    slices = stalling(0.02, every=40)
    for record in slices:
        if record.place.contender == "b":
            assert record.measured.seconds is not None
            record.measured.seconds /= 1.1
            record.qps *= 1.1

    [judgement] = judge(slices, ["a", "b"], MARGIN)

    assert judgement.basis == "typical"
    assert judgement.estimate.interval is not None
    assert judgement.estimate.interval.low > 1.05
    assert (judgement.verdict, judgement.settled) == ("unsure", False)


def test_a_difference_that_the_totals_have_as_well_stays() -> None:
    slices = stalling(0.02, every=40)
    for record in slices:
        if record.place.contender == "b":
            assert record.measured.seconds is not None
            record.measured.seconds *= 20
            record.qps /= 20

    [judgement] = judge(slices, ["a", "b"], MARGIN)

    assert (judgement.verdict, judgement.basis) == ("slower", "typical")


def test_the_stall_of_one_client_is_not_charged_to_the_others() -> None:
    record = synthetic_slice(clients=8, qps=4000.0)
    record.measured.operations, record.measured.seconds = 1000, 2.0

    assert total_of(record) == (1000, 0.25)
    assert rate_of([record, record]) == pytest.approx(4000.0)


def test_a_block_more_does_not_make_a_difference_less_sure() -> None:
    shape = (0.2, 0.21, 0.19, 0.2)
    single = replace(some_cell(), by_incarnation=tuple(np.full((1, 2), ratio) for ratio in shape))
    longer = replace(
        single, by_incarnation=(np.array([[0.2, 0.2], [0.21, 0.21]]), *single.by_incarnation[1:])
    )

    before, after = (estimate_all([cell])[0].p_value for cell in (single, longer))

    assert before < 0.001
    assert after < 3 * before


def some_cell() -> BlockRatios:
    _, slices = synthetic_experiment(["a", "b"], ["scan"], noise=QUIET, incarnations=4, blocks=1)
    return replace(block_ratios(slices, "a", ["a", "b"])[0], totals={})


def test_stalls_of_one_contender_decide(snapshot: SnapshotAssertion) -> None:
    [judgement] = judge(stalling(0.1, every=10), ["a", "b"], MARGIN)
    estimate = judgement.estimate

    assert estimate.ratio == pytest.approx(1.0, abs=0.01)
    assert estimate.all_time is not None
    assert estimate.all_time.ratio == pytest.approx(1 / 1.9, rel=0.02)
    assert (judgement.verdict, judgement.basis) == ("slower", "all time")
    assert notes_about_totals(judgement, outlasts_slices=False) == snapshot


def test_stalls_of_the_base_are_called_so(snapshot: SnapshotAssertion) -> None:
    [judgement] = judge(stalling(0.1, every=10), ["a", "b"], MARGIN, base="b")

    assert judgement.verdict == "faster"
    [note] = notes_about_totals(judgement, outlasts_slices=False)
    assert note == snapshot


def test_two_stalls_are_too_few_to_say_whose_they_are(snapshot: SnapshotAssertion) -> None:
    [judgement] = judge(stalling(0.02, every=40), ["a", "b"], MARGIN)

    assert (judgement.verdict, judgement.basis) == ("unsure", "typical")
    assert not judgement.settled
    [note] = notes_about_totals(judgement, outlasts_slices=False)
    assert note == snapshot


def test_calm_slices_need_no_note() -> None:
    _, slices = synthetic_experiment(["a", "b"], ["scan"], noise=QUIET, incarnations=3)
    [judgement] = judge(slices, ["a", "b"], MARGIN)

    assert (judgement.verdict, judgement.basis) == ("same", "typical")
    assert notes_about_totals(judgement, outlasts_slices=False) == []


def test_silent_slices_are_in_the_totals() -> None:
    _, slices = synthetic_experiment(
        ["a", "b"], ["point-query"], noise=QUIET, incarnations=3, blocks=20
    )
    for record in [record for record in slices if record.place.contender == "b"][::8]:
        record.qps, record.measured.operations, record.measured.seconds = 0.0, 0, 0.0

    [judgement] = judge(slices, ["a", "b"], MARGIN)

    assert judgement.estimate.with_zero == 15
    assert judgement.estimate.all_time is not None
    assert judgement.estimate.all_time.ratio == pytest.approx(7 / 8, rel=0.02)
    assert (judgement.verdict, judgement.basis) == ("slower", "all time")


def test_stalls_of_one_contender_are_no_longer_called_same() -> None:
    """The claim of docs/statistics.md, small: a twentieth of the slices at a tenth of the speed."""
    judged: list[Judgement] = []
    typical: list[Judgement] = []
    for estimates in simulated(6, Noise(contender_stalls=0.05), incarnations=6):
        judged += judge_estimates(estimates, MARGIN)
        typical += judge_estimates([replace(e, all_time=None) for e in estimates], MARGIN)

    assert sum(j.verdict == "same" for j in typical) / len(typical) > 0.75
    assert sum(j.verdict == "same" for j in judged) / len(judged) < 0.4
    assert sum(j.verdict == "slower" for j in judged) / len(judged) > 0.45


@pytest.mark.parametrize("noise", [Noise(slice=0.15), Noise(stalled_share=0.02)])
def test_stalls_of_the_machine_make_few_false_verdicts(noise: Noise) -> None:
    judged = [j for estimates in simulated(10, noise) for j in judge_estimates(estimates, MARGIN)]

    assert sum(j.verdict in DIFFERENT for j in judged) / len(judged) <= 0.03


def test_the_interval_of_totals_holds() -> None:
    held = [
        estimate.all_time.interval.low <= 0.955 <= estimate.all_time.interval.high
        for estimates in simulated(15, Noise(contender_stalls=0.05))
        for estimate in estimates
        if estimate.all_time is not None and estimate.all_time.interval is not None
    ]

    assert len(held) == 120
    assert np.mean(held) >= 0.9


def test_long_steps_and_other_quantities_have_no_totals() -> None:
    _, steps = insert_experiment(["a", "b"], ["l.i0"], incarnations=3)
    _, slices = synthetic_experiment(["a", "b"], ["scan"])

    assert block_ratios(steps, "a", ["a", "b"])[0].totals == {}
    assert block_ratios(slices, "a", ["a", "b"], mean_response)[0].totals == {}


def test_the_rate_is_the_total_over_the_time() -> None:
    slow, fast = synthetic_slice(qps=1000.0), synthetic_slice(qps=3000.0)
    slow.measured.operations, slow.measured.seconds, slow.qps = 100, 1.0, 100.0
    fast.measured.operations, fast.measured.seconds, fast.qps = 500, 0.5, 1000.0

    assert rate_of([slow, fast, fast]) == pytest.approx(1100 / 2.0)


def test_the_rate_of_rows_is_of_rows() -> None:
    scan = synthetic_slice(test="scan", qps=8000.0)
    scan.measured.operations, scan.measured.rows, scan.measured.seconds = 4, 4000, 0.5

    assert rate_of([scan]) == pytest.approx(8000.0)


def test_a_long_step_keeps_its_rate() -> None:
    _, slices = insert_experiment(["a"], ["l.i0"], incarnations=3)

    assert rate_of(slices) == sorted(record.qps for record in slices)[1]


def test_a_report_has_the_ratio_of_totals() -> None:
    manifest, slices = synthetic_experiment(["a", "b"], ["scan"], shifts={"b": 0.8}, noise=QUIET)

    base, other = analyse(manifest, slices).results

    assert (base.all_time, base.basis) == (None, None)
    low, high = interval_of(other.all_time)
    assert low < value_of(other.all_time) < high
    assert value_of(other.all_time) == pytest.approx(0.8, rel=0.02)
    assert other.basis == "typical"


@pytest.mark.parametrize(("of_slice", "told"), [(1, False), (2, True)])
def test_an_operation_longer_than_a_slice_does_not_stall(of_slice: int, *, told: bool) -> None:
    slices = stalling(0.1, every=10)
    for record in slices:
        record.measured.operations = of_slice * record.place.clients
    manifest, _ = synthetic_experiment(["a", "b"], ["point-query"])
    report = analyse(manifest, slices)
    [result] = [each for each in report.results if each.contender == "b"]
    assert result.outlasts_slices is not told
    assert any("stalls" in note for note in result.notes) is told
