"""A program beside an experiment that is busy now and then, as a load whose time is known."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from slowdust.units import Second

_PROGRAM = """
import os, random, select, sys, time
if os.fork():
    os._exit(0)  # what is left is no descendant of the bench: a program of its own
rng, least, most = random.Random(1), *map(float, sys.argv[1:])

def ended(patience):
    return bool(select.select([sys.stdin], [], [], patience)[0])

while not ended(rng.uniform(least, most)):
    until = time.monotonic() + rng.uniform(least, most)
    while time.monotonic() < until and not ended(0):
        for _ in range(20_000):
            pass
"""


@contextmanager
def busy_now_and_then(least: Second, most: Second) -> Iterator[None]:
    """Run a program that is busy on one CPU for `least` to `most` seconds, and idle as long."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(least), str(most)], stdin=subprocess.PIPE
    )
    try:
        process.wait()
        yield
    finally:
        assert process.stdin is not None
        process.stdin.close()
