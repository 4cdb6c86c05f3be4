"""The library that times fsync, in a process that calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowdust.accounts import server_account
from slowdust.dbms.environment import SYNC_DELAY, parse_environment
from slowdust.errors import UsageError
from slowdust.instances.preloads import SyncFile, sync_library

DELAY_US = 20_000
SYNCS = """
import os, sys, tempfile
with tempfile.TemporaryFile() as file:
    file.write(b"x" * 8192)
    file.flush()
    os.fsync(file.fileno())
    os.fdatasync(file.fileno())
    if os.fork() == 0:
        os.fdatasync(file.fileno())
        os._exit(0)
    os.wait()
try:
    os.fsync(999)
except OSError as error:
    print(error.errno)
"""


@pytest.fixture
def file(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> SyncFile:
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    return SyncFile(sync_library(), open_dir / "syncs", server_account())


def wait_for_disk(file: SyncFile, **variables: str) -> str:
    environment = {**os.environ, **file.variables(variables)}
    return subprocess.check_output([sys.executable, "-c", SYNCS], env=environment, text=True)


def test_calls_of_all_processes_are_counted_and_timed(file: SyncFile) -> None:
    assert file.attached == 0
    assert wait_for_disk(file) == "9\n", "the number of an error stays as it is"
    assert file.attached == 1
    totals = file.totals()
    assert {call: total.calls for call, total in totals.items()} == {
        "fsync": 2,
        "fdatasync": 2,
        "sync_file_range": 0,
    }
    assert totals["fdatasync"].us > 0


def test_each_call_that_succeeds_takes_longer_by_the_delay(file: SyncFile) -> None:
    wait_for_disk(file)
    before = file.totals()
    wait_for_disk(file, **{SYNC_DELAY: str(DELAY_US)})
    after = file.totals()
    longer = {call: after[call].us - before[call].us for call in after}
    assert longer["fdatasync"] >= 2 * DELAY_US
    assert longer["fsync"] >= DELAY_US, "the call that failed is not made longer"


def test_a_file_that_has_become_shorter_cannot_be_read(file: SyncFile, open_dir: Path) -> None:
    os.truncate(open_dir / "syncs", 8)
    with pytest.raises(OSError, match="truncated"):
        file.totals()


@pytest.mark.parametrize("delay", ["2ms", "-1", "0.5", "²"])
def test_a_delay_is_a_whole_number(delay: str) -> None:
    assert parse_environment([f"{SYNC_DELAY}=2000"]).variables == {SYNC_DELAY: "2000"}
    with pytest.raises(UsageError, match="write microseconds"):
        parse_environment([f"{SYNC_DELAY}={delay}"])
