"""Records of counted work: `counts.ndjson` has one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from slowdust.store.bounds import Natural, Ordinal

Source = Literal["valgrind", "pmu"]

INSTRUCTIONS = "instructions"
"""Event: instructions in user mode."""
KERNEL_INSTRUCTIONS = "kernel_instructions"
"""Event: instructions in the kernel, which only a PMU sees."""
SYSTEM_CALLS = "system_calls"
"""Event: system calls, which valgrind counts beside the instructions."""
SIMULATED = (
    "simulated_i1_misses",
    "simulated_d1_misses",
    "simulated_ll_misses",
    "simulated_branch_misses",
)
"""Events: misses of the caches for instructions and data and of the last level, and of the branch
prediction, in valgrind's model of this machine."""

Events = dict[str, Natural]
"""Event -> how often it happened; one that was not counted is absent."""


class WindowPlace(msgspec.Struct, kw_only=True, frozen=True):
    """Place of a count, or of a window of waits, in its experiment."""

    benchmark: str
    test: str
    clients: Ordinal
    contender: str
    incarnation: Ordinal
    """Number of the start among the starts of its pass, 1-based."""
    repeat: Natural
    """Number within (test, clients, incarnation), 0-based. Counts of one number are of the same
    operations on all contenders; windows of waits of one number are close in time."""


class CountedRun(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Events of one server while so many operations were carried out."""

    operations: Ordinal
    own: Events
    """Events of the process or thread that serves the session, and of the processes it started."""
    background: Events = {}
    """Events of the server's other threads and processes; absent where they were not counted."""


class Count(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one repeat of one step on one contender cost."""

    place: WindowPlace
    source: Source
    run: CountedRun


def latest_counts(counts: Iterable[Count]) -> list[Count]:
    """Return the counts, the latest of each place and source in the place of the first.

    A step that was cut short is counted again, all of it after one start of the server.
    """
    latest = {(count.source, *msgspec.structs.astuple(count.place)): count for count in counts}
    return list(latest.values())
