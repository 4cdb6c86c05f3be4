"""Where the costs of functions come from, in words that all formats share."""

from __future__ import annotations

from collections.abc import Mapping

from slowdust.analysis.model import FunctionChanges
from slowdust.store.profile import ProfileSource
from slowdust.wording import counted

COSTS: Mapping[ProfileSource, str] = {
    "callgrind": "instructions counted by callgrind",
    "perf": "CPU time sampled by perf",
}
"""What a profile consists of, by its source."""


def cost_per_operation(source: ProfileSource, unit: str) -> str:
    """Write what a profile consists of with its unit: 'instructions per operation, ...'."""
    if source == "callgrind":  # whose unit names what it counts
        return f"{unit} per operation, counted by callgrind"
    return f"{COSTS[source]}, {unit} per operation"


def sampling_of(changes: FunctionChanges) -> str:
    """Write how much the samples say; empty where every instruction was counted."""
    if changes.samples is None or changes.base_samples is None:
        return ""
    return (
        f"These are {counted(changes.samples, 'sample')} beside {changes.base_samples:,} of the "
        "base: functions are listed only where their change is larger than the error of sampling."
    )
