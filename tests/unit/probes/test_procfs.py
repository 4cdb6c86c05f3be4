from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowdust.probes.server.process import ServerProbe
from slowdust.probes.server.procfs import ThreadFiles, number_after, read_bytes, read_text


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_file_longer_than_a_chunk_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "long"
    file.write_bytes(bytes(range(256)) * 1000)
    assert read_bytes(str(file)) == file.read_bytes()


def test_an_unreadable_text_is_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(" [none] mq-deadline\n")
    assert read_text(str(tmp_path / "text")) == "[none] mq-deadline"
    assert read_text(str(tmp_path / "missing")) is None


def test_the_number_after_a_label_loses_its_unit() -> None:
    assert number_after(b"VmSize:\t  12 kB\nctxt 7", b"VmSize:") == 12
    assert number_after(b"VmSize:\t  12 kB\nctxt 7", b"\nctxt ") == 7
    assert number_after(b"VmSize:\t  12 kB\n", b"VmData:") is None
    with pytest.raises(ValueError, match="invalid literal"):
        number_after(b"VmSize:\tmany\n", b"VmSize:")


def test_a_kept_file_is_read_again_each_time() -> None:
    files = ThreadFiles()
    first = files.read(os.getpid(), "schedstat")
    for _ in range(1000):
        sum(range(1000))
    assert files.read(os.getpid(), "schedstat") != first


def test_the_files_of_a_thread_are_not_those_of_its_process() -> None:
    files = ThreadFiles()
    assert files.read(os.getpid(), "children", os.getpid()) is not None
    with pytest.raises(FileNotFoundError):
        files.read(os.getpid(), "children")


def test_an_ended_process_cannot_be_read(sleeper: subprocess.Popen[bytes]) -> None:
    files = ThreadFiles()
    assert files.read(sleeper.pid, "stat").startswith(str(sleeper.pid).encode())
    sleeper.kill()
    sleeper.wait()
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            files.read(sleeper.pid, "stat")


def test_descriptors_go_with_the_process_and_with_the_probe(
    sleeper: subprocess.Popen[bytes],
) -> None:
    at_first = open_descriptors()
    files = ThreadFiles()
    for name in ("stat", "status", "stat"):
        files.read(sleeper.pid, name)
        files.read(os.getpid(), name)
    assert open_descriptors() == at_first + 4
    files.retain({os.getpid()})
    assert open_descriptors() == at_first + 2
    del files
    assert open_descriptors() == at_first


def test_beyond_half_of_the_descriptors_files_are_opened_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ThreadFiles, "kept_by_all", 1 << 30)
    at_first = open_descriptors()
    assert ThreadFiles().read(os.getpid(), "stat")
    assert open_descriptors() == at_first


def test_a_closed_probe_of_a_server_keeps_no_descriptors(sleeper: subprocess.Popen[bytes]) -> None:
    before = open_descriptors()
    probe = ServerProbe(sleeper.pid)
    probe.read()
    assert open_descriptors() > before
    probe.close()
    assert open_descriptors() == before


def test_a_dropped_probe_keeps_no_descriptors(
    sleeper: subprocess.Popen[bytes],
) -> None:
    """Without the garbage collector, which does not run while slices are measured."""
    gc.disable()
    try:
        before = open_descriptors()
        ServerProbe(sleeper.pid).read()
        assert open_descriptors() == before
    finally:
        gc.enable()
