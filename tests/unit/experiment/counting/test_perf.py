"""The processor's counters: their groups, and perf's output on other machines."""

from __future__ import annotations

from collections import Counter

from slowdust.experiment.passes.perf import GROUPS, event_name, read_counts

_MOST_BY_HARDWARE = 4
_SOFTWARE = {"task-clock", *GROUPS[-1]}


def test_no_group_has_more_events_than_processors_have_counters() -> None:
    for group in GROUPS:
        assert sum(event not in _SOFTWARE for event in group) <= _MOST_BY_HARDWARE


def test_every_event_has_a_name_of_its_own() -> None:
    names = Counter(event_name(event) for group in GROUPS for event in group)
    assert max(names.values()) == 1
    assert {"instructions", "kernel_instructions", "cycles", "system_calls"} <= names.keys()
    assert event_name("L1-dcache-load-misses:k") == "kernel_l1_dcache_load_misses"


def test_counts_of_a_machine_with_a_pmu() -> None:
    text = (
        "Events enabled\n"
        "42139112,,instructions:u,20112233,100.00,2.18,insn per cycle\n"
        "23112001,,instructions:k,20112233,100.00,,\n"
        "19330022,,cycles:u,20112233,100.00,,\n"
        "<not counted>,,cycles:k,0,0.00,,\n"
        "12.54,msec,task-clock,12540112,100.00,0.61,CPUs utilized\n"
    )
    assert read_counts(text, GROUPS[0]) == {
        "instructions": 42139112,
        "kernel_instructions": 23112001,
        "cycles": 19330022,
        "task_clock_ns": 12540000,
    }


def test_counts_of_a_machine_without_a_pmu() -> None:
    text = "<not supported>,,instructions:u,0,100.00,,\n0.70,msec,task-clock,696569,100.00,,\n"
    assert read_counts(text, GROUPS[0]) == {"task_clock_ns": 700_000}
