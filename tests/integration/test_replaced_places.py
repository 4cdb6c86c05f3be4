"""An account that replaces its own directories by links to directories of others."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowdust.accounts import Account, server_account
from slowdust.dbms import family
from slowdust.directories import ReplacedError
from slowdust.instances.instance import Instance
from slowdust.instances.rundir import RunDirectory
from tests.integration.conftest import GetBuildOf
from tests.integration.owner_process import KILL_WATCHDOG
from tests.integration.servers import small_instance

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

REPLACE = 'mv -T "$1" "$1-moved" && ln -s "$2" "$1"'
PIPE = 'rm -f "$1" && mkfifo "$1"'


@pytest.fixture
def victim(open_dir: Path) -> Iterator[Path]:
    """A directory with a socket of another user of the machine."""
    victim = open_dir / "victim"
    victim.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(victim / "socket"))
        yield victim
        assert (victim / "socket").is_socket()


def act_as(account: Account, script: str, *arguments: Path) -> bool:
    """Run a shell's script as the account; return whether it could do all of it."""
    done = account.run(["/bin/sh", "-c", script, "sh", *map(str, arguments)])
    return done.returncode == 0


def test_no_socket_is_deleted_through_a_link(
    builds: GetBuildOf, data_root: Path, victim: Path
) -> None:
    run = RunDirectory.open("test")
    instance = small_instance(run, builds("sqlite", "3.51.3"))
    sockets = instance.socket_dir
    instance.start()
    instance.stop()
    assert act_as(instance.account, REPLACE, sockets, victim)
    try:
        with pytest.raises(ReplacedError, match=f"^{sockets} "):
            instance.start()
        assert not instance.alive()
        with pytest.raises(ReplacedError, match=f"^{sockets} "):
            run.close()
        assert sockets.is_symlink()
        assert not run.path.exists()
    finally:
        sockets.unlink()
        shutil.rmtree(sockets.with_name(f"{sockets.name}-moved"))


def test_no_socket_is_deleted_when_a_killed_run_is_cleared_up(
    data_root: Path, victim: Path
) -> None:
    code = f"""{KILL_WATCHDOG}
import os, signal
from slowdust.accounts import server_account
from slowdust.instances.rundir import RunDirectory
run = RunDirectory.open("killed")
kill_watchdog()
print(run.make_socket_directory(server_account()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    sockets = Path(done.stdout.strip())
    assert act_as(server_account(), REPLACE, sockets, victim)
    code = "from slowdust.instances.leftovers import clean_leftovers; print(*clean_leftovers())"
    try:
        for told in (f"; {sockets} ", ""):
            said = subprocess.check_output([sys.executable, "-c", code], text=True)
            assert told in said
        assert sockets.is_symlink()
    finally:
        sockets.unlink()
        shutil.rmtree(sockets.with_name(f"{sockets.name}-moved"))


@pytest.fixture
def instance(builds: GetBuildOf, run_directory: RunDirectory) -> Instance:
    """A SQLite that has run."""
    instance = small_instance(run_directory, builds("sqlite", "3.51.3"))
    instance.start()
    instance.stop()
    return instance


def test_no_pipe_is_waited_for_in_a_data_directory(instance: Instance) -> None:
    assert act_as(instance.account, PIPE, instance.data_dir / "ready")
    with pytest.raises(ReplacedError, match=r"ready .*regular file"):
        family("sqlite").is_ready(instance.site, 1)


def test_files_in_a_directory_of_root_cannot_be_replaced(instance: Instance, victim: Path) -> None:
    for place in (instance.data_dir, instance.log_path.parent, instance.directory):
        assert not act_as(instance.account, REPLACE, place, victim)
