"""The probes compared with the processes' own counts."""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from slowdust.probes.host.machine import read_machine
from slowdust.probes.host.use import HostProbe, find_block_device
from slowdust.probes.probe import Window
from slowdust.probes.server.process import IdleServer, ServerProbe, cpu_seconds, server_use

MIB = 1 << 20

SERVER = """
import json, os, resource, sys, threading, time

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(500))

def burn_in_threads(count, seconds):
    threads = [threading.Thread(target=burn, args=(seconds,)) for _ in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    # join returns a little before the kernel's thread has ended
    while len(os.listdir('/proc/self/task')) > 1: time.sleep(0.001)

def fork(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid

def fork_waiting(work):
    '''A child that works, says so, and ends when it is told to.'''
    done_read, done_write = os.pipe()
    stay_read, stay_write = os.pipe()
    def child():
        os.close(stay_write)
        work()
        os.write(done_write, b'x')
        os.read(stay_read, 1)
    pid = fork(child)
    os.close(stay_read)
    os.read(done_read, 1)
    return pid, stay_write

def reap(pid, stay_write):
    os.write(stay_write, b'x')
    os.close(stay_write)
    return os.wait4(pid, 0)[2]

def write(path, size):
    with open(path, 'wb') as file:
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())

def switches(usage):
    return usage.ru_nvcsw + usage.ru_nivcsw

for line in sys.stdin:
    print(json.dumps(eval(line)), flush=True)
"""


class Server:
    """A process that evaluates what it is sent and sleeps between."""

    def __init__(self, *prefix: str) -> None:
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        self("0")

    def __call__(self, expression: str) -> Any:  # noqa: ANN401
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{expression}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        self._wait_until_asleep()
        return json.loads(answer)

    def _wait_until_asleep(self) -> None:
        deadline = time.monotonic() + 10
        stat = Path(f"/proc/{self.pid}/stat")
        while stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as started:
        yield started


def test_cpu_time_agrees_with_the_process_itself(server: Server) -> None:
    probe = ServerProbe(server.pid)
    own = "sum(resource.getrusage(resource.RUSAGE_SELF)[:2])"
    own_before, before = server(own), probe.read()
    server("burn(0.3)")
    own_after, after = server(own), probe.read()

    use = server_use(before, after)

    assert use["cpu_s"] == pytest.approx(own_after - own_before, abs=0.001)
    assert use["cpu_s"] >= 0.3
    assert use.get("cpu_user_s") is not None
    assert use.get("cpu_system_s") is not None
    assert use["cpu_user_s"] + use["cpu_system_s"] == pytest.approx(use["cpu_s"])
    assert use["cpu_user_s"] > use["cpu_s"] / 2, "it adds numbers, and asks the kernel for the time"


def test_a_window_of_nothing_has_almost_no_cpu_time(server: Server) -> None:
    probe = ServerProbe(server.pid)
    assert cpu_seconds(probe.read_cpu(), probe.read_cpu()) < 0.0001


def test_switches_agree_with_the_process_itself(server: Server) -> None:
    probe = ServerProbe(server.pid)
    own = "switches(resource.getrusage(resource.RUSAGE_SELF))"
    own_before, before = server(own), probe.read()
    server("[time.sleep(0.0001) for _ in range(200)] and None")
    own_after, after = server(own), probe.read()

    switches = server_use(before, after)["context_switches"]

    assert switches is not None
    assert switches == pytest.approx(own_after - own_before, abs=4)
    assert switches >= 200


def test_threads_count_in_cpu_time_and_those_alive_in_switches(server: Server) -> None:
    probe = ServerProbe(server.pid)
    own_before, before = server("time.process_time()"), probe.read()
    server("burn_in_threads(4, 0.05)")
    own_after, after = server("time.process_time()"), probe.read()

    use = server_use(before, after)

    assert use["cpu_s"] == pytest.approx(own_after - own_before, abs=0.001)
    assert use["cpu_s"] >= 0.2
    assert use["processes"] == 1

    before = after
    server("globals().update(slept=threading.Event())")
    server(
        "threading.Thread(target=lambda: ([time.sleep(0.001) for _ in range(50)], slept.set(),"
        " time.sleep(60)), daemon=True).start()"
    )
    server("slept.wait()")
    switches = server_use(before, probe.read())["context_switches"]
    assert switches is not None
    assert switches >= 50


def test_a_child_that_stays_counts_to_the_nanosecond(server: Server) -> None:
    probe = ServerProbe(server.pid)
    before = probe.read()
    child, stay = server("fork_waiting(lambda: burn(0.1))")

    use = server_use(before, probe.read())
    before = probe.read()
    used = server(f"tuple(reap({child}, {stay}))[:2]")
    ended = server_use(before, probe.read())

    assert (use["processes"], use["processes_started"], use["processes_ended"]) == (2, 1, 0)
    assert use["cpu_s"] == pytest.approx(sum(used), abs=0.005)
    assert (ended["processes"], ended["processes_started"], ended["processes_ended"]) == (1, 0, 1)
    assert ended["cpu_s"] <= 0.021, "its 100 ms before the window are not counted again"
    assert ended.get("context_switches") is None


def test_children_that_come_and_go_leave_their_cpu_time_and_writes(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "written"
    probe = ServerProbe(server.pid)
    before = probe.read()
    used = server(
        f"[tuple(reap(*fork_waiting(lambda: (burn(0.05), write({str(file)!r}, {MIB})))))[:2]"
        " for _ in range(3)]"
    )
    after = probe.read()

    use = server_use(before, after)

    assert use["cpu_s"] == pytest.approx(sum(map(sum, used)), abs=0.025)
    assert use.get("context_switches") is None
    assert (use["processes_started"], use["processes_ended"]) == (0, 0)
    if _is_on_disk(tmp_path):
        assert use.get("write_bytes") is not None
        assert 3 * MIB <= use["write_bytes"] <= 3 * MIB + MIB // 4


def test_a_child_too_short_for_a_tick_is_noticed(server: Server) -> None:
    probe = ServerProbe(server.pid)
    before = probe.read()
    server("reap(*fork_waiting(lambda: None)) and None")
    assert server_use(before, probe.read()).get("context_switches") is None


def test_written_bytes_are_those_written_and_reach_the_device(
    server: Server, tmp_path: Path
) -> None:
    if not _is_on_disk(tmp_path):
        pytest.skip("the temporary directory lies on no disk")
    window = Window([ServerProbe(server.pid), HostProbe(tmp_path)])
    window.open()
    server(f"write({str(tmp_path / 'written')!r}, {8 * MIB})")
    use = window.close()

    assert use.skipped == []
    assert "server" in use.uses
    assert "write_bytes" in use.uses["server"]
    assert 8 * MIB <= use.uses["server"]["write_bytes"] <= 8 * MIB + MIB // 4
    assert "host" in use.uses
    assert "write_bytes" in use.uses["host"]
    assert "writes" in use.uses["host"]
    assert use.uses["host"]["write_bytes"] >= 8 * MIB
    assert use.uses["host"]["writes"] > 0


def test_anonymous_memory_of_children_adds_up_and_shared_memory_does_not(server: Server) -> None:
    probe = ServerProbe(server.pid)
    plain = server_use(probe.read(), probe.read())["rss_bytes"]
    server("globals().update(shared=__import__('mmap').mmap(-1, 64 << 20))")
    share = f"shared.write(bytes({64 * MIB}))"
    own = f"globals().update(own=bytearray(b'x') * {16 * MIB})"
    stays = [server(f"fork_waiting(lambda: ({share}, {own}))") for _ in range(3)]

    use = server_use(probe.read(), probe.read())
    for child, stay in stays:
        server(f"reap({child}, {stay}) and None")

    assert plain is not None
    assert use.get("rss_bytes") is not None
    assert use.get("vsz_bytes") is not None
    grown = use["rss_bytes"] - plain
    assert (64 + 3 * 16) * MIB <= grown <= (64 + 3 * 16 + 48) * MIB
    assert use["vsz_bytes"] >= use["rss_bytes"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_a_process_of_another_user_is_read_like_ours() -> None:
    nobody = pwd.getpwnam("nobody")
    prefix = ("setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups")
    with Server(*prefix) as server:
        probe = ServerProbe(server.pid)
        own_before, before = server("time.process_time()"), probe.read()
        server("burn(0.1)")
        own_after, after = server("time.process_time()"), probe.read()
        use = server_use(before, after)
        assert use["cpu_s"] == pytest.approx(own_after - own_before, abs=0.001)
        assert use.get("write_bytes") is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_without_rights_only_io_is_absent(server: Server) -> None:
    probe = ServerProbe(server.pid)
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        before = probe.read()
        server("burn(0.05)")
        use = server_use(before, probe.read())
    finally:
        os.seteuid(0)
    assert use.get("write_bytes") is None
    assert use["cpu_s"] >= 0.05
    assert use.get("context_switches") is not None
    assert use.get("rss_bytes") is not None
    assert use["rss_bytes"] > 0


def test_an_ended_server_is_skipped_in_the_window() -> None:
    with Server() as server:
        window = Window([IdleServer("idle", ServerProbe(server.pid)), ServerProbe(server.pid)])
        window.open()
    use = window.close()
    assert "server" not in use.uses
    assert use.skipped == ["idle.idle", "server"]


def test_the_host_was_at_least_as_busy_as_the_server(server: Server, tmp_path: Path) -> None:
    window = Window([ServerProbe(server.pid), HostProbe(tmp_path)])
    window.open()
    server("burn(0.3)")
    use = window.close()

    assert "server" in use.uses
    assert "host" in use.uses
    assert (
        use.uses["host"]["cpu_user_s"] + use.uses["host"]["cpu_system_s"]
        >= use.uses["server"]["cpu_s"] - 0.03
    )
    assert use.uses["host"]["context_switches"] >= use.uses["server"].get("context_switches", 0)
    assert use.seconds >= 0.3


def test_a_busy_process_of_others_is_found_and_ours_is_not(tmp_path: Path) -> None:
    burn = "while True: pass"
    orphan = (
        "import subprocess, sys;"
        "print(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid)"
    )
    started = subprocess.run(
        # First in the kernel's order, where this account may: others may be busy, too.
        [sys.executable, "-c", orphan, "nice", "-n", "-19", sys.executable, "-c", burn],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    child = subprocess.Popen([sys.executable, "-c", burn])
    other = int(started.stdout)
    try:
        busy = {process.pid for process in read_machine(tmp_path, watch_s=0.5).busy}
        without = {process.pid for process in read_machine(tmp_path, ours=[other]).busy}
    finally:
        os.kill(other, signal.SIGKILL)
        child.kill()
        child.wait()
    assert other in busy
    assert child.pid not in busy
    assert other not in without


def _is_on_disk(directory: Path) -> bool:
    return find_block_device(directory) is not None
