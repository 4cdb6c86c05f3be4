"""Records of counted work: `counts.ndjson`, one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from slowdust.store.bounds import Natural, Ordinal

Source = Literal["valgrind", "pmu"]

INSTRUCTIONS = "instructions"
"""Event: instructions in user mode."""
KERNEL_INSTRUCTIONS = "kernel_instructions"
"""Event: instructions in the kernel, which only a PMU counts."""
SYSTEM_CALLS = "system_calls"
"""Event: system calls, which valgrind counts in addition to instructions."""
SIMULATED = (
    "simulated_i1_misses",
    "simulated_d1_misses",
    "simulated_ll_misses",
    "simulated_branch_misses",
)
"""Events: misses of the instruction cache, the data cache and the last-level cache, and
mispredicted branches, in valgrind's model of this machine."""

Events = dict[str, Natural]
"""Event -> count; events that were not counted are absent."""


class WindowPlace(msgspec.Struct, kw_only=True, frozen=True):
    """Place of a count, or of a window of waits, in its experiment."""

    benchmark: str
    test: str
    clients: Ordinal
    contender: str
    incarnation: Ordinal
    """Number of the start in its pass, 1-based; timed starts are numbered separately."""
    repeat: Natural
    """Number within (test, clients, incarnation), 0-based: counts of one number execute the same
    operations on all contenders; windows of waits of one number are adjacent in time."""


class CountedRun(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Events of one server during a number of operations."""

    operations: Ordinal
    own: Events
    """Events of the process or thread that serves the session, and of its child processes."""
    background: Events = {}
    """Events of the server's other threads and processes; absent if they were not counted."""


class Count(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The work of one repeat of one step on one contender."""

    place: WindowPlace
    source: Source
    run: CountedRun


def latest_counts(counts: Iterable[Count]) -> list[Count]:
    """Return the latest count of each place and source, in the order of the first ones.

    An interrupted step is counted again from its beginning.
    """
    latest = {(count.source, *msgspec.structs.astuple(count.place)): count for count in counts}
    return list(latest.values())
