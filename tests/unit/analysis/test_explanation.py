from __future__ import annotations

import math

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.explanation.parts import add_explanations, log_mean
from slowdust.analysis.functions.model import Fate, FunctionChange, FunctionChanges, FunctionPart
from slowdust.analysis.model import Explanation, PartName, Result
from slowdust.analysis.stored import analyse
from slowdust.store.manifest import Plan
from tests.unit.synthetic import SLICE_S
from tests.unit.synthetic_parts import BASE, OTHER, TEST, Spent, explained, parts_experiment
from tests.unit.synthetic_waits import synthetic_waits


def explanation_of(result: Result) -> Explanation:
    assert result.explanation is not None
    return result.explanation


def explain_synthetic(
    other: Spent,
    base: Spent | None = None,
    *,
    instructions: tuple[float, float, float] | None = None,
    tick_noise: float = 0.02,
    clients: int = 1,
) -> Explanation:
    manifest, slices = parts_experiment(
        {BASE: base or Spent(), OTHER: other}, tick_noise=tick_noise, clients=clients
    )
    return explanation_of(explained(manifest, slices, instructions=instructions)[1])


def test_the_logarithmic_mean_of_equal_values_is_the_value() -> None:
    assert log_mean(np.array([3.0, 3.0])) == pytest.approx(3.0)
    assert log_mean(np.array([4.0, 1.0])) == pytest.approx(3 / math.log(4))


@pytest.mark.parametrize(
    ("other", "instructions"),
    [
        (Spent(user=75.0), None),
        (Spent(user=75.0), (1.5, 1.49, 1.51)),
        (Spent(waiting=60.0, user=40.0), (0.8, 0.79, 0.81)),
        (Spent(beside=40.0), None),
        (Spent(user=50.5), (1.0, 0.999, 1.001)),
    ],
)
def test_parts_add_up_to_the_change(
    other: Spent, instructions: tuple[float, float, float] | None
) -> None:
    explanation = explain_synthetic(other, instructions=instructions)

    assert sum(part.change for part in explanation.parts) == pytest.approx(explanation.change)


def test_more_instructions_are_the_cause(snapshot: SnapshotAssertion) -> None:
    explanation = explain_synthetic(Spent(user=75.0), instructions=(1.5, 1.49, 1.51))

    # L(75, 50) / L(125, 100) * ln 1.5: all of ln(125 / 100)
    part = explanation.part("instructions")
    assert part is not None
    assert part.change == pytest.approx(math.log(1.25), abs=0.01)
    assert explanation.main == ["instructions"]
    assert explanation.words == snapshot


def test_instructions_of_other_clients_are_not_those_of_the_cpu_time(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)})

    _, result = explained(manifest, slices, instructions=(1.0, 0.998, 1.002), counted_clients=8)

    names = [part.name for part in explanation_of(result).parts]
    assert names == snapshot
    assert explanation_of(result).words == snapshot


def test_a_test_that_writes_has_a_background_next_to_the_counted_session(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = parts_experiment(
        {BASE: Spent(), OTHER: Spent(user=75.0)}, test="update-index"
    )

    _, result = explained(manifest, slices, instructions=(1.0, 0.998, 1.002))

    assert explanation_of(result).main == snapshot
    assert explanation_of(result).words == snapshot


@pytest.mark.parametrize("instructions", [(1.005, 1.004, 1.006), (1.0, 0.99, 1.01)])
def test_instructions_that_are_the_same_or_unsure_are_no_cause(
    instructions: tuple[float, float, float],
) -> None:
    explanation = explain_synthetic(Spent(user=51.0), instructions=instructions)

    assert "instructions" not in explanation.main


@pytest.mark.parametrize("went", [0.0, -0.1, -0.3, -0.5])
def test_a_function_that_may_be_a_renamed_one_is_not_named(went: float) -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)})
    functions = FunctionChanges(
        benchmark="micro",
        test=TEST,
        clients=1,
        contender=OTHER,
        source="callgrind",
        unit="instructions",
        base_total=1e5,
        total=1.5e5,
        functions=[
            FunctionChange(name="planner", object="postgres", fate="grew", change=3e4, share=0.6),
            FunctionChange(
                name="ExecInterpExprNew", object="postgres", fate="came", change=2e4, share=0.4
            ),
            FunctionChange(
                name="ExecInterpExpr",
                object="postgres",
                fate="went",
                change=5e4 * went,
                share=went,
            ),
        ],
        came=2e4,
        went=-5e4 * went,
    )

    _, result = explained(manifest, slices, instructions=(1.5, 1.49, 1.51), functions=[functions])

    # What grew may have taken in what went, too, where that cost half as much.
    words = explanation_of(result).words
    assert ("planner" in words) is (went > -0.4)
    assert ("ExecInterpExprNew" in words) is (went > -0.2)


@pytest.mark.parametrize(("elsewhere", "is_named"), [(0.0, True), (1.9e4, True), (2.1e4, False)])
def test_a_function_is_named_unless_functions_near_it_may_have_its_code(
    elsewhere: float, *, is_named: bool
) -> None:
    changes = functions_that_changed({("plan", "grew"): 4e4, ("cost", "went"): -3e4})
    changes.functions[0].elsewhere = elsewhere
    changes.functions[0].parts = [
        FunctionPart(name="plan_old", object="postgres", kind="renamed", base_own=5e4)
    ]
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)})

    _, result = explained(manifest, slices, instructions=(1.5, 1.49, 1.51), functions=[changes])

    assert ("plan (renamed from plan_old)" in explanation_of(result).words) is is_named


def functions_that_changed(changes: dict[tuple[str, Fate], float]) -> FunctionChanges:
    """Return changes of functions of 100,000 instructions."""
    whole = sum(changes.values())
    return FunctionChanges(
        benchmark="micro",
        test=TEST,
        clients=1,
        contender=OTHER,
        source="callgrind",
        unit="instructions",
        base_total=1e5,
        total=1e5 + whole,
        functions=[
            FunctionChange(
                name=name, object="postgres", fate=fate, change=change, share=change / whole
            )
            for (name, fate), change in changes.items()
        ],
        came=sum(change for (_, fate), change in changes.items() if fate == "came"),
        went=-sum(change for (_, fate), change in changes.items() if fate == "went"),
        increase=sum(change for change in changes.values() if change > 0),
        decrease=-sum(change for change in changes.values() if change < 0),
    )


def words_of_functions(changes: dict[tuple[str, Fate], float]) -> str:
    """Return the explanation of a test that takes 1.5X the instructions, in these functions."""
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)})
    functions = [functions_that_changed(changes)]
    _, result = explained(manifest, slices, instructions=(1.5, 1.49, 1.51), functions=functions)
    return explanation_of(result).words


def test_functions_whose_changes_cancel_have_instructions_and_no_shares(
    snapshot: SnapshotAssertion,
) -> None:
    words = words_of_functions({("parse", "grew"): 6000.0, ("plan", "shrank"): -4000.0})
    assert words == snapshot


def test_a_function_that_was_split_is_not_named(snapshot: SnapshotAssertion) -> None:
    words = words_of_functions(
        {
            ("AllocSetAlloc", "shrank"): -20_000.0,
            ("AllocSetAllocLarge", "came"): 18_000.0,
            ("parse", "grew"): 4_000.0,
        }
    )
    assert "AllocSetAlloc," not in words
    assert "-20,000" not in words
    assert words == snapshot


def test_instructions_that_are_sure_are_reported_before_a_wait_that_is_longer(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=55.0, waiting=40.0)})
    _, result = explained(manifest, slices, instructions=(1.1, 1.09, 1.11))
    words = explanation_of(result).words
    assert words == snapshot


def test_instructions_that_are_sure_are_reported_where_no_part_is_large_enough(
    snapshot: SnapshotAssertion,
) -> None:
    fifths = Spent(user=60.0, system=15.0, client=20.0, waiting=30.0)
    explanation = explain_synthetic(fifths, instructions=(1.1, 1.09, 1.11))

    assert explanation.main == []
    assert explanation.words == snapshot


def test_noise_of_time_hardly_widens_the_part_of_the_instructions() -> None:
    explanation = explain_synthetic(Spent(user=55.0), instructions=(1.1, 1.0999, 1.1001))
    part = explanation.part("instructions")
    assert part is not None
    assert part.low is not None
    assert part.high is not None
    # The weight of user CPU is L(55, 50) / L(105, 100), known to about 1% from these slices.
    assert part.low < 52.46 / 102.48 * math.log(1.1) < part.high
    assert 0 < part.high - part.low < 0.002


def test_other_programs_that_were_busy_are_named_next_to_a_wait(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(waiting=60.0)})
    for record in slices:
        record.measured.uses["others"] = {"cpu_s": 0.5 * SLICE_S, "cpus": 2}

    _, result = explained(manifest, slices)

    words = explanation_of(result).words
    assert words == snapshot


def test_functions_with_a_good_share_of_the_instructions_are_named(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)})
    functions = FunctionChanges(
        benchmark="micro",
        test=TEST,
        clients=1,
        contender=OTHER,
        source="callgrind",
        unit="instructions",
        base_total=1e5,
        total=1.5e5,
        functions=[
            FunctionChange(
                name=name, object="postgres", fate="grew", change=5e4 * share, share=share
            )
            for name, share in (("planner", 0.41), ("hash_search", 0.12), ("palloc", 0.01))
        ],
    )

    _, result = explained(manifest, slices, instructions=(1.5, 1.49, 1.51), functions=[functions])

    words = explanation_of(result).words
    assert words == snapshot
    assert "palloc" not in words


def test_a_slower_clock_moves_all_cpu_time_and_no_instructions(snapshot: SnapshotAssertion) -> None:
    slower = Spent(user=60.0, system=12.0, client=18.0)
    explanation = explain_synthetic(slower, instructions=(1.0, 0.998, 1.002))

    assert explanation.main == snapshot
    assert explanation.words == snapshot
    for name in ("system CPU", "client CPU"):
        part = explanation.part(name)
        assert part is not None
        assert part.change > 0
        assert part.is_certain


def test_user_cpu_that_grows_without_instructions_is_time_per_instruction(
    snapshot: SnapshotAssertion,
) -> None:
    explanation = explain_synthetic(Spent(user=65.0), instructions=(1.0, 0.998, 1.002))

    assert explanation.main == snapshot
    assert explanation.words == snapshot


def test_without_counts_cpu_time_is_stated_and_proves_nothing(snapshot: SnapshotAssertion) -> None:
    explanation = explain_synthetic(Spent(user=75.0))

    assert explanation.main == ["user CPU"]
    assert explanation.words == snapshot


def test_a_lock_is_waiting_with_context_switches(snapshot: SnapshotAssertion) -> None:
    explanation = explain_synthetic(Spent(waiting=60.0, switches=3.5))

    assert explanation.main == ["waiting"]
    assert explanation.words == snapshot


def test_a_slower_flush_is_waiting_with_what_is_written(snapshot: SnapshotAssertion) -> None:
    explanation = explain_synthetic(Spent(waiting=80.0, written_kb=4.0), Spent(written_kb=2.0))

    assert explanation.main == ["waiting"]
    assert explanation.words == snapshot
    assert "more IO" in explanation.words


def test_observed_waits_say_what_the_waiting_is_for(snapshot: SnapshotAssertion) -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(waiting=60.0)})
    windows = synthetic_waits(
        {BASE: {"IO/WalSync": 100.0}, OTHER: {"IO/WalSync": 2100.0}},
        sync_us={BASE: 90.0, OTHER: 2090.0},
        test=TEST,
        clients=1,
    )
    report = analyse(manifest, slices, waits=windows)
    (result,) = (each for each in report.results if each.contender == OTHER)
    explanation = explanation_of(result)

    assert explanation.main == ["waiting"]
    assert explanation.words == snapshot


def test_waiting_that_nothing_else_moves_with_proves_no_cause(snapshot: SnapshotAssertion) -> None:
    explanation = explain_synthetic(Spent(waiting=60.0))

    assert explanation.main == ["waiting"]
    assert explanation.words == snapshot


def test_parts_against_the_change_are_reported(snapshot: SnapshotAssertion) -> None:
    explanation = explain_synthetic(Spent(user=90.0, waiting=10.0))

    assert explanation.main == ["user CPU"]
    assert explanation.words == snapshot


def test_stalls_lead_and_no_part_is_named(snapshot: SnapshotAssertion) -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(stalled_share=0.15)})

    _, result = explained(manifest, slices)

    assert result.basis == "all time"
    assert explanation_of(result).main == []
    assert explanation_of(result).words == snapshot


def test_another_plan_leads_and_no_part_is_named(snapshot: SnapshotAssertion) -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)})
    manifest.plans[1] = Plan(test=TEST, contender=OTHER, statement="SELECT", plan="Seq Scan")
    manifest.plans[0] = Plan(test=TEST, contender=BASE, statement="SELECT", plan="Index Scan")

    report, result = explained(manifest, slices)

    assert explanation_of(result).main == []
    assert explanation_of(result).words == snapshot
    assert report.tldr == snapshot


def test_where_nothing_changed_nothing_is_named() -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent()})

    _, result = explained(manifest, slices, instructions=(1.0, 0.998, 1.002))

    assert result.verdict in ("same", "unsure")
    assert (explanation_of(result).main, explanation_of(result).words) == ([], "")
    low, high = explanation_of(result).low, explanation_of(result).high
    assert low is not None
    assert high is not None
    assert low < 0 < high


def test_ticks_that_split_cpu_time_badly_leave_it_in_one() -> None:
    explanation = explain_synthetic(Spent(user=54.0), tick_noise=0.5)

    assert [part.name for part in explanation.parts] == ["server CPU", "client CPU", "waiting"]
    assert explanation.main == ["server CPU"]


def test_counted_instructions_stay_a_part_where_ticks_split_badly() -> None:
    explanation = explain_synthetic(
        Spent(user=54.0), instructions=(1.08, 1.079, 1.081), tick_noise=0.5
    )

    assert explanation.main == ["instructions"]
    assert explanation.part("other server CPU") is not None


def test_kernel_time_next_to_equal_instructions_is_server_cpu_next_to_them(
    snapshot: SnapshotAssertion,
) -> None:
    explanation = explain_synthetic(
        Spent(system=25.0), instructions=(1.0, 0.999, 1.001), tick_noise=0.5
    )

    assert explanation.main == snapshot
    assert explanation.words == snapshot


def test_a_sentence_says_what_many_changes_consist_of(snapshot: SnapshotAssertion) -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)}, test="scan")
    for test, other in (("point-query", Spent(waiting=60.0)), ("delete", Spent(waiting=60.0))):
        more, added = parts_experiment({BASE: Spent(), OTHER: other}, test=test)
        slices += added
        manifest.tests += more.tests
        manifest.plans += more.plans
    manifest.plans[-1].plan = "Seq Scan"

    report, _ = explained(manifest, slices)

    assert report.tldr == snapshot


def test_threads_next_to_the_session_leave_cpu_time_and_waiting_in_one(
    snapshot: SnapshotAssertion,
) -> None:
    explanation = explain_synthetic(Spent(user=75.0, waiting=5.0, beside=30.0), Spent(waiting=5.0))

    assert [part.name for part in explanation.parts] == ["server", "client CPU"]
    assert explanation.main == ["server"]
    assert explanation.words == snapshot


def test_clients_that_wait_for_a_cpu_do_not_make_waiting_a_cause() -> None:
    # Eight clients on two CPUs: an operation takes four times the CPU time that it uses.
    base = Spent(waiting=225.0)
    other = Spent(user=75.0, waiting=300.0)

    explanation = explain_synthetic(other, base, clients=8)

    assert explanation.main == ["user CPU"]
    assert explanation.base_us == pytest.approx(75.0, rel=0.05)


def test_blocks_far_from_the_others_do_not_count_for_a_typical_verdict() -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)})
    [disturbed, *_] = [record for record in slices if record.place.contender == OTHER]
    disturbed.qps /= 50
    disturbed.measured.operations = (disturbed.measured.operations or 0) // 50
    disturbed.measured.rows = disturbed.measured.operations

    _, result = explained(manifest, slices)

    assert explanation_of(result).change == pytest.approx(math.log(1.25), abs=0.02)


def test_without_cpu_times_there_is_no_explanation() -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)})
    for record in slices:
        del record.measured.uses["server"]

    assert explained(manifest, slices)[1].explanation is None


def test_the_interval_of_the_counts_widens_the_part_of_the_instructions() -> None:
    sharp = explain_synthetic(Spent(user=75.0), instructions=(1.5, 1.499, 1.501))
    blurred = explain_synthetic(Spent(user=75.0), instructions=(1.5, 0.9, 2.5))

    assert sharp.main == ["instructions"]
    assert blurred.main == []


@pytest.mark.parametrize(
    ("background", "name"),
    [
        (None, "time per instruction"),
        (4_000.0, "time per instruction"),
        (30_000.0, "other server CPU"),
    ],
)
def test_a_background_that_is_large_leaves_the_time_of_an_instruction_unknown(
    background: float | None, name: PartName
) -> None:
    manifest, slices = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)})
    report, result = explained(manifest, slices, instructions=(1.0, 0.998, 1.002))
    assert result.work is not None
    result.work.source, result.work.background = "pmu", background

    add_explanations(report.results, slices, report.contenders)

    assert explanation_of(result).parts[1].name == name
