"""Work in results, from synthetic counts whose true ratios are known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report, Result, Work
from slowdust.analysis.stored import analyse
from slowdust.analysis.work import (
    DISAGREEMENTS,
    ONE_START,
    background_per_operation,
    counts_by_step,
    differing_events,
    events_per_operation,
    instructions_per_operation,
    undecided_steps,
)
from slowdust.ratios import Ratio
from slowdust.stats.blocks import Step
from slowdust.store.count import INSTRUCTIONS, SYSTEM_CALLS, Count, CountedRun
from slowdust.store.manifest import Counting
from tests.unit.ratios import interval_of, value_of
from tests.unit.synthetic import QUIET, Noise, Shifts, synthetic_experiment
from tests.unit.synthetic_counts import CountNoise, synthetic_counts

A, B, C = "postgres@15.8", "postgres@16.4", "postgres@17.6"
TESTS = ("point-query", "scan", "update-index", "insert")


def counted(
    counts: Sequence[Count],
    *,
    contenders: Sequence[str] = (A, B),
    times: Shifts | None = None,
    noise: Noise = QUIET,
    clients: Sequence[int] = (1,),
    base: str | None = None,
) -> Report:
    manifest, slices = synthetic_experiment(
        list(contenders), list(TESTS), shifts=times or {}, noise=noise, clients=clients, blocks=6
    )
    return analyse(manifest, slices, base, counts=counts)


def the(report: Report, test: str, contender: str, clients: int = 1) -> Result:
    [result] = [
        result
        for result in report.results
        if (result.test, result.contender, result.clients) == (test, contender, clients)
    ]
    return result


def work(report: Report, test: str, contender: str = B) -> Work:
    found = the(report, test, contender).work
    assert found is not None
    return found


def test_the_cost_matches_all_operations_of_the_run() -> None:
    [count] = synthetic_counts([A], ["scan"], incarnations=1, repeats=1)
    count.run = CountedRun(
        operations=100, own={INSTRUCTIONS: 3_000}, background={INSTRUCTIONS: 500}
    )

    assert instructions_per_operation(count) == 30.0
    assert background_per_operation([count]) == {INSTRUCTIONS: 5.0}


def test_an_event_that_one_repeat_counted_rests_on_the_operations_of_that_repeat() -> None:
    first, second = synthetic_counts([A], ["scan"], incarnations=1, repeats=2)
    first.run = CountedRun(operations=100, own={INSTRUCTIONS: 3_000, "branches": 700})
    second.run = CountedRun(operations=100, own={INSTRUCTIONS: 5_000})

    assert events_per_operation([first, second]) == {INSTRUCTIONS: 40.0, "branches": 7.0}


def test_a_count_without_instructions_has_no_cost() -> None:
    [count] = synthetic_counts([A], ["scan"], incarnations=1, repeats=1)
    count.run.own = {"system_calls": 5}

    assert instructions_per_operation(count) is None
    assert counts_by_step([count]) == {}


def test_verdicts_find_what_was_injected() -> None:
    shifts = {B: {"point-query": 0.954, "scan": 1.49, "update-index": 1.03}}
    report = counted(synthetic_counts([A, B], TESTS, shifts=shifts))

    assert [work(report, test).verdict for test in TESTS] == ["less", "more", "more", "same"]
    for test in TESTS:
        own = work(report, test)
        low, high = interval_of(own.ratio)
        assert low < shifts[B].get(test, 1.0) < high
        assert low < value_of(own.ratio) < high
        assert (own.repeats, own.incarnations, own.source) == (8, 2, "valgrind")


@pytest.mark.parametrize("starts", [1, 2])
def test_work_that_only_one_start_has_of_both_has_a_note(starts: int) -> None:
    counts = synthetic_counts([A], ["scan"], incarnations=2)
    counts += synthetic_counts([B], ["scan"], incarnations=starts)
    report = counted(counts)

    [notes] = [r.notes for r in report.results if (r.test, r.contender) == ("scan", B)]
    assert (ONE_START in notes) is (starts == 1)


def test_the_base_has_the_ratio_1_and_no_verdict() -> None:
    own = work(counted(synthetic_counts([A, B], TESTS)), "scan", A)

    assert own.ratio == Ratio(1.0)
    assert own.events == {"system_calls": 4.0}
    assert own.background == 500.0


def test_another_base_turns_the_ratio_round() -> None:
    counts = synthetic_counts([A, B], TESTS, shifts={B: {"scan": 1.25}})

    forth, back = work(counted(counts), "scan"), work(counted(counts, base=B), "scan", A)

    assert forth.ratio is not None and back.ratio is not None
    assert math.isclose(forth.ratio.value * back.ratio.value, 1.0)
    assert (forth.verdict, back.verdict) == ("more", "less")


@pytest.mark.parametrize("test", ["scan", "insert"])
def test_one_start_that_is_far_off_decides_nothing(test: str) -> None:
    log_ratios = [[-0.0005, -0.0053, -0.0125, -0.0021], [-0.1504, -0.1703, -0.0966, -0.0919]]
    counts = synthetic_counts([A, B], TESTS, noise=CountNoise(common=0.0, restart=0.0))
    for count in counts:
        place = count.place
        if (place.test, place.contender) == (test, B):
            log_ratio = log_ratios[place.incarnation - 1][place.repeat]
            count.run.own[INSTRUCTIONS] = round(1e8 * math.exp(log_ratio))
        elif place.test == test:
            count.run.own[INSTRUCTIONS] = 10**8

    report = counted(counts)

    assert work(report, test).verdict == "unsure"
    others = {work(report, other).verdict for other in TESTS if other != test}
    assert others == {"same"}


def test_noise_that_moves_both_alike_does_not_widen_the_interval() -> None:
    calm, moved = (
        work(
            counted(synthetic_counts([A, B], TESTS, noise=CountNoise(common=common), seed=4)),
            "scan",
        )
        for common in (0.0, 0.05)
    )

    for own in (calm, moved):
        assert own.ratio is not None and own.ratio.half_width is not None
        assert own.ratio.half_width < 0.01


def test_pairs_are_made_of_the_same_operations() -> None:
    counts = synthetic_counts([A, B], TESTS, noise=CountNoise(common=0.3), shifts={B: 1.1})
    lost = [c for c in counts if (c.place.contender, c.place.repeat) != (A, 1)]

    own = work(counted(lost), "scan")

    assert value_of(own.ratio) == pytest.approx(1.1, rel=0.01)
    assert own.repeats == 8


def test_one_pair_has_a_ratio_and_no_interval() -> None:
    counts = synthetic_counts([A, B], TESTS, shifts={B: 1.5}, incarnations=1, repeats=1)

    own = work(counted(counts), "scan")

    assert value_of(own.ratio) == pytest.approx(1.5, rel=0.02)
    assert (own.ratio and own.ratio.interval, own.verdict) == (None, "unsure")


def test_a_contender_whose_base_was_not_counted_has_no_ratio() -> None:
    report = counted([c for c in synthetic_counts([A, B], TESTS) if c.place.contender == B])

    own = work(report, "scan")

    assert own.instructions > 0
    assert (own.ratio, own.verdict) == (None, None)
    assert the(report, "scan", A).work is None


def test_two_sources_are_never_compared() -> None:
    valgrind = synthetic_counts([A, B], TESTS)
    pmu = synthetic_counts([A, B], TESTS, shifts={B: 3.0}, source="pmu", incarnations=1)

    own = work(counted([*valgrind, *pmu]), "scan")

    assert own.source == "valgrind"
    assert own.verdict == "same"


def test_a_count_that_was_taken_again_replaces_the_first() -> None:
    counts = synthetic_counts([A, B], TESTS)
    torn = [
        replace(count, run=replace(count.run, own={INSTRUCTIONS: count.run.operations}))
        for count in counts
    ]

    assert counted([*torn, *counts]).results == counted(counts).results


def test_without_counts_nothing_is_shown() -> None:
    report = counted([])

    assert all(result.work is None for result in report.results)
    assert not any("Work" in sentence for sentence in [*report.tldr, *report.notes])


def test_counts_of_one_client_belong_to_the_fewest_clients_that_were_timed(
    snapshot: SnapshotAssertion,
) -> None:
    report = counted(synthetic_counts([A, B], TESTS), clients=(4, 8))

    assert the(report, "scan", B, 4).work is not None
    assert the(report, "scan", B, 8).work is None
    assert report.notes == snapshot


def test_a_smaller_table_has_a_note_where_work_was_counted(snapshot: SnapshotAssertion) -> None:
    counts = synthetic_counts([A, B], TESTS)
    manifest, slices = synthetic_experiment([A, B], list(TESTS), noise=QUIET, blocks=6)
    manifest.counting = Counting(source="valgrind", rows=40_000)
    [note] = [note for note in analyse(manifest, slices, counts=counts).notes if "40,000" in note]
    assert note == snapshot
    assert note not in analyse(manifest, slices).notes


def test_counts_of_the_same_number_of_clients_need_no_note(snapshot: SnapshotAssertion) -> None:
    report = counted(synthetic_counts([A, B], TESTS), clients=(1, 8))

    assert report.notes == snapshot


@pytest.mark.parametrize(
    ("time", "instructions", "verdicts"),
    [
        (0.8, 1.0, ("slower", "same")),
        (1.25, 1.0, ("faster", "same")),
        (1.0, 1.2, ("same", "more")),
        (1.0, 0.8, ("same", "less")),
        (1.25, 1.2, ("faster", "more")),
        (0.8, 0.8, ("slower", "less")),
    ],
)
def test_a_result_says_what_it_means_where_time_and_work_disagree(
    time: float, instructions: float, verdicts: tuple[str, str]
) -> None:
    counts = synthetic_counts([A, B], TESTS, shifts={B: {"scan": instructions}})

    result = the(counted(counts, times={B: {"scan": time}}), "scan", B)

    assert result.work is not None
    assert (result.verdict, result.work.verdict) == verdicts
    meanings = {words for key, words in DISAGREEMENTS.items() if key == verdicts}
    assert meanings == meanings & set(result.notes) != set()


def test_nothing_is_said_where_time_and_work_agree() -> None:
    counts = synthetic_counts([A, B], TESTS, shifts={B: {"scan": 1.3}})

    result = the(counted(counts, times={B: {"scan": 0.7}}), "scan", B)

    assert not set(result.notes) & set(DISAGREEMENTS.values())


def test_changed_work_of_unchanged_tests_has_lines(snapshot: SnapshotAssertion) -> None:
    shifts = {B: {"point-query": 0.954, "scan": 1.49}}
    report = counted(
        synthetic_counts([A, B], TESTS, shifts=shifts, noise=CountNoise(repeat=0.0, restart=0.0))
    )

    assert report.answer is not None
    assert report.answer.work == snapshot


def test_work_is_compared_for_many_contenders_where_time_decides_nothing(
    snapshot: SnapshotAssertion,
) -> None:
    names = [f"postgres@{version}" for version in range(12, 18)]
    counts = synthetic_counts(names, TESTS, shifts={names[1]: {"scan": 1.49}})

    report = counted(counts, contenders=names, noise=Noise(slice=0.3))

    assert report.answer is not None
    assert report.answer.work == snapshot


@pytest.mark.parametrize(
    "counting",
    [
        Counting(source="valgrind", version="valgrind 3.19.0", reason="There is no PMU."),
        Counting(reason="There is no valgrind.", remedy="sudo apt install valgrind"),
    ],
)
def test_the_method_says_how_work_was_counted_or_why_not(
    counting: Counting, snapshot: SnapshotAssertion
) -> None:
    manifest, slices = synthetic_experiment([A, B], ["scan"], blocks=2)
    manifest.counting = counting

    assert analyse(manifest, slices).method["work"] == snapshot


def test_an_experiment_that_did_not_count_says_nothing_of_it() -> None:
    assert "work" not in analyse(*synthetic_experiment([A, B], ["scan"], blocks=2)).method


def test_tests_that_differ_by_far_more_than_their_starts_need_no_more_of_them() -> None:
    noise = CountNoise(repeat=0.0002, restart=0.0001)
    shifts = {"b": {"insert": 0.97, "update-one": 1.0}}
    counts = synthetic_counts(["a", "b"], ["insert", "update-one"], shifts=shifts, noise=noise)
    assert undecided_steps(counts_by_step(counts), ["a", "b"]) == set()


def test_tests_that_differ_by_little_more_than_their_starts_need_a_third() -> None:
    noise = CountNoise(repeat=0.0002, restart=0.003)
    by_starts = {
        starts: synthetic_counts(
            ["a", "b"], ["insert"], shifts={"b": 1.05}, noise=noise, incarnations=starts, seed=3
        )
        for starts in (2, 4)
    }
    undecided = {
        starts: undecided_steps(counts_by_step(counts), ["a", "b"])
        for starts, counts in by_starts.items()
    }
    assert undecided == {2: {Step("micro", "insert", 1)}, 4: set()}


def test_tests_without_a_verdict_need_another_start() -> None:
    noise = CountNoise(repeat=0.002, restart=0.06)
    counts = synthetic_counts(["a", "b"], ["insert"], noise=noise, incarnations=3, seed=2)
    assert undecided_steps(counts_by_step(counts), ["a", "b"]) == {Step("micro", "insert", 1)}


def with_calls(*starts: Sequence[int]) -> list[Count]:
    """Return counts of ten operations each, with these system calls in all, start by start."""
    [count] = synthetic_counts([A], ["scan"], incarnations=1, repeats=1)
    return [
        replace(
            count,
            place=replace(count.place, incarnation=start, repeat=repeat),
            run=CountedRun(operations=10, own={INSTRUCTIONS: 1_000, SYSTEM_CALLS: each}),
        )
        for start, counts in enumerate(starts, 1)
        for repeat, each in enumerate(counts)
    ]


@pytest.mark.parametrize(
    ("base", "other", "found"),
    [
        ([[40, 40]], [[50, 50]], [SYSTEM_CALLS]),
        ([[40, 41, 41]], [[400, 401, 401]], [SYSTEM_CALLS]),
        # Three starts say how much starts vary.
        ([[40, 42], [41], [41]], [[50, 49], [50], [51]], [SYSTEM_CALLS]),
        ([[50], [51], [50]], [[40], [40], [40]], [SYSTEM_CALLS]),
        ([[40], [41]], [[41], [41]], []),
        # Reads of rows that were not cached differ between equal builds, by chance all one way.
        ([[80], [170]], [[240], [720]], []),
        ([[59, 35, 42, 34]], [[115, 92, 88, 89]], []),
        ([[59, 35], [95, 82], [60, 50]], [[115, 92], [70, 75], [130, 125]], []),
        ([], [[40], [40]], []),
    ],
)
def test_system_calls_differ_if_they_stand_clear_of_what_starts_and_counts_vary_by(
    base: Sequence[Sequence[int]], other: Sequence[Sequence[int]], found: list[str]
) -> None:
    assert differing_events(with_calls(*base), with_calls(*other)) == found
