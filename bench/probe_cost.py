"""What one window of the probes costs, beside the same numbers read by psutil.

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
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from slowdust.probes.host.use import HostProbe
from slowdust.probes.server.process import IdleServer, ServerProbe
from slowdust.probes.window import Window

SLICE_S = 0.1
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
    """A sleeping server of `size` processes or threads; gives its pid."""
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


def costs(steps: list[Callable[[], object]], slices: int) -> list[float]:
    """Microseconds that all `steps` of a window take together, one value for each slice."""
    swept = bytearray(SWEPT_BYTES)
    found = []
    for _ in range(slices):
        total = 0.0
        for step in steps:
            swept[::64] = bytes(len(swept) // 64)
            time.sleep(0.01)
            started = time.perf_counter()
            step()
            total += time.perf_counter() - started
        found.append(total * 1e6)
    return found


def by_psutil(measured: int, idle: int) -> None:
    """One reading of about the same numbers by psutil (CPU in ticks)."""
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


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--threads", type=int, default=40)
    parser.add_argument("--slices", type=int, default=40)
    wanted = parser.parse_args()

    table = Table("what", "median us", "p95 us", f"of a {SLICE_S} s slice")

    def row(what: str, steps: list[Callable[[], object]]) -> None:
        found = costs(steps, wanted.slices)
        median, p95 = statistics.median(found), statistics.quantiles(found, n=20)[-1]
        table.add_row(what, f"{median:.0f}", f"{p95:.0f}", f"{median / SLICE_S / 1e4:.2f}%")

    shapes = (("processes", FORKING, wanted.processes), ("threads", THREADED, wanted.threads))
    for unit, source, size in shapes:
        with server(source, size) as measured, server(source, size) as idle:
            probe, idle_probe = ServerProbe(measured), ServerProbe(idle)
            host = HostProbe(Path.cwd())
            window = Window([IdleServer("idle", idle_probe), probe, host])
            row(f"window, 2 servers of {size} {unit}", [window.open, window.close])
            row("  measured server, one reading", [probe.read])
            row("  idle server, one reading", [idle_probe.read_cpu])
            row("  host, one reading", [host.read])
            reading = functools.partial(by_psutil, measured, idle)
            row("the same by psutil", [reading, reading])
    Console().print(table)


if __name__ == "__main__":
    main()
