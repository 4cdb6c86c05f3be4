"""Change points: none in seeded noise, and true steps at their place."""

import math
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import combinations
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest

from slowdust.analysis.history.change_points import (
    FALSE_ALARM,
    Noise,
    find_changes,
    find_changes_by_size,
    noise_of_intervals,
    noise_of_scatter,
    penalty_of,
)
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands

KNOWN = float("inf")


def known(deviation: float, count: int) -> Noise:
    return Noise([deviation] * count, KNOWN)


def places(series: list[float], noise: Noise, count: int = 1, least: float = 0.0) -> list[int]:
    return [change.place for change in find_changes(series, noise, count, least)]


@pytest.mark.parametrize("deviation", [0.005, 0.05, 0.5])
def test_noise_however_large_has_no_change_point(deviation: float) -> None:
    rng = np.random.default_rng(7)
    histories = 60

    alarms = sum(
        any(places(list(rng.normal(0, deviation, 12)), known(deviation, 12), 20) for _ in range(20))
        for _ in range(histories)
    )

    # 5% of histories have one; 3 standard deviations of that many draws above it.
    assert alarms / histories < FALSE_ALARM + 3 * (0.05 * 0.95 / histories) ** 0.5


def test_a_true_step_is_found_where_it_is() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        series = rng.normal(0, 0.02, 12)
        series[7:] -= 0.16

        (change,) = find_changes(list(series), known(0.02, 12), count=30)

        assert change.place == 7
        assert change.difference == pytest.approx(-0.16, abs=0.05)


def test_the_newest_version_alone_may_be_the_change() -> None:
    assert places([0, 0.01, 0, -0.2], known(0.01, 4)) == [3]
    assert places([0, -0.2], known(0.02, 2)) == [1]


def test_a_step_below_the_noise_is_not_found() -> None:
    series = [0.0, 0.03, -0.02, -0.05, -0.09, -0.06]

    assert places(series, known(0.1, 6)) == []
    assert places(series, known(0.005, 6)) != []


def test_a_noisy_version_is_no_change_where_the_others_are_quiet() -> None:
    series = [0.0, 0.0, -0.2, 0.0, 0.0]

    assert places(series, Noise([0.01, 0.01, 0.2, 0.01, 0.01], KNOWN)) == []
    assert places(series, known(0.01, 5)) == [2, 3]


def test_steps_that_do_not_matter_are_skipped() -> None:
    series = [0.0, 0.0, -0.02, -0.02, -0.2, -0.2]

    assert places(series, known(0.001, 6)) == [2, 4]
    assert places(series, known(0.001, 6), least=0.03) == [4]


def test_the_more_series_the_more_a_change_has_to_show() -> None:
    assert penalty_of(8, 1) < penalty_of(8, 30) < penalty_of(8, 300)
    assert penalty_of(4, 1) < penalty_of(20, 1)
    assert penalty_of(8, 30) < penalty_of(8, 30, freedom=6)


def test_the_segments_are_the_best_there_are() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        series = list(np.cumsum(rng.normal(0, 2, 7)))
        deviations = list(rng.uniform(0.5, 2, 7))

        assert places(series, Noise(deviations, KNOWN)) == _best(
            series, deviations, penalty_of(7, 1)
        )


def _best(series: list[float], deviations: list[float], pen: float) -> list[int]:
    """Return the best places by trying all."""

    def cost(ends: tuple[int, ...]) -> float:
        total = pen * len(ends)
        for start, end in zip((0, *ends), (*ends, len(series)), strict=True):
            values, weights = np.array(series[start:end]), np.array(deviations[start:end]) ** -2.0
            total += float((weights * (values - np.average(values, weights=weights)) ** 2).sum())
        return total

    tried = [ends for count in range(7) for ends in combinations(range(1, len(series)), count)]
    best: tuple[int, ...] = min(tried, key=cost)
    return list(best)


def test_the_noise_of_a_ratio_is_shared_by_its_two_versions() -> None:
    noise = noise_of_intervals([None, 0.0392, 0.0392])

    assert noise is not None
    assert noise.freedom == KNOWN
    # A half-width of 1.96 standard deviations, each version having half of the variance.
    assert noise.deviations == pytest.approx([0.02 / 2**0.5] * 3, rel=1e-3)


def test_a_version_without_an_interval_leaves_the_noise_unknown() -> None:
    assert noise_of_intervals([None, 0.04, None]) is None
    assert noise_of_intervals([None]) is None


def test_single_runs_of_few_versions_say_nothing_of_their_noise() -> None:
    assert noise_of_scatter([[0, 0.01, 0.02, 0, 0.01]]) == [None]


def test_the_noise_of_single_runs_is_what_neighbours_differ_by_but_for_true_changes() -> None:
    rng = np.random.default_rng(3)
    series = rng.normal(0, 0.03, (40, 10))
    series[:, 3:] -= 0.5
    series[:, 5:] -= 0.5
    series[:, 8:] += 0.7

    noises = [noise for noise in noise_of_scatter([list(row) for row in series]) if noise]

    typical = np.median([noise.deviations[0] for noise in noises])
    assert 0.025 < typical < 0.04
    assert {noise.freedom for noise in noises} == {8}


def test_single_runs_of_any_noise_have_no_change_point_and_a_step_has() -> None:
    rng = np.random.default_rng(5)
    alarms = hits = 0
    for _ in range(60):
        spread = rng.choice([0.01, 0.02, 0.05], (20, 1))
        series = [list(row) for row in rng.normal(0, 1, (20, 8)) * spread]
        noises = noise_of_scatter(series)
        alarms += any(
            find_changes(row, noise, 20)
            for row, noise in zip(series, noises, strict=True)
            if noise is not None
        )
        stepped = list(rng.normal(0, 0.02, 8) - 0.3 * (np.arange(8) >= 3))
        (noise,) = noise_of_scatter([stepped])
        assert noise is not None
        hits += places(stepped, noise, 20) == [3]

    assert alarms <= 7
    assert hits >= 55


def test_a_staircase_of_single_runs_is_found() -> None:
    """The noise used to exclude only the largest difference: the others counted as noise."""
    rng = np.random.default_rng(11)
    levels = -0.105 * np.searchsorted([3, 6], np.arange(8), side="right")
    found = 0
    for _ in range(20):
        series = [list(levels + rng.normal(0, 0.01, 8)) for _ in range(20)]
        noises = noise_of_scatter(series)
        found += sum(
            places(row, noise, 20) == [3, 6]
            for row, noise in zip(series, noises, strict=True)
            if noise is not None
        )

    assert found / 400 > 0.7


@pytest.mark.parametrize("versions", [2, 3, 4, 5, 9])
@pytest.mark.parametrize(
    ("ratio", "change"),
    [(1.044, False), (1.046, True), (2.0, True), (0.956, False), (0.954, True), (0.3, True)],
)
def test_by_size_alone_a_lone_step_is_found_where_bands_call_it_one(
    versions: int,
    ratio: float,
    change: bool,  # noqa: FBT001
) -> None:
    for place in range(1, versions):
        series = [0.0] * place + [math.log(ratio)] * (versions - place)

        assert [change.place for change in find_changes_by_size(series, DEFAULT_BANDS)] == (
            [place] if change else []
        )


def test_by_size_alone_several_steps_are_found_and_what_lies_between_is_not() -> None:
    series = [math.log(rqps) for rqps in (1.0, 1.01, 1.30, 1.28, 0.70)]

    changes = find_changes_by_size(series, DEFAULT_BANDS)

    assert [change.place for change in changes] == [2, 4]
    assert [math.exp(change.difference) for change in changes] == pytest.approx(
        [1.284, 0.543], abs=0.001
    )


def test_by_size_alone_many_small_steps_add_up_to_one_that_counts() -> None:
    series = [0.0, -0.04, -0.08, -0.12]

    (change,) = find_changes_by_size(series, DEFAULT_BANDS)

    assert abs(change.difference) > 0.05


@pytest.mark.parametrize(
    ("bands", "expected"), [(Bands(0.10, 0.2), [2]), (Bands(0.03, 0.2), [2, 3])]
)
def test_by_size_alone_the_bands_say_which_changes_count(bands: Bands, expected: list[int]) -> None:
    series = [0.0, 0.0, -0.2, -0.24]

    assert [change.place for change in find_changes_by_size(series, bands)] == expected


def test_the_library_is_loaded_without_what_takes_a_second() -> None:
    code = (
        "import sys; from slowdust.analysis.history.change_points import Noise, find_changes; "
        "changes = find_changes([0.0, -0.5], Noise([0.01, 0.01], 1e9), 1); "
        "assert [change.place for change in changes] == [1]; "
        "assert not {'scipy.stats', 'scipy.signal', 'ruptures'} & set(sys.modules); "
        "import ruptures; assert ruptures.Pelt and ruptures.KernelCPD"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def first_use() -> Iterator[ModuleType]:
    """The module of change points before it has loaded the library."""
    history = "slowdust.analysis.history"
    module = import_module(f"{history}.change_points")
    with patch.dict(sys.modules):
        for name in [*sys.modules]:
            if name.partition(".")[0] == "ruptures":
                del sys.modules[name]
        del sys.modules[module.__name__]
        yield import_module(module.__name__)
    sys.modules[history].change_points = module  # type: ignore[attr-defined]


def test_a_library_of_other_modules_is_loaded_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_use: ModuleType
) -> None:
    package = tmp_path / "ruptures"
    package.mkdir()
    (package / "base.py").write_text("class BaseCost: ...\n")
    (package / "__init__.py").write_text(
        "class Pelt:\n"
        "    def __init__(self, **options): ...\n"
        "    def fit(self, values): return self\n"
        "    def predict(self, pen): return [1, 2]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    (change,) = first_use.find_changes([0.0, -0.5], known(0.01, 2), 1)

    assert change.place == 1


def test_without_the_library_it_says_so(
    monkeypatch: pytest.MonkeyPatch, first_use: ModuleType
) -> None:
    monkeypatch.setitem(sys.modules, "ruptures", None)

    with pytest.raises(first_use.ChangePointsUnavailableError):
        first_use.find_changes([0.0, 1.0], known(0.1, 2), 1)
