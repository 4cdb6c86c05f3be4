"""The cost of one window of the probes, beside the same numbers read by psutil.

    python -m bench.probe_cost [--processes 20] [--threads 40] [--slices 40]

Two servers, one measured and one idle, of sleeping processes (as Postgres) or threads (as mysqld).
Between opening and closing the caches are swept, as a slice of a benchmark would: a probe that is
called in a tight loop looks twice as cheap as it is. Medians and 95th percentiles over the slices.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from slowdust.probes.host.others import probe_of
from slowdust.probes.host.use import HostProbe
from slowdust.probes.probe import Subject
from slowdust.probes.server.process import IdleServer, ServerProbe
from slowdust.probes.window import Window
from slowdust.units import Microsecond, Second

SMALLEST = ("--processes", "2", "--threads", "2", "--slices", "2")
SLICE: Second = 0.1
SWEPT_BYTES = 64 << 20

FORKING = """
import os, signal, sys, time
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        signal.pause()
print("up", flush=True)
sys.stdin.read()
os.killpg(0, signal.SIGKILL)
"""
THREADED = """
import sys, threading, time
for _ in range(int(sys.argv[1]) - 1):
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
print("up", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def server(source: str, size: int) -> Iterator[int]:
    """Start a sleeping server of `size` processes or threads; yield its pid."""
    process = subprocess.Popen(
        [sys.executable, "-c", source, str(size)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def costs(steps: list[Callable[[], object]], slices: int) -> list[Microsecond]:
    """Measure how long all `steps` of a window take together; one value for each slice."""
    swept = bytearray(SWEPT_BYTES)
    durations = []
    for _ in range(slices):
        total = 0.0
        for step in steps:
            swept[::64] = bytes(len(swept) // 64)
            time.sleep(0.01)
            started = time.perf_counter()
            step()
            total += time.perf_counter() - started
        durations.append(total * 1e6)
    return durations


def read_by_psutil(measured: int, idle: int) -> None:
    """Read about the same numbers once by psutil (CPU in ticks)."""
    for pid, is_measured in ((idle, False), (measured, True)):
        main = psutil.Process(pid)
        for process in [main, *main.children(recursive=True)]:
            process.cpu_times()
            if is_measured:
                process.num_ctx_switches()
                process.io_counters()
                process.memory_info()
    psutil.cpu_times()
    psutil.cpu_stats()
    psutil.disk_io_counters(perdisk=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--threads", type=int, default=40)
    parser.add_argument("--slices", type=int, default=40, help="at least 2")
    options = parser.parse_args(arguments)

    table = Table("what", "median us", "p95 us", f"of a {SLICE} s slice")

    def row(what: str, steps: list[Callable[[], object]]) -> None:
        durations = costs(steps, options.slices)
        median, p95 = statistics.median(durations), statistics.quantiles(durations, n=20)[-1]
        table.add_row(what, f"{median:.0f}", f"{p95:.0f}", f"{median / SLICE / 1e4:.2f}%")

    shapes = (("processes", FORKING, options.processes), ("threads", THREADED, options.threads))
    for unit, source, size in shapes:
        with server(source, size) as measured, server(source, size) as idle:
            probe, idle_probe = ServerProbe(measured), ServerProbe(idle)
            host = HostProbe(Path.cwd())
            others = probe_of(Subject(measured, Path.cwd()))
            window = Window([IdleServer("idle", idle_probe), probe, others, host])
            row(f"window, 2 servers of {size} {unit}", [window.open, window.close])
            row("  measured server, one reading", [probe.read])
            row("  idle server, one reading", [idle_probe.read_cpu])
            row("  other programs, one reading", [others.read])
            row("  host, one reading", [host.read])
            reading = functools.partial(read_by_psutil, measured, idle)
            row("the same by psutil", [reading, reading])
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
