"""The outcome of a search in every format."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec

from slowdust.report import json as data
from slowdust.report.html import blocks
from slowdust.store.trial import Trial
from slowdust.studies.capacity import words
from slowdust.studies.capacity.document import document
from slowdust.studies.capacity.outcome import Outcome
from slowdust.studies.capacity.search import Plan
from slowdust.studies.capacity.sla import meets, parse_sla
from slowdust.studies.capacity.study import capacity_schema
from tests.unit.ratios import interval_of
from tests.unit.report.media import in_markdown
from tests.unit.synthetic_capacity import SLA, Machine, SimulatedServers, outcome_of_test

SCHEMA = Path(__file__).parents[3] / "docs" / "capacity.schema.json"
QUIET = Machine(start=0.005, drift=0.01, noise=0.05, stalls=0.0)


def outcome(**services: float) -> Outcome:
    return outcome_of_test(SimulatedServers(services, QUIET))


def test_a_slower_contender_is_slower_in_words_and_tables() -> None:
    found = outcome(A=100e-6, B=150e-6)
    base, other = found.capacities
    assert base.ratio is None
    assert other.ratio is not None
    low, high = interval_of(other.ratio)
    assert other.ratio.verdict == "slower"
    assert low < other.ratio.value < high < 0.85
    head, first, second = words.summary(found)
    assert "point-query" in head and "90% of the trials of 0.5s" in head
    assert first.startswith(f"A: {words.number(base.rate or 0)} [")
    assert "slower (down" in second
    assert "| slower |" in in_markdown(document, found).replace("  ", " ")
    page = blocks.render(document(found))
    assert page.count('class="dot"') == 2
    assert page.count('class="interval"') == 2
    assert "SLA: p99 &lt; 5ms" in page


def test_contenders_that_miss_the_sla_at_every_rate_have_no_capacity() -> None:
    found = outcome(A=100e-6, B=5.5e-3)
    other = found.capacities[1]
    assert (other.rate, other.ratio) == (None, None)
    assert other.closest is not None
    assert other.closest.term == "p99"
    assert other.closest.value is not None
    assert other.closest.value > 0.0055
    assert "B: none: 0 of" in words.summary(found)[2]
    assert "none" in in_markdown(document, found)
    assert "none<small>p99" in blocks.render(document(found))


def test_contenders_that_meet_the_sla_at_every_rate_have_a_lower_bound() -> None:
    found = outcome(A=100e-6)
    trials = [trial for trial in found.trials if meets(SLA, trial)]
    bounded = outcome_of_test(SimulatedServers({"A": 100e-6}, QUIET), trials)
    [capacity] = bounded.capacities
    assert capacity.at_least == max(trial.rate for trial in trials)
    assert "at least" in words.summary(bounded)[1]
    assert "at least" in blocks.render(document(bounded))


def test_the_load_generator_is_named_where_it_was_the_limit() -> None:
    found = outcome(A=100e-6)
    busy = [msgspec.structs.replace(trial, busiest_client=0.97) for trial in found.trials]
    limited = outcome_of_test(SimulatedServers({"A": 100e-6}, QUIET), busy)
    assert any("load generator" in line and " A" in line for line in words.certainty(limited))
    assert not any("load generator" in line for line in words.certainty(found))


def test_json_has_all_numbers() -> None:
    found = outcome(A=100e-6)
    again = msgspec.json.decode(data.render(found), type=Outcome)
    assert again == found
    assert again.sla == parse_sla("p99<5ms")


def test_json_is_what_its_schema_says() -> None:
    module = "slowdust.studies.capacity.study"
    remedy = f"""python -c 'from {module} import *; print(capacity_schema(), end="")'"""
    assert SCHEMA.read_text() == capacity_schema(), f"{remedy} > docs/capacity.schema.json"
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    for services in ({"A": 100e-6, "B": 150e-6}, {"A": 100e-6, "B": 5.5e-3}):
        printed = json.loads(data.render(outcome(**services)))
        validator.validate(printed)
        assert printed["schema"] == 1
        assert [each["contender"] for each in printed["capacities"]] == ["A", "B"]


def test_stalls_that_leave_no_rate_are_reported() -> None:
    found = outcome(A=100e-6)
    stalled = msgspec.structs.replace(found, lapse=0.3)
    assert any("no rate" in line for line in words.certainty(stalled))
    few = msgspec.structs.replace(found, lapse=0.05)
    assert not any("no rate would" in line for line in words.certainty(few))
    assert any("About 5% of the trials" in line for line in words.certainty(few))


def test_stalls_are_reported_only_where_trials_well_below_the_capacity_missed_the_sla() -> None:
    services = {"A": 100e-6, "B": 100e-6}
    quiet = outcome(**services)
    assert quiet.lapse is None
    assert not any("because of stalls" in line for line in words.certainty(quiet))
    stalls = Machine(start=0.005, drift=0.01, noise=0.05, stalls=0.3)
    stalled = outcome_of_test(SimulatedServers(services, stalls), plan=Plan(60.0, 0.001, starts=1))
    assert stalled.lapse is not None
    assert 0.1 < stalled.lapse < 0.5
    assert any("because of stalls" in line for line in words.certainty(stalled))


def test_nothing_is_known_of_stalls_where_no_trial_met_the_sla() -> None:
    found = outcome(A=5.5e-3, B=6e-3)
    assert [each.rate for each in found.capacities] == [None, None]
    assert found.lapse is None
    assert not any("because of stalls" in line for line in words.certainty(found))


def test_a_median_of_trials_without_operations_is_absent() -> None:
    servers = SimulatedServers({"A": 100e-6}, QUIET)
    trials = [
        Trial(
            contender="A", start=1, turn=turn, rate=1000.0, seconds=0.5, took=0.5, operations=0,
            times={}, wall=0.5,
        )
        for turn in range(3)
    ]  # fmt: skip
    [capacity] = outcome_of_test(servers, trials).capacities
    assert capacity.closest is not None
    assert (capacity.closest.term, capacity.closest.value) == ("p99", None)
    assert "value" not in msgspec.to_builtins(capacity.closest)
    found = outcome_of_test(servers, trials)
    assert "no p99" in words.summary(found)[1]
    assert "none<small>p99 unknown" in blocks.render(document(found))
