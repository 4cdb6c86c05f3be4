"""The length of a slice that suits the machine: pure arithmetic on a short record of its speed.

Short slices are close to each other and see the same machine; long ones lose a smaller share of the
time to the fixed cost of a slice. The length with the narrowest interval for a given time depends
on how fast the machine's speed changes. So a test's first warm-up is cut into runs of a few
milliseconds, and the blocks of each length are simulated on their speeds: slices A B B A with their
gaps, at every position of the record. The squared width of the interval is proportional to the
variance of the block's contrast times the duration of a block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.stats.location import FloatArray, trimmed_mean
from slowdust.units import Second

LENGTHS: tuple[Second, ...] = (0.025, 0.05, 0.1, 0.25)
"""The lengths to choose from."""
USUAL: Second = 0.05
"""The default length, used if the record is inconclusive; compared in docs/slice-length.md."""
CLEARLY = 0.9
"""Another length is chosen if its interval is narrower than this multiple of the usual one's."""
RUN: Second = 0.005
"""Length of one run of the record."""
FEWEST_OPERATIONS = 10
"""Minimum operations in a slice, so that a single operation barely changes its speed."""
_LONGEST_RECORD: Second = 2.0
_SHORTEST_RECORD: Second = 0.8
_RECORDED_SHARE = 0.06
"""Largest share of a test's part of the budget for its record."""
_SHARE_OF_ALL = 0.2
"""Largest share for the record and the equally long runs of the other contenders."""
_SLICES = 4
"""Slices of a block of two contenders: A B B A."""
_HALVES = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.0]])
"""A - B in each half of a block."""
_FEWEST_BLOCKS = 3
"""Minimum blocks that fit into the record consecutively: with fewer their variance is a guess."""


@dataclass(frozen=True)
class SpeedRecord:
    """Operations of consecutive short runs of one contender: the machine's speed over time.

    Only the time of the runs counts: the gaps between them are short.
    """

    operations: FloatArray
    """Operations of each run."""
    seconds: FloatArray
    """Length of each run; runs of slow operations are longer than `RUN`."""
    overhead: Second
    """The fixed cost of a slice without the discarded time: commands, reading the probes."""

    @property
    def per_second(self) -> float:
        return float(self.operations.sum() / self.seconds.sum())


def choose_length(record: SpeedRecord, discard: Second) -> Second:
    """Return the length of `LENGTHS` that gives the narrowest interval in the same time.

    Each slice follows `discard` unrecorded seconds. A length other than the usual one is chosen
    only if it is clearly better and the record is long enough to show it.
    """
    lengths = lengths_with_enough(record.per_second)
    usual = usual_length(record.per_second)
    widths = interval_widths(record, discard, lengths)
    if usual not in widths:
        return usual
    best = min(widths, key=lambda length: widths[length])
    return best if widths[best] < CLEARLY * widths[usual] else usual


def record_seconds(share: Second, contenders: int) -> Second:
    """Return the length of the record in a test's warm-up, by the test's share of the budget.

    All contenders run for the same time. 0 if the share is too small for a useful record.
    """
    of_share = min(_RECORDED_SHARE, _SHARE_OF_ALL / contenders)
    seconds = min(_LONGEST_RECORD, share * of_share)
    return seconds if seconds >= _SHORTEST_RECORD else 0.0


def usual_length(per_second: float) -> Second:
    """Return the length of slices at this speed, if no record is made."""
    return max(USUAL, lengths_with_enough(per_second)[0])


def lengths_with_enough(per_second: float) -> list[Second]:
    """Return the lengths with enough operations at this speed; at least the longest."""
    return [length for length in LENGTHS if per_second * length >= FEWEST_OPERATIONS] or [
        LENGTHS[-1]
    ]


def interval_widths(
    record: SpeedRecord, discard: Second, lengths: Sequence[Second] = LENGTHS
) -> dict[Second, float]:
    """Return length -> relative half-width of an interval after one second of such blocks.

    Lengths for which the record is too short are excluded.
    """
    widths = {}
    for length in lengths:
        slot = record.overhead + discard + length
        block = _SLICES * slot
        if record.seconds.sum() < _FEWEST_BLOCKS * block:
            continue
        halves = _halves(record, length, slot)
        if len(halves) > 1:
            widths[length] = math.sqrt(_variance(halves) * block)
    return widths


def _halves(record: SpeedRecord, length: Second, slot: Second) -> FloatArray:
    """Return ln(A / B) in both halves of blocks that begin at every `RUN`, shape (blocks, 2)."""
    ends = np.concatenate(([0.0], np.cumsum(record.seconds)))
    done = np.concatenate(([0.0], np.cumsum(record.operations)))
    last = ends[-1] - (_SLICES - 1) * slot - length
    begins = np.arange(0.0, last, RUN)
    slices = begins[:, None] + slot * np.arange(_SLICES)[None, :]
    operations = np.interp(slices + length, ends, done) - np.interp(slices, ends, done)
    moving = operations.min(axis=1, initial=np.inf) > 0
    halves: FloatArray = np.log(operations[moving]) @ _HALVES.T
    return halves


def _variance(halves: FloatArray) -> float:
    """Return a block's contribution to the squared standard error of the estimate."""
    location = trimmed_mean(halves)
    return len(halves) * location.squares / (location.size * (location.size - 1))
