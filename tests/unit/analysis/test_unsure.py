from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Needed, Noise, Report, Result
from slowdust.analysis.results.needed import time_to_decide
from slowdust.analysis.results.noise import measure_noise
from slowdust.analysis.stored import analyse
from slowdust.analysis.story.unsure import what_decides, why_so_little
from slowdust.ratios import Ratio
from tests.unit import synthetic
from tests.unit.analysis.results import a_result
from tests.unit.synthetic import synthetic_experiment

A, B = "postgres@15.8", "postgres@17.6"


def needing(
    factor: float, extra: float | None = None, *, test: str = "scan", more: bool = False
) -> Result:
    result = a_result(B, test=test, rqps=1.0, verdict="unsure")
    result.needed = Needed(factor=factor, incarnations=int(3 * factor), extra_s=extra, more=more)
    return result


def report(noise: Noise | None, *results: Result) -> Report:
    return Report(
        experiment="e",
        base=A,
        contenders=[A, B],
        margin=0.03,
        results=list(results),
        tldr=[],
        contender_info=[],
        noise=noise,
    )


def test_starts_and_slices_that_would_decide_a_result(snapshot: SnapshotAssertion) -> None:
    assert what_decides(needing(8, 1200)) == snapshot
    assert what_decides(needing(8)) == snapshot
    assert what_decides(needing(20, more=True)) == snapshot
    assert what_decides(a_result(B, rqps=1.0, verdict="unsure")) == ""


def test_tests_share_the_time_until_each_has_what_it_needs() -> None:
    unsure = [needing(2, 60, test="a"), needing(3, 120, test="b"), needing(4, 300, test="c")]

    assert time_to_decide(unsure) == 60 + 120 + 300
    assert time_to_decide(unsure, 1 / 3) == 3 * 60
    assert time_to_decide(unsure, 2 / 3) == 60 + 2 * 120
    assert time_to_decide([*unsure, needing(20, test="d", more=True)], 0.75) == 60 + 120 + 2 * 300
    assert time_to_decide([*unsure, needing(20, test="d", more=True)]) is None
    assert time_to_decide([]) is None


def test_contenders_of_a_test_are_measured_together() -> None:
    other = needing(3, 120)
    other.contender = "postgres@18.0"

    assert time_to_decide([needing(2, 60), other]) == 120


def test_the_noise_is_reported_where_little_is_decided(
    snapshot: SnapshotAssertion,
) -> None:
    noise = Noise(slices=0.12, slices_apart_s=0.135, restarts=0.014, other_cpu=0.3, steal=0.002)
    decided = a_result(B, test="insert", rqps=0.8, verdict="slower")
    needs = [needing(f, f * 60.0, test=f"t{f}") for f in (2, 6, 3)]

    assert why_so_little(report(noise, decided, *needs)) == snapshot


def test_unseen_events_are_not_reported(snapshot: SnapshotAssertion) -> None:
    calm = Noise(slices=0.02, restarts=0.001, other_cpu=0.01)

    assert why_so_little(report(calm, needing(20, more=True))) == snapshot


def test_the_command_is_printed_without_a_forecast(snapshot: SnapshotAssertion) -> None:
    result = a_result(B, rqps=1.0, verdict="unsure")
    assert result.needed is None

    assert why_so_little(report(Noise(), result)) == snapshot


def test_a_busy_host_is_reported_for_results_without_intervals(snapshot: SnapshotAssertion) -> None:
    result = a_result(B, verdict="unsure")
    result.ratio = Ratio(1.0, verdict="unsure")

    assert why_so_little(report(Noise(other_cpu=0.5), result)) == snapshot


def test_where_most_is_decided_or_noise_was_not_seen_it_is_skipped() -> None:
    decided = [a_result(B, test=f"t{n}", rqps=0.8, verdict="slower") for n in range(3)]

    assert why_so_little(report(Noise(), *decided, needing(2))) == []
    assert why_so_little(report(None, needing(2))) == []
    assert why_so_little(report(Noise(), *decided)) == []


@pytest.mark.parametrize(("slices", "restart"), [(0.02, 0.02), (0.10, 0.0)])
def test_noise_matches_the_experiment(slices: float, restart: float) -> None:
    noise = synthetic.Noise(
        slice=slices, tail_freedom=30, stolen_share=0, drift=0.0, restart=restart
    )
    tests = [f"t{number}" for number in range(12)]
    _, records = synthetic_experiment([A, B], tests, noise=noise, incarnations=4, seed=2)

    seen = measure_noise(records, [A, B])

    assert seen is not None
    # The median of |difference| of two normal values is 0.674 * sqrt(2) standard deviations.
    assert seen.slices == pytest.approx(0.954 * slices, rel=0.15)
    assert seen.slices_apart_s == pytest.approx(synthetic.SLICE_S * 1.1)
    # A ratio has the restarts of two servers.
    assert seen.restarts == pytest.approx(restart * 2**0.5, abs=0.01)


def test_unaccounted_cpu_time_counts_as_others() -> None:
    _, records = synthetic_experiment([A, B], ["scan"], seed=1)
    for record in records:
        record.measured.uses = {
            "server": {"cpu_s": 0.5},
            "client": {"cpu_user_s": 0.1, "cpu_system_s": 0.1},
            "host": {
                "cpu_user_s": 1.0,
                "cpu_system_s": 0.2,
                "cpu_iowait_s": 0.1,
                "cpu_steal_s": 0.2,
                "cpu_idle_s": 0.5,
            },
            "idle.postgres@17.6": {"cpu_s": 0.1},
        }

    noise = measure_noise(records, [A, B])

    assert noise is not None
    assert noise.other_cpu == pytest.approx((1.2 - 0.5 - 0.2 - 0.1) / 2.0)
    assert noise.steal == pytest.approx(0.1)

    for record in records:
        seconds = record.measured.probe_seconds or record.measured.seconds
        assert seconds is not None
        record.measured.uses["others"] = {"cpu_s": 0.2 * seconds, "cpus": 4}

    noise = measure_noise(records, [A, B])

    assert noise is not None
    assert noise.other_cpu == pytest.approx(0.05), "as the note about a result has it"


def test_long_steps_have_no_noise_of_slices() -> None:
    assert measure_noise([], [A, B]) is None


def test_a_noisy_experiment_reports_its_noise(snapshot: SnapshotAssertion) -> None:
    noisy = synthetic_experiment(
        [A, B], ["scan", "insert"], noise=synthetic.Noise(slice=0.2), blocks=6, seed=2
    )

    answer = analyse(*noisy).answer
    assert answer is not None
    assert answer.open == snapshot
