"""Ratios within an experiment match its report, and only the needed ones are computed."""

from collections.abc import Sequence

import pytest

from slowdust.analysis.history import series
from slowdust.analysis.history.series import Experiment, Member, ratios_to
from slowdust.analysis.model import PlanDifference, Result
from slowdust.analysis.results.results import Summarise, results_of
from slowdust.analysis.stored import analyse
from slowdust.analysis.versions import Release
from slowdust.stats.blocks import Step
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.synthetic import Noise
from tests.unit.synthetic_history import measured, single_runs

Pair = tuple[Manifest, list[Slice]]
NOISE = Noise(slice=0.02, drift=0.05)
LEVELS = {"5.6": 1.0, "5.7": 0.8, "8.0": 0.5}


def member(pair: Pair, *versions: str) -> Member:
    experiment = Experiment(*pair)
    return experiment, {Release(version): f"mysql@{version}" for version in versions}


@pytest.mark.parametrize("base", ["mysql@5.6", "mysql@8.0"])
@pytest.mark.parametrize(
    "pair", [measured("one", LEVELS, noise=NOISE), single_runs("one", LEVELS)], ids=["long", "few"]
)
def test_ratios_match_the_report(base: str, pair: Pair) -> None:
    manifest, slices = pair
    report = analyse(manifest, slices, base)

    ratios = Experiment(manifest, slices).against(base)

    assert report.results
    for result in report.results:
        ratio = ratios[Step(result.benchmark, result.test, result.clients)][result.contender]
        assert result.ratio is not None
        assert ratio.ratio.value == pytest.approx(result.ratio.value)
        assert ratio.ratio.low == pytest.approx(result.ratio.low)


def test_steps_are_in_the_reports_order_with_groups_and_units() -> None:
    manifest, slices = measured("one", LEVELS)

    steps = Experiment(manifest, slices).steps

    groups = {
        Step(result.benchmark, result.test, result.clients): (result.group, result.unit)
        for result in analyse(manifest, slices).results
    }
    assert [(step, (measured.group, measured.unit)) for step, measured in steps.items()] == list(
        groups.items()
    )


@pytest.mark.parametrize("base", ["5.6", "8.0"])
def test_one_experiment_is_compared_once(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    releases = [Release(version) for version in LEVELS]
    calls = counted(monkeypatch)

    ratios_by_step = ratios_to(Release(base), releases, [member(measured("one", LEVELS), *LEVELS)])

    assert all(list(ratios) == releases for ratios in ratios_by_step.values())
    assert calls == [("one", f"mysql@{base}")]


def test_a_chain_compares_each_experiment_with_the_version_that_leads_into_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    early = member(measured("early", {"5.6": 1.0, "5.7": 0.8}), "5.6", "5.7")
    late = member(measured("late", {"5.7": 1.0, "8.0": 0.5}, seed=2), "5.7", "8.0")
    calls = counted(monkeypatch)

    ratios_by_step = ratios_to(
        Release("5.6"), [Release(version) for version in LEVELS], [early, late]
    )

    assert all(len(ratios) == 3 for ratios in ratios_by_step.values())
    assert calls == [("early", "mysql@5.6"), ("late", "mysql@5.7")]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Record experiment and base of each comparison from now on."""
    calls: list[tuple[str, str]] = []
    original = results_of

    def counting(
        manifest: Manifest,
        slices: Sequence[Slice],
        contenders: Sequence[str],
        differences: Sequence[PlanDifference],
        summarise: Summarise,
    ) -> list[Result]:
        calls.append((manifest.experiment, contenders[0]))
        return original(manifest, slices, contenders, differences, summarise)

    monkeypatch.setattr(series, "results_of", counting)
    return calls
