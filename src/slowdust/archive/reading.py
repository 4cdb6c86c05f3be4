"""Reading many megabytes of files in two processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

_PROCESSES = 2
WORTH_A_PROCESS = 8_000_000
"""Bytes from which on a second process pays."""
_PER_FILE = 20_000
"""Cost of a file beside its own bytes, in bytes."""

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Unusable:
    """The reason why a file is of no use."""

    reason: str


def read_shared(
    requests: Sequence[Request],
    paths: Sequence[str],
    read: Callable[[Sequence[Request]], list[Answer]],
) -> list[Answer]:
    """Return the answers of `read` in the order of the requests, each about a file of `paths`."""
    sizes = [size_of(path) for path in paths]
    if sum(sizes) < WORTH_A_PROCESS or (os.cpu_count() or 1) < _PROCESSES:
        return read(requests)
    middle = _middle(sizes)
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        first = pool.submit(read, requests[:middle])
        rest = read(requests[middle:])
        return [*first.result(), *rest]


def _middle(sizes: Sequence[int]) -> int:
    """Return the place with half of the work on each side."""
    costs = [size + _PER_FILE for size in sizes]
    half, done = sum(costs) / 2, 0
    for place, cost in enumerate(costs):
        done += cost
        if done >= half:
            return place + 1
    return len(sizes)


def size_of(path: str) -> int:
    """Return the bytes of a file; 0 where it is gone."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - thousands of files
    except OSError:
        return 0
