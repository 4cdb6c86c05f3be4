"""The experiments of a search and their results."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from pathlib import Path

import msgspec
import pytest

from slowdust.analysis.model import Work
from slowdust.analysis.results.log_ratio import log_ratio_of
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.setup import RefusedError
from slowdust.located_errors import AtKeysError
from slowdust.ratios import Ratio
from slowdust.store.slice import Slice
from slowdust.studies.bisect.outcome import Outcome
from slowdust.studies.bisect.record import Question, Record
from slowdust.studies.bisect.search import DirectWanted
from slowdust.studies.bisect.study import Bisection, change_spec, step_spec
from slowdust.studies.candidates import released
from slowdust.studies.engine import run_study
from tests.unit.analysis.results import a_result
from tests.unit.synthetic import fails
from tests.unit.synthetic_lab import SimulatedLab
from tests.unit.synthetic_search import record_of


def log_of(*found: object) -> tuple[float, float]:
    ratio = log_ratio_of(*found)  # type: ignore[arg-type]
    assert ratio is not None
    return ratio.log, ratio.error


def test_less_throughput_is_a_higher_cost() -> None:
    value, error = log_of(a_result("b", rqps=0.8), "time")
    assert value == pytest.approx(-math.log(0.8))
    assert error == pytest.approx(math.log(1.02 / 0.98) / 3.92)


def test_work_and_metrics_are_costs_as_they_are() -> None:
    work = Work(
        source="valgrind",
        clients=1,
        instructions=1000,
        ratio=Ratio(1.1, low=1.09, high=1.11, verdict="more"),
        repeats=4,
        incarnations=2,
    )
    p99 = Ratio(1.3, low=1.2, high=1.4, verdict="more")
    both = msgspec.structs.replace(a_result("b", rqps=1.0), work=work, compared={"p99": p99})
    assert log_of(both, "work")[0] == pytest.approx(math.log(1.1))
    assert log_of(both, "p99")[0] == pytest.approx(math.log(1.3))


def test_unmeasured_values_are_no_evidence() -> None:
    bare = a_result("b", rqps=1.0)
    assert log_ratio_of(bare, "work") is None
    assert log_ratio_of(bare, "p99") is None
    assert log_ratio_of(msgspec.structs.replace(bare, ratio=Ratio(1.0)), "time") is None


@pytest.mark.parametrize(
    ("metric", "given", "counts", "budgets"),
    [
        ("work", {}, ["auto", "auto"], [180, 120]),
        ("work", {"count": "valgrind"}, ["valgrind", "valgrind"], [180, 120]),
        ("work", {"count_budget": "90s"}, ["auto", "auto"], [90, 90]),
        ("time", {"count": "pmu"}, ["off", "pmu"], [180, 120]),
        ("time", {"count": "off"}, ["off", "off"], [180, 120]),
    ],
)
def test_steps_and_changes_are_counted_as_is_asked(
    metric: str, given: dict[str, str], counts: list[str], budgets: list[float]
) -> None:
    record = record_of(3, metric=metric)
    record.question.options.update(given)
    specs = [step_spec(record, "step-01", [0, 1, 2]), change_spec(record, DirectWanted(0, 1, 1))]
    assert [spec.count for spec in specs] == counts
    assert [spec.count_budget for spec in specs] == budgets


QUESTION = Question(
    range="postgres@15.0..15.4",
    metric="time",
    margin=None,
    most_candidates=20,
    options={"tests": "point-query", "rows": 1000, "budget": "60s"},
    good=None,
    bad=None,
)
CANDIDATES = [each.contender for each in released(QUESTION.range).listed]
LAST = len(CANDIDATES) - 1
CHANGE = LAST // 2
CHANGED = dict.fromkeys(CANDIDATES[CHANGE:], 0.8)


def run(folder: Path, lab: SimulatedLab, *, resumes: bool = False) -> Outcome:
    return run_study(Bisection(), QUESTION, folder, lab, lambda _: None, resumes=resumes)


def test_a_change_among_releases_is_found_and_shown(tmp_path: Path) -> None:
    lab = SimulatedLab(CHANGED)
    [change] = run(tmp_path / "x", lab).changes
    assert change.candidate.contender == CANDIDATES[CHANGE]
    assert change.cost.ratio.value == pytest.approx(1 / 0.8, rel=0.05)
    assert change.result is not None and change.result.verdict == "slower"
    assert lab.measured[-1].name == change.experiment
    assert (tmp_path / "x" / "steps" / str(change.experiment) / "report.html").is_file()
    assert {"report.html", "note.md"} < {path.name for path in (tmp_path / "x").iterdir()}


class _Killed(BaseException):
    pass


def test_a_killed_search_measures_nothing_twice_and_finds_the_same(tmp_path: Path) -> None:
    whole = SimulatedLab(CHANGED)
    expected = run(tmp_path / "whole", whole)
    killed = SimulatedLab(CHANGED)

    def kill(experiment: Experiment) -> None:
        if len(killed.measured) == 2:
            raise _Killed

    killed.before = kill
    with pytest.raises(_Killed):
        run(tmp_path / "x", killed)
    with pytest.raises(UsageError):
        run(tmp_path / "x", killed)
    killed.before = lambda _: None
    outcome = run(tmp_path / "x", killed, resumes=True)
    names = [spec.name for spec in killed.measured]
    assert names == [names[0], names[1], *[spec.name for spec in whole.measured][1:]]
    assert [each.candidate for each in outcome.changes] == [
        each.candidate for each in expected.changes
    ]


@pytest.mark.parametrize("overrun", [1.0, 1.5])
def test_each_extension_is_measured_also_where_budgets_are_exceeded(
    tmp_path: Path, overrun: float
) -> None:
    lab = SimulatedLab(dict.fromkeys(CANDIDATES[CHANGE:], 0.97), overrun=overrun)
    run(tmp_path, lab)
    record = msgspec.json.decode((tmp_path / "bisection.json").read_bytes(), type=Record)
    measured = Counter(spec.name for spec in lab.measured)
    for number, step in enumerate(record.steps, start=1):
        assert measured[f"step-{number:02}"] == 1 + step.extensions
    assert max(step.extensions for step in record.steps) > 1


def refuses(experiment: Experiment, *, by_option: bool) -> None:
    if CANDIDATES[1] in [each.contender for each in experiment.spec.contenders]:
        refused = RefusedError(CANDIDATES[1], UsageError("it has no setting 'jit'"))
        if by_option:
            raise AtKeysError(str(refused), ("set", "jit")) from refused
        raise refused


@pytest.mark.parametrize("by_option", [True, False])
def test_a_candidate_that_refuses_the_settings_is_skipped(
    tmp_path: Path, *, by_option: bool
) -> None:
    lab = SimulatedLab(
        {**CHANGED, CANDIDATES[1]: 0.5}, before=partial(refuses, by_option=by_option)
    )
    found = run(tmp_path, lab)
    name = CANDIDATES[1].partition("@")[2]
    assert found.skipped[name] == "it has no setting 'jit'"


def test_a_candidate_that_cannot_be_built_is_skipped(tmp_path: Path) -> None:
    error = SlowdustError("it does not compile\nat all")
    lab = SimulatedLab(CHANGED, unavailable={CANDIDATES[CHANGE]: error})
    outcome = run(tmp_path, lab)
    assert outcome.skipped == {CANDIDATES[CHANGE].partition("@")[2]: "it does not compile"}
    [change] = outcome.changes
    assert len(change.candidates) == 2


@pytest.mark.parametrize("failing", [0, CHANGE, LAST])
def test_a_candidate_on_which_the_test_fails_is_unfit(tmp_path: Path, failing: int) -> None:
    def spoil(record: Slice) -> None:
        if record.place.contender == CANDIDATES[failing]:
            fails(record)

    lab = SimulatedLab(CHANGED, spoil=spoil)
    if failing in (0, LAST):
        with pytest.raises(SlowdustError, match=" end of the range"):
            run(tmp_path, lab)
    else:
        [reason] = run(tmp_path, lab).skipped.values()
        assert reason.endswith("22012 division by zero")
