"""The probe of other programs, on fake and on real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slowdust.probes.host.others import OthersProbe, open_probe, parse_process
from slowdust.probes.probe import Subject

OWN, KERNEL = 10, 0x00200000


class Host:
    """Processes with their clocks."""

    def __init__(self, proc: Path) -> None:
        self.proc = proc
        self.clocks: dict[int, int] = {}

    def add(self, pid: int, parent: int, *, flags: int = 0, cpu: int = 0, used: int = 0) -> None:
        """Add a process that has used this CPU time, in nanoseconds."""
        (self.proc / str(pid)).mkdir(exist_ok=True)
        fields = ["S", str(parent), *"0000", str(flags), *"0" * 29, str(cpu), *"0" * 10]
        (self.proc / str(pid) / "stat").write_text(f"{pid} (a ) name) {' '.join(fields)}\n")
        self.clocks[pid] = used

    def end(self, pid: int) -> None:
        """Remove a process."""
        (self.proc / str(pid) / "stat").unlink()
        (self.proc / str(pid)).rmdir()
        del self.clocks[pid]

    def clock(self, pid: int, kind: int) -> int:
        """Return a process's clock."""
        assert kind == 2, "the scheduler's"
        if pid not in self.clocks:
            raise ProcessLookupError(pid)
        return self.clocks[pid]

    def probe(self, cpus: set[int] | None = None) -> OthersProbe:
        """Return a probe of this host."""
        return OthersProbe(cpus, own=OWN, proc=str(self.proc), clock=self.clock)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host with init, a thread of the kernel, Slowdust below a shell, a server and a stranger."""
    (tmp_path / "self").mkdir()
    host = Host(tmp_path)
    host.add(1, 0)
    host.add(2, 0, flags=KERNEL)
    host.add(3, 2, flags=KERNEL)
    host.add(9, 1)
    host.add(OWN, 9)
    host.add(20, OWN)
    host.add(21, 20)
    host.add(30, 9)
    return host


def used(host: Host, probe: OthersProbe, **clocks: int) -> float:
    """Return the CPU time of others while processes use nanoseconds: `p30=5`."""
    before = probe.read()
    for name, growth in clocks.items():
        host.clocks[int(name[1:])] += growth
    return round(probe.use(before, probe.read())["cpu_s"] * 1e9)


def test_kernel_and_own_processes_are_not_others(host: Host) -> None:
    own = {"p2": 100, "p3": 100, "p10": 100, "p20": 100, "p21": 100}
    assert used(host, host.probe(), **own, p1=1, p9=2, p30=4) == 7


def test_processes_that_come_count_and_those_that_end_do_not(host: Host) -> None:
    probe = host.probe()
    before = probe.read()
    host.end(30)
    host.add(40, 9, used=5)
    host.add(41, 21, used=100)
    assert probe.use(before, probe.read())["cpu_s"] == pytest.approx(5e-9)


def test_orphan_of_an_own_process_stays_own(host: Host) -> None:
    probe = host.probe()
    probe.read()
    host.end(20)
    host.add(21, 1)
    assert used(host, probe, p21=100) == 0


def test_process_with_the_number_of_an_ended_one_counts_from_its_start(host: Host) -> None:
    host.clocks[30] = 1000
    assert used(host, host.probe(), p30=-997) == 3


def test_others_on_other_cpus_do_not_count(host: Host) -> None:
    host.add(40, 1, cpu=1)
    probe = host.probe({1, 2})
    assert used(host, probe, p30=8, p40=1) == 1
    assert probe.use(probe.read(), probe.read())["cpus"] == 2
    host.add(30, 9, cpu=2)
    host.clocks[30] += 8
    assert used(host, probe, p30=8) == 8


def test_stat_of_another_form_is_an_error() -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_process(b"30 (name) S 1\n")


_BUSY = """
import os, time
if {orphan} and os.fork():
    os._exit(0)
print(os.getpid(), flush=True)
end = time.monotonic() + 20
while time.monotonic() < end:
    pass
"""


@contextmanager
def busy(*, orphan: bool) -> Iterator[int]:
    """Run a busy program, as a child of this process or as a stranger; yield its id."""
    program = [sys.executable, "-c", _BUSY.format(orphan=orphan)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        if orphan:
            process.wait()
        yield pid
        os.kill(pid, signal.SIGKILL)


def test_a_busy_stranger_is_seen_and_a_busy_child_is_not() -> None:
    with busy(orphan=True) as stranger, busy(orphan=False) as child:
        probe = open_probe(Subject(os.getpid(), Path("/")))
        before = after = probe.read()
        while after.cpu_ns[stranger] == before.cpu_ns[stranger]:
            time.sleep(0.05)
            after = probe.read()
    assert probe.use(before, after)["cpu_s"] > 0
    assert child not in after.cpu_ns
