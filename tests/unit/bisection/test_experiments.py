"""The evidence of an experiment, in each metric."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from slowdust.analysis.model import MetricComparison, Work
from slowdust.bisection import experiments
from slowdust.bisection.experiments import Experiments, log_ratio_of
from slowdust.bisection.record import Step
from slowdust.bisection.search import UnfitError
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.live import watching
from slowdust.experiment.setup import RefusedError
from slowdust.experiment.spec.errors import AtKeysError
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.store.folder import Folder, writing
from tests.unit.analysis.results import a_result
from tests.unit.synthetic import fails, synthetic_experiment
from tests.unit.synthetic_search import record_of


def test_less_throughput_is_a_higher_cost() -> None:
    value, error = log_ratio_of(a_result("b", rqps=0.8), "time") or (0, 0)
    assert value == pytest.approx(-math.log(0.8))
    assert error == pytest.approx(math.log(1.02 / 0.98) / 3.92)


def test_work_and_metrics_are_costs_as_they_are() -> None:
    work = Work(
        source="valgrind",
        clients=1,
        instructions=1000,
        ratio=1.1,
        low=1.09,
        high=1.11,
        verdict="more",
        repeats=4,
        incarnations=2,
    )
    p99 = MetricComparison(ratio=1.3, low=1.2, high=1.4, verdict="more")
    both = msgspec.structs.replace(a_result("b", rqps=1.0), work=work, compared={"p99": p99})
    assert (log_ratio_of(both, "work") or (0,))[0] == pytest.approx(math.log(1.1))
    assert (log_ratio_of(both, "p99") or (0,))[0] == pytest.approx(math.log(1.3))


def test_what_was_not_measured_is_no_evidence() -> None:
    bare = a_result("b", rqps=1.0)
    assert log_ratio_of(bare, "work") is None
    assert log_ratio_of(bare, "p99") is None
    assert log_ratio_of(msgspec.structs.replace(bare, low=None, high=None), "time") is None


@pytest.mark.parametrize(
    ("search", "counts", "budgets"),
    [
        (("work", {}), ["auto", "auto"], [180, 120]),
        (("work", {"count": "valgrind"}), ["valgrind", "valgrind"], [180, 120]),
        (("work", {"count_budget": "90s"}), ["auto", "auto"], [90, 90]),
        (("time", {"count": "pmu"}), ["off", "pmu"], [180, 120]),
        (("time", {"count": "off"}), ["off", "off"], [180, 120]),
    ],
)
def test_steps_and_changes_are_counted_as_is_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    search: tuple[str, dict[str, str]],
    counts: list[str],
    budgets: list[float],
) -> None:
    specs: list[Spec] = []

    def keep(spec: Spec, *_: object) -> None:
        specs.append(spec)
        raise SlowdustError("that is all")

    monkeypatch.setattr(experiments, "why_not_built", lambda *_: None)
    monkeypatch.setattr(experiments, "run_or_finish", keep)
    metric, given = search
    record = record_of(3, metric=metric)
    record.question.options.update(given)
    laboratory = Experiments(tmp_path, record, WhenBusy.FAIL, watching)
    with pytest.raises(SlowdustError, match="that is all"):
        laboratory.measure(0, Step(places=[0, 1, 2]))
    with pytest.raises(SlowdustError, match="that is all"):
        laboratory.confirm(0, 1, 1)
    assert [spec.count for spec in specs] == counts
    assert [spec.count_budget for spec in specs] == budgets


@pytest.mark.parametrize("by_option", [True, False])
def test_a_candidate_that_refuses_the_settings_is_unfit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_option: bool
) -> None:
    refused = RefusedError("postgres@1", UsageError("postgres 1 has no setting 'jit'"))

    def refuse(*_: object) -> None:
        if by_option:
            raise AtKeysError(str(refused), ("set", "jit")) from refused
        raise refused

    def names(spec: Spec, view: View) -> list[SimpleNamespace]:
        del view
        return [SimpleNamespace(name=each.contender) for each in spec.contenders]

    monkeypatch.setattr(experiments, "why_not_built", lambda *_: None)
    monkeypatch.setattr(experiments, "run_or_finish", refuse)
    monkeypatch.setattr(experiments, "resolve_contenders", names)
    record = record_of(3, metric="work")
    laboratory = Experiments(tmp_path, record, WhenBusy.FAIL, watching)
    with pytest.raises(UnfitError, match=r"^postgres 1 has no setting 'jit'$") as raised:
        laboratory.measure(0, Step(places=[0, 1, 2]))
    assert raised.value.place == 1


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_candidate_on_which_the_test_fails_is_unfit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    names = [f"postgres@{number}" for number in range(3)]

    def store(spec: Spec, results: Path, *_: object) -> None:
        manifest, slices = synthetic_experiment(names, ["point-query"])
        manifest.experiment = spec.name
        for record in slices:
            if record.place.contender == names[failing]:
                fails(record)
        folder = Folder.of(results, spec.name)
        with writing(folder) as writer:
            writer.write_manifest(manifest)
            writer.append(*slices)
        folder.spec_file.write_text(f"contenders = {names}\n")

    monkeypatch.setattr(experiments, "why_not_built", lambda *_: None)
    monkeypatch.setattr(experiments, "run_or_finish", store)
    laboratory = Experiments(tmp_path, record_of(3), WhenBusy.FAIL, watching)
    with pytest.raises(
        UnfitError, match=r"^point-query fails on .*22012 division by zero$"
    ) as raised:
        laboratory.measure(0, Step(places=[0, 1, 2]))
    assert raised.value.place == failing
