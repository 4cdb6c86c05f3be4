"""The releases of a range that are measured, and their grouping."""

from __future__ import annotations

from itertools import pairwise

import pytest

from slowdust.errors import UsageError
from slowdust.studies.blame import check_every, chosen_releases, side_by_side, windows
from slowdust.studies.candidates import Candidate, released


def first_choices(range_: str, every: str) -> list[str]:
    return [releases[0].name for releases in chosen_releases(released(range_).listed, every)]


def test_the_newest_of_each_major_release_is_chosen() -> None:
    assert first_choices("postgres@15..17", "major") == ["15.18", "16.14", "17.10"]
    assert first_choices("mysql@5.5..8.4", "major") == [
        *("5.5.9", "5.6.24", "5.7.44", "8.0.40", "8.4.5"),
    ]


def test_every_second_major_release_ends_with_the_last() -> None:
    assert first_choices("postgres@10..18", "2major") == [
        *("10.23", "12.22", "14.23", "16.14", "18.4"),
    ]
    assert first_choices("postgres@11..18", "2major")[-2:] == ["17.10", "18.4"]


def test_a_number_counts_releases_of_any_kind() -> None:
    listed = released("postgres@16.1..16.5").listed
    assert [[each.name] for each in listed] == [
        [each.name for each in releases] for releases in chosen_releases(listed, "1")
    ]
    assert first_choices("postgres@16.1..16.5", "3") == ["16.1", "16.5"]


def test_others_of_a_major_release_stand_in_the_newest_first() -> None:
    [_, last] = chosen_releases(released("postgres@17.9..18.1").listed, "major")
    assert [each.name for each in last] == ["18.1", "18.0"]


def test_postgres_before_10_had_major_releases_of_two_numbers() -> None:
    listed = [Candidate(contender=f"postgres@{v}", name=v) for v in ("9.5.1", "9.6.1", "10.1")]
    assert [[each.name for each in r] for r in chosen_releases(listed, "major")] == [
        *(["9.5.1"], ["9.6.1"], ["10.1"]),
    ]


@pytest.mark.parametrize("text", ["", "0", "minor", "0major", "-1", "2 major"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--every"):
        check_every(text)


@pytest.mark.parametrize("text", ["major", "1", "2major", "12"])
def test_these_are_not(text: str) -> None:
    check_every(text)


@pytest.mark.parametrize("count", range(2, 12))
@pytest.mark.parametrize("together", range(2, 12))
def test_neighbouring_experiments_share_one_release(count: int, together: int) -> None:
    chosen = list(windows(count, together))
    assert (chosen[0][0], chosen[-1][-1]) == (0, count - 1)
    assert all(before[-1] == after[0] for before, after in pairwise(chosen))
    assert all(2 <= len(places) <= together for places in chosen)
    fewest = -(-(count - 1) // (together - 1))
    assert len(chosen) == fewest


def test_a_small_host_measures_pairs() -> None:
    assert side_by_side(1_000_000_000) == 2
    assert side_by_side(16_000_000_000) == 10
