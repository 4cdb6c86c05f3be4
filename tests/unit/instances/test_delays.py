"""The delay library, in a process that sends to itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowdust.accounts import server_account
from slowdust.dbms.environment import preloading
from slowdust.errors import SlowdustError
from slowdust.instances import preloads
from slowdust.instances.preloads import DelayFile, delay_library
from slowdust.probes.probe import attempt
from slowdust.probes.server.delay import DelayProbe

DELAY_NS = 2_000_000
SENDER = """
import os, socket
ours, theirs = socket.socketpair()
for _ in range(5):
    theirs.send(b"reply")
os.write(theirs.fileno(), b"reply")
theirs.sendmsg([b"re", b"ply"])
os.writev(theirs.fileno(), [b"re", b"ply"])
datagrams, others = socket.socketpair(type=socket.SOCK_DGRAM)
others.send(b"statistics")
pipe, end = os.pipe()
os.write(end, b"log")
print(len(ours.recv(100)), len(datagrams.recv(100)), len(os.read(pipe, 100)))
"""
SENDS = 8


@pytest.fixture
def file(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> DelayFile:
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    return DelayFile(delay_library(), open_dir / "delay", server_account())


def send(file: DelayFile) -> str:
    variables = file.variables({})
    command = [sys.executable, "-c", SENDER]
    environment = {**os.environ, **variables}
    return subprocess.check_output(command, env=environment, text=True)


def test_each_send_to_a_client_waits_and_is_counted(file: DelayFile) -> None:
    assert file.attached == 0
    file.set(DELAY_NS)
    probe = DelayProbe(file.totals)
    before = probe.read()
    assert send(file) == "40 10 3\n"
    assert file.attached == 1
    use = probe.use(before, probe.read())
    assert use["sends"] == SENDS
    assert use["delay_us"] == DELAY_NS / 1000
    assert use["waited_s"] >= SENDS * DELAY_NS / 1e9


def test_without_a_delay_sends_are_counted_all_the_same(file: DelayFile) -> None:
    send(file)
    send(file)
    assert file.attached == 2
    totals = file.totals()
    assert (totals.delay_ns, totals.sends) == (0, 2 * SENDS)
    assert totals.waited_ns > 0


def test_a_file_that_the_server_made_shorter_cannot_be_read(
    file: DelayFile, open_dir: Path
) -> None:
    os.truncate(open_dir / "delay", 8)
    with pytest.raises(OSError, match="truncated"):
        file.totals()
    assert attempt(DelayProbe(file.totals)) is None


def test_the_library_is_compiled_once(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    library = delay_library()
    made = library.stat().st_mtime_ns
    assert delay_library() == library
    assert library.stat().st_mtime_ns == made


def test_a_missing_compiler_is_reported_with_its_package(
    open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    monkeypatch.setattr(preloads, "COMPILER", ("no-such-compiler",))
    with pytest.raises(SlowdustError, match="sudo apt install gcc libc6-dev"):
        delay_library()


def test_a_failing_compiler_is_quoted(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    monkeypatch.setattr(preloads, "COMPILER", ("cc", "-no-such-option"))
    with pytest.raises(SlowdustError, match="no-such-option"):
        delay_library()
    assert not list((open_dir / "cache").rglob("*.so"))


def test_a_library_is_preloaded_before_the_allocator() -> None:
    # The C library may be preloaded as an allocator, and has functions of the same names.
    library = Path("/cache/delay.so")
    assert preloading({"A": "1"}, library) == {"A": "1", "LD_PRELOAD": "/cache/delay.so"}
    assert preloading({"LD_PRELOAD": "/malloc.so"}, library) == {
        "LD_PRELOAD": "/cache/delay.so:/malloc.so"
    }
