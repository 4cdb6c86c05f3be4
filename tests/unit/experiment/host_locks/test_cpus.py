"""Lists of CPUs, usable CPUs, and pinning."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from slowdust.experiment.cpus import check_cpus, format_cpus, parse_cpus, running_on, usable_cpus


@pytest.mark.parametrize(
    ("text", "cpus"), [("2", [2]), ("3,2", [2, 3]), ("0-3, 8", [0, 1, 2, 3, 8]), ("1,1-2", [1, 2])]
)
def test_lists_are_read_as_linux_writes_them(text: str, cpus: list[int]) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-2", "1,,2", "123456"])
def test_malformed_lists_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CPUs"):
        parse_cpus(text)


def test_lists_are_written_as_short_as_can_be() -> None:
    assert format_cpus([8, 0, 1, 2, 5]) == "0-2,5,8"
    assert format_cpus([]) == ""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Files of a host with CPUs up to 8000; 7000 and beyond are offline."""
    (tmp_path / "present").write_text("0-8000\n")
    (tmp_path / "online").write_text("0-6999\n")
    return tmp_path


@pytest.mark.parametrize("cpu", [9000, 7000, 6999], ids=["absent", "offline", "not-allowed"])
def test_cpu_that_cannot_be_used_is_refused_with_the_reason(
    host: Path, cpu: int, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        check_cpus([usable_cpus()[0], cpu], sys=host)
    assert str(error.value) == snapshot
    check_cpus(usable_cpus(), sys=host)


def test_children_and_threads_keep_to_the_cpus_and_go_back() -> None:
    before = os.sched_getaffinity(0)
    cpu = max(before)
    ready, done = threading.Event(), threading.Event()

    def wait() -> None:
        ready.set()
        done.wait()

    other = threading.Thread(target=wait)
    other.start()
    ready.wait()
    assert other.native_id is not None
    try:
        with running_on([cpu]):
            program = "import os; print(os.sched_getaffinity(0))"
            child = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, check=True
            )
            assert child.stdout.strip() == str({cpu})
            assert os.sched_getaffinity(other.native_id) == {cpu}
        assert os.sched_getaffinity(0) == before
        assert os.sched_getaffinity(other.native_id) == before
    finally:
        done.set()
        other.join()
