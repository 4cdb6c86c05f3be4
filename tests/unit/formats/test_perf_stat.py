"""The output of `perf stat -x,`, with and without counters."""

from __future__ import annotations

from slowdust.formats.perf_stat import read_events

_COUNTED = """\
41236512,,instructions:u,10023111,100.00,1.32,insn per cycle
31239812,,cycles:u,10023111,100.00,,
<not supported>,,stalled-cycles-frontend:u,0,100.00,,
<not counted>,,LLC-loads:u,0,0.00,,
12.53,msec,cpu-clock,12530000,100.00,0.998,CPUs utilized
Events disabled
"""


def test_counts_are_read_and_what_is_missing_is_absent() -> None:
    assert read_events(_COUNTED) == {
        "instructions:u": 41236512,
        "cycles:u": 31239812,
        "cpu-clock": 12.53,
    }


def test_a_counter_that_shared_its_place_is_no_count() -> None:
    text = "100,,LLC-loads:u,500,49.81,,\n300,,LLC-stores:u,1000,99.99,,\n"
    assert read_events(text) == {"LLC-stores:u": 300}


def test_kinds_of_cores_are_added_up() -> None:
    text = (
        "700,,cpu_core/instructions:u/,1000,100.00,,\n"
        "300,,cpu_atom/instructions:u/,1000,100.00,,\n"
        "7,,cpu_core/cycles/u,1000,100.00,,\n"
        "<not counted>,,cpu_atom/cycles/u,0,0.00,,\n"
    )
    assert read_events(text) == {"instructions:u": 1000, "cycles:u": 7}
