"""Searches for capacities on a real database."""

from __future__ import annotations

import json
import signal

import pytest

from slowdust.store.folder import TRIALS_FILE
from slowdust.studies.capacity.record import SERVERS
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import full
from tests.waiting import wait_until

LITE = "sqlite@3.50.2"
SEARCH = ("capacity", LITE, "--sla", "p50<200ms,errors=0", "--incarnations", "1")
POINTS = (*SEARCH, "--test", "point-query", "--rows", "1000", "--trial", "100ms")


pytestmark = pytest.mark.builds(LITE)


def trial_lines(workplace: Workplace, name: str) -> list[str]:
    file = workplace.folder / "results" / name / SERVERS / TRIALS_FILE
    return file.read_text().splitlines() if file.exists() else []


def test_a_search_that_is_at_its_end_measures_nothing_more(workplace: Workplace) -> None:
    command = (*POINTS, "--budget", "2s", "--name", "found")
    outcome = json.loads(workplace.run(*command, "--json"))
    [capacity] = outcome["capacities"]
    assert 0 < capacity["low"] < capacity["rate"] < capacity["high"]
    assert len(outcome["trials"]) == len(trial_lines(workplace, "found"))
    assert LITE in workplace.page("found")
    assert workplace.nothing_is_left()

    again = workplace.run(*command, "--resume")
    assert "90% of the trials of 0.1s" in again
    assert len(outcome["trials"]) == len(trial_lines(workplace, "found"))


@full
def test_a_killed_search_resumes_and_keeps_its_trials(workplace: Workplace) -> None:
    command = (*POINTS, "--budget", "4s", "--name", "killed")
    process = workplace.start(*command)
    wait_until(lambda: len(trial_lines(workplace, "killed")) >= 6, "six trials are on disk")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    before = trial_lines(workplace, "killed")
    wait_until(workplace.nothing_is_left, "the killed run's servers are gone")

    outcome = json.loads(workplace.run(*command, "--resume", "--json"))
    assert trial_lines(workplace, "killed")[: len(before)] == before
    assert {trial["start"] for trial in outcome["trials"]} == {1, 2}
    assert workplace.nothing_is_left()


@full
def test_the_search_finds_the_rate_of_background_writers(workplace: Workplace) -> None:
    output = workplace.run(
        *(*SEARCH, "--benchmark", "insert", "--test", "qr1000", "--rows", "2000"),
        *("--budget", "4s", "--trial", "500ms", "--name", "writers", "--json"),
    )
    outcome = json.loads(output)
    assert outcome["unit"] == "rows/s of each client's writers"
    rates = [trial["rate"] for trial in outcome["trials"]]
    assert min(rates) == 1000
    assert max(rates) >= 2000
    assert all(trial["operations"] > 0 for trial in outcome["trials"])
