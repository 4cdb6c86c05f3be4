"""A search finds all changes, survives wrong answers, and can be stopped at any time."""

from __future__ import annotations

import dataclasses
import math
import random

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import SlowdustError
from slowdust.studies.bisect.outcome import summarize_search
from slowdust.studies.bisect.posterior import Belief, Direct, MeasuredRatio
from slowdust.studies.bisect.record import Record
from slowdust.studies.bisect.search import Search, StepWanted
from slowdust.studies.bisect.words import certainty
from slowdust.studies.engine import Unfit
from tests.tiers.selection import ends_first
from tests.unit.synthetic_search import (
    SimulatedLaboratory,
    costs_with,
    decide,
    record_of,
    run_search,
)

EXACT = 0.0005


def found(beliefs: list[Belief]) -> list[int]:
    """Return the places of the changes that were found to the candidate."""
    return [each.after for each in beliefs if each.changed >= 0.95 and each.candidates == 1]


def search(record: Record, laboratory: SimulatedLaboratory) -> list[Belief]:
    return run_search(record, laboratory).beliefs()


@pytest.mark.parametrize("seed", range(3))
def test_three_exact_changes_of_64_commits_are_found_in_at_most_20_builds(seed: int) -> None:
    places = random.Random(seed).sample(range(1, 65), 3)
    changes = dict(zip(places, (0.05, -0.04, 0.02), strict=True))
    laboratory = SimulatedLaboratory(costs_with(changes, 65), EXACT, seed=seed, extends=False)

    beliefs = search(record_of(65, margin=0.01), laboratory)

    assert found(beliefs) == sorted(places)
    assert len(laboratory.measured) <= 20


@pytest.mark.parametrize("size", [1.05, 1.5, 3.0, 10.0, 2000.0, 10_000.0, 1 / 2000])
def test_a_change_of_any_size_is_the_only_one(size: float) -> None:
    laboratory = _WithoutNoise(costs_with({3: math.log(size)}, 5), 0.04)
    (change,) = [each for each in search(record_of(5), laboratory) if each.changed >= 0.5]
    assert (change.before, change.after) == (2, 3)
    assert math.exp(change.log_ratio) == pytest.approx(size, rel=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_large_changes_hide_no_small_ones(seed: int) -> None:
    changes = {9: math.log(300), 20: -math.log(40), 26: 0.08}
    laboratory = SimulatedLaboratory(costs_with(changes, 33), 0.01, seed=seed)
    assert found(search(record_of(33), laboratory)) == [*changes]


def test_a_change_that_only_follows_from_others_is_measured_directly() -> None:
    """Where work decides, no second half of an interval is measured, and the last may hold it."""
    laboratory = SimulatedLaboratory(costs_with({48: math.log(3)}, 65), EXACT, extends=False)
    record = record_of(65, margin=0.01)
    assert found(search(record, laboratory)) == [48]
    assert {47, 48} not in [{*step.places} for step in record.steps]
    assert laboratory.confirmed == 1


class _WithoutNoise(SimulatedLaboratory):
    """A laboratory whose measurements have no error, although they say so."""

    def _drawn(self, before: int, after: int, times: int) -> MeasuredRatio:
        drawn = super()._drawn(before, after, times)
        exact = self._costs[after] - self._costs[before]
        return dataclasses.replace(drawn, log_ratio=exact)


class _Contradicting(SimulatedLaboratory):
    """A lab whose direct measurements contradict a change, at first or always."""

    def __init__(self, times: int, work: tuple[float, float] | None = None) -> None:
        super().__init__(costs_with({7: 0.12}, 17), 0.001)
        self._times = times
        self._work = work

    def confirm(self, before: int, after: int, number: int) -> Direct | Unfit | None:
        direct = super().confirm(before, after, number)
        if number > self._times:
            return direct
        # An error that outweighs no other measurement.
        return Direct(0.01, 0.02) if self._work is None else Direct(0.12, 0.07, self._work)


@pytest.mark.parametrize("work", [None, (-0.07, 0.001)])
def test_a_change_that_its_direct_measurements_contradict_is_not_reported(
    work: tuple[float, float] | None,
) -> None:
    laboratory, record = _Contradicting(2, work), record_of(17)
    looking = run_search(record, laboratory)
    beliefs = looking.beliefs()
    assert found(beliefs) == [7], "the other measurements have it"
    assert laboratory.confirmed == 2
    outcome = summarize_search(record, beliefs, [], {}, looking.contradicted)
    assert outcome.changes == []
    (sentence,) = [each for each in certainty(outcome) if "c7" in each]
    assert sentence.startswith("c7 ")
    assert "11% slower, 1.1" in sentence
    assert " c6 " in sentence
    assert ("6.8% less work" in sentence) == (work is not None)


def test_a_change_that_is_contradicted_once_is_measured_once_more(
    snapshot: SnapshotAssertion,
) -> None:
    laboratory, record, said = _Contradicting(1), record_of(17), list[str]()
    looking = run_search(record, laboratory, said.append)
    beliefs = looking.beliefs()
    assert laboratory.confirmed == 2
    assert looking.contradicted == {}
    outcome = summarize_search(record, beliefs, [], {}, looking.contradicted)
    assert [each.candidate.name for each in outcome.changes] == ["c7"]
    assert said[-4:] == snapshot


def test_the_progress_names_the_changes_that_are_known_so_far(snapshot: SnapshotAssertion) -> None:
    said = list[str]()
    laboratory = SimulatedLaboratory(costs_with({7: 0.1, 12: -0.3}, 17), EXACT, extends=False)
    record = record_of(17, metric="work", margin=0.01)
    run_search(record, laboratory, said.append)
    assert said[:2] + said[-3:] == snapshot


def test_a_range_without_a_change_has_none() -> None:
    laboratory = SimulatedLaboratory(costs_with({}, 65), 0.01)
    beliefs = search(record_of(65), laboratory)
    assert found(beliefs) == []
    assert all(each.changed < 0.05 for each in beliefs)


def test_a_noisy_change_is_measured_until_it_is_clear() -> None:
    laboratory = SimulatedLaboratory(costs_with({13: 0.06}, 20), 0.03, seed=3)
    record = record_of(20)
    beliefs = search(record, laboratory)
    assert found(beliefs) == [13]
    assert any(step.extensions for step in record.steps)


def test_wrong_answers_are_survived() -> None:
    right = 0
    for seed in range(6):
        laboratory = SimulatedLaboratory(costs_with({9: 0.08}, 17), 0.01, seed=seed, wrong=0.05)
        right += found(search(record_of(17), laboratory)) == [9]
    assert right >= 5


def test_the_ratio_on_both_sides_of_a_change_has_an_error() -> None:
    laboratory = SimulatedLaboratory(costs_with({3: 0.1}, 8), 0.005, seed=1)
    (change,) = [each for each in search(record_of(8), laboratory) if each.changed > 0.5]
    assert change.log_ratio == pytest.approx(0.1, abs=3 * change.error)
    assert 0 < change.error < 0.01


def test_candidates_that_do_not_compile_are_skipped() -> None:
    record = record_of(9, margin=0.01)
    laboratory = SimulatedLaboratory(costs_with({5: 0.1}, 9), EXACT, unfit={4, 5}, extends=False)
    beliefs = search(record, laboratory)
    (change,) = [each for each in beliefs if each.changed > 0.5]
    assert (change.before, change.after) == (3, 6), "the change is one of the three"
    assert record.skipped.keys() == {4, 5}


def test_an_end_that_does_not_compile_ends_the_search(snapshot: SnapshotAssertion) -> None:
    laboratory = SimulatedLaboratory(costs_with({}, 9), EXACT, unfit={8})
    with pytest.raises(SlowdustError) as error:
        search(record_of(9), laboratory)
    assert str(error.value) == snapshot


class _Silent(SimulatedLaboratory):
    """A lab without ratios of some candidates."""

    def __init__(self, silent: set[int], *, extends: bool) -> None:
        super().__init__(costs_with({7: 0.1}, 17), EXACT, extends=extends)
        self._silent = silent

    def measure(self, step: StepWanted) -> list[MeasuredRatio] | Unfit:
        measured = super().measure(step)
        assert not isinstance(measured, Unfit)
        return [each for each in measured if not {each.before, each.after} & self._silent]


@pytest.mark.parametrize("extends", [True, False])
def test_candidates_without_a_ratio_are_skipped(
    *, extends: bool, snapshot: SnapshotAssertion
) -> None:
    record = record_of(17, margin=0.01)
    beliefs = search(record, _Silent({4, 6}, extends=extends))
    assert {4, 6} <= record.skipped.keys()
    assert record.skipped[6] == snapshot
    (change,) = [each for each in beliefs if each.changed > 0.5]
    assert (change.before, change.after) == (5, 7)


def test_an_end_without_a_ratio_ends_the_search(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(SlowdustError) as error:
        search(record_of(17), _Silent({16}, extends=True))
    assert str(error.value) == snapshot


def test_a_change_that_is_refuted_is_looked_for_elsewhere() -> None:
    """Counted work, whose steps are not extended, has wrong answers, which are found out."""
    right = 0
    for seed in range(6):
        laboratory = SimulatedLaboratory(
            costs_with({9: 0.08}, 33), EXACT, seed=seed, wrong=0.05, extends=False
        )
        right += found(search(record_of(33, margin=0.01), laboratory)) == [9]
    assert right >= 5


def test_the_next_candidates_are_built_while_others_are_measured() -> None:
    laboratory = SimulatedLaboratory(costs_with({7: 0.1}, 17), EXACT, extends=False)
    record = record_of(17, margin=0.01)
    search(record, laboratory)
    first = {*record.steps[0].places}
    assert laboratory.measured - first <= laboratory.prepared


class _Forgetful(SimulatedLaboratory):
    """A lab that cannot compare a change with the candidate before it."""

    def confirm(self, before: int, after: int, number: int) -> Direct | Unfit | None:
        del before, after, number
        return Unfit(1, "the disk is full")


def test_a_change_that_could_not_be_measured_again_is_kept_and_reported() -> None:
    record = record_of(17, margin=0.01)
    laboratory = _Forgetful(costs_with({7: 0.1}, 17), EXACT, extends=False)
    beliefs = search(record, laboratory)
    assert found(beliefs) == [7]
    assert record.unconfirmed == {7: "the disk is full"}
    outcome = summarize_search(record, beliefs, [], {}, {})
    assert any("c7 " in line and "the disk is full" in line for line in certainty(outcome))


@pytest.mark.parametrize("dies_in", ends_first(range(4)))
def test_a_stopped_search_resumes_where_it_was(dies_in: int) -> None:
    record = record_of(17, margin=0.01)
    laboratory = SimulatedLaboratory(costs_with({7: 0.1}, 17), EXACT, extends=False)
    wanted = decide(Search(record, lambda _: None, extends=False), laboratory)
    for _ in range(dies_in + 1):  # the last one is ordered, and never measured
        next(wanted)
    again = msgspec.json.decode(msgspec.json.encode(record), type=Record)
    assert len(again.steps) == dies_in + 1

    beliefs = search(again, SimulatedLaboratory(costs_with({7: 0.1}, 17), EXACT, extends=False))
    assert found(beliefs) == [7]
    whole = record_of(17, margin=0.01)
    search(whole, SimulatedLaboratory(costs_with({7: 0.1}, 17), EXACT, extends=False))
    assert again.steps == whole.steps, "the same steps as without a stop"
