"""What the choice of a slice's length is worth, on records of this machine's speed.

A test runs in short runs for some time, as in the warm-up that the choice is made from, only
longer. Printed is, for each fixed length, the half-width of the interval over the whole record
relative to the best length's, and the same for the lengths that are chosen from excerpts: their
geometric mean. `--busy` keeps so many CPUs busy meanwhile.

    python -m bench.slice_choice [--seconds 20] [--busy 0] [--build postgres@17.6]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from bench.servers.side_by_side import ROWS, SideBySide, side_by_side
from slowdust.experiment.slices.length import (
    LENGTHS,
    RUN,
    SpeedRecord,
    choose_length,
    interval_widths,
    lengths_with_enough,
)
from slowdust.units import Second

SMALLEST = ("--seconds", "3.5", "--excerpts", "2", "--tests", "point-query", "--rows", "1000")
TESTS = ("point-query", "range-covered-pk", "update-index", "write-only", "scan")
EXCERPTS: tuple[Second, ...] = (1.0, 2.0)
DISCARD: Second = 0.01
BUSY_LOOP = "while True: pass"


def main(arguments: Sequence[str] | None = None) -> int:
    """Record and print the table."""
    options = _parser().parse_args(arguments)
    lengths = "".join(f"{length * 1000:>7.0f}ms" for length in LENGTHS)
    chosen = "".join(f"{f'of {seconds:g} s':>9}" for seconds in EXCERPTS)
    print(f"{'test':<20}{'run sd':>8}{lengths}{chosen}")
    for test in options.tests:
        with busy(options.busy), side_by_side([options.build] * 2, test, options.rows) as servers:
            record = record_speed(servers, options.seconds)
        print(_row(test, record, options.excerpts))
    return 0


@contextmanager
def busy(cpus: int) -> Iterator[None]:
    """Keep CPUs busy by a loop each."""
    with ExitStack() as stack:
        for _ in range(cpus):
            loop = stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY_LOOP]))
            stack.callback(loop.kill)
        yield


def record_speed(servers: SideBySide, seconds: Second) -> SpeedRecord:
    """Record the speed of the first contender as an experiment does."""
    contender = servers.contenders[0]
    runs = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        runs.append(servers.run(contender, RUN))
    begun = time.monotonic()
    seconds_of_run = servers.probed_run(contender, RUN).seconds
    return SpeedRecord(
        operations=np.array([float(run.operations) for run in runs]),
        seconds=np.array([run.seconds for run in runs]),
        overhead=time.monotonic() - begun - seconds_of_run,
    )


def _row(test: str, record: SpeedRecord, excerpts: int) -> str:
    widths = interval_widths(record, DISCARD, lengths_with_enough(record.per_second))
    best = min(widths.values())
    relative = {length: width / best for length, width in widths.items()}
    shown = "".join(
        f"{relative[length]:>9.2f}" if length in relative else f"{'-':>9}" for length in LENGTHS
    )
    spread = float(np.log(record.operations / record.seconds).std())
    chosen = "".join(f"{_chosen(record, relative, s, excerpts):>9.2f}" for s in EXCERPTS)
    return f"{test:<20}{spread:>8.1%}{shown}{chosen}"


def _chosen(
    record: SpeedRecord, relative: dict[Second, float], seconds: Second, excerpts: int
) -> float:
    """Return the geometric mean of the relative widths that excerpts of a record choose."""
    rng = random.Random(1)
    ends = np.cumsum(record.seconds)
    logs = []
    for _ in range(excerpts):
        begin = rng.uniform(0, ends[-1] - seconds)
        part = slice(*np.searchsorted(ends, (begin, begin + seconds)))
        excerpt = SpeedRecord(record.operations[part], record.seconds[part], record.overhead)
        logs.append(np.log(relative[choose_length(excerpt, DISCARD)]))
    return float(np.exp(np.mean(logs)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a record")
    parser.add_argument("--excerpts", type=int, default=200)
    parser.add_argument("--busy", type=int, default=0, help="CPUs that a loop keeps busy")
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--build", default="postgres@17.6")
    return parser


if __name__ == "__main__":
    sys.exit(main())
