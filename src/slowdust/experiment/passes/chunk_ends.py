"""The chunks of a long step, after each of which another contender has its turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowdust.experiment.driver.protocol import Until, UntilOperations, UntilSeconds
from slowdust.units import Second

_FEWEST = 4
"""Chunks of a step: two blocks at the least, so that their noise is known."""
_MOST = 1200
_WHOLE_OPERATIONS = 4
"""Up to so many operations, indexes of a table say, each is a chunk."""
_MOST_OF_PILOT = 1000


@dataclass(frozen=True)
class Turn:
    """The place of a chunk in the order of all contenders' chunks."""

    contender: int
    """Index of the contender."""
    chunk: int
    block: int
    slot: int


def pilot_end(operations: int) -> UntilOperations:
    """Return the end of the part of the first chunk that shows how fast a step's work goes."""
    return UntilOperations(max(1, min(operations // _MOST, _MOST_OF_PILOT)))


def timed_ends(seconds: Second, length: Second) -> list[Until]:
    """Return the ends of an even number of chunks of about `length`, in the step's own time."""
    count = _even(seconds / length)
    return [UntilSeconds(seconds * number / count) for number in range(1, count + 1)]


def counted_ends(operations: int, per_second: float, length: Second) -> list[Until]:
    """Return the ends of chunks of so many operations as take about `length`.

    `per_second` is the rate of one client. Chunks have as many operations, but for rounding.
    """
    if operations <= _WHOLE_OPERATIONS:
        return [UntilOperations(number) for number in range(1, operations + 1)]
    count = min(_even(operations / per_second / length), operations // 2 * 2)
    return [UntilOperations(operations * number // count) for number in range(1, count + 1)]


def chunk_turns(order: Sequence[int], chunks: int) -> Iterator[Turn]:
    """Yield the turns of the contenders of these indices: A B B A, then B A A B.

    An odd number of chunks has blocks of one chunk of each contender.
    """
    halves = 1 if chunks % 2 else 2
    for chunk in range(chunks):
        block, half = divmod(chunk, halves)
        in_reverse = (block + half) % 2
        for place, index in enumerate(reversed(order) if in_reverse else order):
            yield Turn(index, chunk, block, half * len(order) + place)


def _even(count: float) -> int:
    return min(_MOST, max(_FEWEST, 2 * round(count / 2)))
