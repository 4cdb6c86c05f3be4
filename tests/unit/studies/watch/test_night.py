"""A watch from night to night: new changes, open alarms and closed ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from slowdust.errors import SlowdustError, UsageError
from slowdust.studies.candidates import released
from slowdust.studies.watch.alarms import (
    Channel,
    Delivery,
    Event,
    Fate,
    acknowledge,
    read_state,
    write_state,
)
from slowdust.studies.watch.series import (
    EXPERIMENTS,
    NIGHTS_FILE,
    Tonight,
    read_nights,
    read_tonight,
    watch_in,
)
from slowdust.studies.watch.study import Outcome, WatchStudy
from slowdust.studies.watch.subjects import new_subject
from tests.unit.studies.watch.synthetic_watch import (
    RELEASES,
    DrawnLaboratory,
    a_watch,
    judged,
    nights_of,
)
from tests.unit.synthetic_lab import SimulatedLab

VERSIONS = ["15.1", "15.3", "15.4", "15.5", "15.6"]


def level(name: str) -> dict[str, float]:
    """Return the costs: from 15.4 on the first test has 5% more, and 15.6 is as before."""
    return {"point-query": 0.05 if name in ("15.4", "15.5") else 0.0, "scan": 0.0}


class Calls:
    """A watch that is called again and again."""

    def __init__(self, folder: Path, laboratory: DrawnLaboratory, text: str = RELEASES) -> None:
        self.watch = a_watch(folder, text)
        self.folder = folder
        self.laboratory = laboratory

    def __call__(self) -> Outcome:
        study, folder = WatchStudy(), watch_in(self.folder)
        study.begin(self.watch, SimulatedLab(), lambda _: None)
        study.open(self.folder, lambda _: None)
        order = study.next()
        study.save(folder)
        if order is not None:
            assert isinstance(order.subject, Tonight)
            study.add(self.laboratory.measure(order.subject))
            study.save(folder)
        return study.outcome()


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(tmp_path, DrawnLaboratory(level, noise=0.0005, metric="work"))


def test_every_release_has_its_night_compared_with_the_last_good_one(calls: Calls) -> None:
    for _ in range(4):
        calls()
    assert [each.subject.name for each in calls.laboratory.measured] == VERSIONS[:4]
    good = [each.good.name if each.good else None for each in calls.laboratory.measured]
    assert good == ["15.0", "15.1", "15.3", "15.3"], "15.4 is none"
    assert len(read_nights(calls.folder)) == 4


def test_a_regression_opens_one_alarm_and_its_end_is_reported(calls: Calls) -> None:
    calls(), calls()
    outcome = calls()
    (raised,) = outcome.judgement.raised
    assert (raised.test, raised.before.name, raised.subject.name) == (
        "point-query",
        "15.3",
        "15.4",
    )
    assert outcome.unreported == [raised]
    raised.reported = True
    write_state(calls.folder, outcome.state)

    outcome = calls()
    assert not outcome.judgement.raised
    assert outcome.unreported == []
    assert [change.fate for change in outcome.state.alarms] == [Fate.OPEN]
    outcome = calls()
    assert [change.test for change in outcome.judgement.gone] == ["point-query"]
    assert not outcome.judgement.faster, "it is the end of the alarm and no news of its own"
    assert outcome.state.alarms == []


def test_nothing_new_measures_nothing(calls: Calls) -> None:
    for _ in VERSIONS:
        calls()
    outcome = calls()
    assert outcome.night is None
    assert len(calls.laboratory.measured) == len(VERSIONS)


def test_without_each_the_newest_release_alone_is_measured(tmp_path: Path) -> None:
    text = RELEASES.replace("each = true", "")
    calls = Calls(tmp_path, DrawnLaboratory(level, noise=0.0005, metric="work"), text)
    calls()
    assert [each.subject.name for each in calls.laboratory.measured] == ["15.6"]
    assert calls().night is None


def test_a_release_that_cannot_be_built_is_passed_over(calls: Calls) -> None:
    calls.laboratory.fails = {"15.3"}
    calls()
    outcome = calls()
    assert outcome.night is not None and outcome.night.failed == "it does not compile"
    calls()
    last = calls.laboratory.measured[-1]
    assert (last.subject.name, last.good.name if last.good else None) == ("15.4", "15.1")


def test_a_night_that_was_stopped_resumes_with_its_subject(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(tonight: Tonight) -> None:
        del tonight
        raise SlowdustError("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(calls.laboratory, "measure", stopped)
        with pytest.raises(SlowdustError):
            calls()
    begun = read_tonight(calls.folder)
    assert begun is not None
    experiment = calls.folder / EXPERIMENTS / begun.experiment
    experiment.mkdir(parents=True)
    (experiment / "manifest.json").touch()
    calls()
    assert calls.laboratory.measured == [begun]
    assert read_tonight(calls.folder) is None


def test_a_night_that_never_began_is_planned_again(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit may be gone by then, and the file mended."""

    def refused(tonight: Tonight) -> None:
        del tonight
        raise UsageError("there is no such base")

    with monkeypatch.context() as patch:
        patch.setattr(calls.laboratory, "measure", refused)
        with pytest.raises(UsageError):
            calls()
    calls.watch = a_watch(calls.folder, RELEASES + 'base = "postgres@15.1"\n')
    calls()
    (measured,) = calls.laboratory.measured
    assert measured.base == "postgres@15.1"


def test_failures_are_retried_once_while_nothing_is_new(tmp_path: Path) -> None:
    text = RELEASES.replace("each = true", "")
    laboratory = DrawnLaboratory(level, noise=0.0005, metric="work")
    laboratory.fails = {"15.6"}
    calls = Calls(tmp_path, laboratory, text)
    assert [calls().night is None for _ in range(3)] == [False, False, True]
    assert [each.subject.name for each in laboratory.measured] == ["15.6", "15.6"]


def test_nights_of_another_dbms_or_config_are_no_past(calls: Calls) -> None:
    calls()
    for releases in ("sqlite@3.24.0..3.50.2", "postgres@15.0..15.6:small"):
        calls.watch = a_watch(calls.folder, RELEASES.replace("postgres@15.0..15.6", releases))
        with pytest.raises(UsageError, match=r"earlier nights of 'w' measured postgres@15\.1"):
            calls()


def test_a_release_of_an_older_series_is_no_successor(tmp_path: Path) -> None:
    table = a_watch(tmp_path, RELEASES.replace("15.0..15.6", "15.5..16.4")).table
    listed = released("postgres@15.5..16.4").listed
    late, *others = listed[1:]
    assert new_subject(table, others, lambda _: None) is None
    assert new_subject(table, [], lambda _: None) == late


def test_a_test_that_was_missing_has_all_the_subjects_since_its_last_night() -> None:
    nights = nights_of([0, 0, 0, 0, 0, 0.03, 0.03])
    lacking = [msgspec.structs.replace(each, measured=[]) for each in nights[4:5]]
    (change,) = judged([*nights[:4], *lacking, *nights[5:]]).changes
    assert (change.before.name, change.subject.name) == ("4.0", "6.0")


def test_a_night_without_its_judgement_is_judged_by_the_next_call(calls: Calls) -> None:
    calls(), calls()
    before = read_state(calls.folder)
    calls()
    write_state(calls.folder, before)  # as if it was killed between the night and its judgement
    outcome = calls()
    assert [change.subject.name for change in outcome.unreported] == ["15.4"]
    assert [each.subject.name for each in calls.laboratory.measured] == VERSIONS[:4]


def test_a_torn_last_night_is_ignored_and_written_again(calls: Calls) -> None:
    calls(), calls()
    path = calls.folder / NIGHTS_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:40])
    assert len(read_nights(calls.folder)) == 1
    path.write_bytes(lines[0][:30] + b"\n" + lines[1])
    with pytest.raises(SlowdustError, match="is damaged"):
        read_nights(calls.folder)


def test_an_acknowledged_alarm_stays_and_an_accepted_one_is_over(calls: Calls) -> None:
    calls(), calls(), calls()
    state = read_state(calls.folder)
    acknowledge(state, ["point-query"], Fate.ACKNOWLEDGED, "known", "2026-01-01")
    assert [change.fate for change in state.alarms] == [Fate.ACKNOWLEDGED]
    (alarm,) = acknowledge(state, [], Fate.ACKNOWLEDGED, "", "2026-01-02")
    assert (alarm.note, alarm.acknowledged) == ("known", "2026-01-01")
    state.deliveries = [
        Delivery(event=Event.REGRESSION, night=3, changes=[1], pending=[Channel.COMMAND])
    ]
    acknowledge(state, [], Fate.ACCEPTED, "", "2026-01-02")
    assert state.alarms == []
    assert alarm.note == "known"
    assert state.deliveries == [], "nobody is told any more"
    write_state(calls.folder, state)
    calls()
    good = calls.laboratory.measured[-1].good
    assert good is not None and good.name == "15.4"


def test_a_doubt_is_measured_again_while_nothing_is_new(tmp_path: Path) -> None:
    laboratory = DrawnLaboratory(
        lambda name: {"scan": 0.08 if name == "15.6" else 0.0}, noise=0.01, metric="time"
    )
    calls = Calls(tmp_path, laboratory)
    for _ in VERSIONS:
        calls()
    assert read_state(tmp_path).doubts
    raised = False
    for _ in range(2):
        raised = raised or bool(calls().judgement.raised)
    assert raised
    assert [each.subject.name for each in laboratory.measured[5:]] == ["15.6"] * len(
        laboratory.measured[5:]
    )
    assert calls().night is None
