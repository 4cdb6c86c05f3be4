"""Locks of the host, between processes and users."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from slowdust.errors import SlowdustError
from slowdust.experiment import host_locks as locks
from slowdust.experiment.host_locks import Holder, LockedError, held
from slowdust.places import host_locks_directory
from tests.unit.experiment.host_locks.holding import another_process_holds

MINE = Holder.here("mine")


def holders_of(*names: str) -> dict[str, Holder | None]:
    """Return who holds the locks; nothing where all could be taken."""
    try:
        with held(names, MINE):
            return {}
    except LockedError as locked:
        return locked.holders


def test_lock_of_another_process_is_refused_and_names_it(claims: Path) -> None:
    with another_process_holds(claims, "cpu-0", "cpu-1") as other:
        holders = holders_of("cpu-1", "cpu-2")
        assert list(holders) == ["cpu-1"]
        holder = holders["cpu-1"]
        assert holder is not None
        assert (holder.experiment, holder.pid) == ("theirs", other.pid)
        assert str(holder).startswith(f"theirs (process {other.pid} of ")
        assert "container" not in str(holder)
        assert holders_of("cpu-2") == {}, "what was asked for in vain is not kept"


def test_all_locks_are_taken_or_none(claims: Path) -> None:
    with another_process_holds(claims, "cpu-1"):
        assert list(holders_of("cpu-0", "cpu-1", "disk-vda")) == ["cpu-1"]
        assert holders_of("cpu-0", "disk-vda") == {}


def test_a_lock_of_all_that_is_never_free_is_an_error(
    claims: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "LONGEST_TURN", 0.1)
    holders_of("cpu-0")
    with (claims / "slowdust-all.lock").open("r+") as everything:
        fcntl.flock(everything, fcntl.LOCK_EX)
        with pytest.raises(SlowdustError, match=r"slowdust-all\.lock"):
            holders_of("cpu-0")
        ending = threading.Timer(0.05, fcntl.flock, (everything, fcntl.LOCK_UN))
        monkeypatch.setattr(locks, "LONGEST_TURN", 10.0)
        ending.start()
        assert holders_of("cpu-0") == {}, "who comes later waits"
        ending.join()


def test_lock_ends_with_its_holder(claims: Path) -> None:
    with another_process_holds(claims, "cpu-0") as other:
        assert holders_of("cpu-0")
        other.kill()
        other.wait()
        assert holders_of("cpu-0") == {}


def test_lock_lasts_as_long_as_a_process_that_inherited_it() -> None:
    with held(["cpu-0"], MINE) as files:
        heir = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=files
        )
    with heir:
        assert list(holders_of("cpu-0")) == ["cpu-0"]
        heir.kill()
    assert holders_of("cpu-0") == {}


def test_files_are_readable_under_any_umask(claims: Path) -> None:
    umask = os.umask(0o077)
    try:
        assert holders_of("cpu-0") == {}
    finally:
        os.umask(umask)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in claims.iterdir()}
    assert modes == {"slowdust-all.lock": 0o666, "slowdust-cpu-0.lock": 0o666}


def test_link_in_place_of_a_lock_is_refused(claims: Path, tmp_path: Path) -> None:
    claims.mkdir()
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (claims / "slowdust-cpu-0.lock").symlink_to(victim)
    with pytest.raises(SlowdustError, match=r"cannot use .*cpu-0\.lock"):
        holders_of("cpu-0")
    assert victim.read_text() == "untouched"


def test_pipe_in_place_of_a_lock_is_refused(claims: Path) -> None:
    claims.mkdir()
    os.mkfifo(claims / "slowdust-all.lock")
    with pytest.raises(SlowdustError, match="regular file"):
        holders_of("cpu-0")


def test_file_with_a_second_name_is_refused(claims: Path) -> None:
    claims.mkdir()
    precious = claims / "precious"
    precious.write_text("kept")
    os.link(precious, claims / "slowdust-cpu-0.lock")
    with pytest.raises(SlowdustError, match="regular file"):
        holders_of("cpu-0")
    assert precious.read_text() == "kept"


def test_a_holder_is_unknown_if_its_text_is_damaged_or_steers_the_terminal(claims: Path) -> None:
    with another_process_holds(claims, "cpu-0"):
        file = claims / "slowdust-cpu-0.lock"
        steering = file.read_text().replace("theirs", r"\u001b[2J")
        for content in ("", "{", '{"experiment": 1}', "\x00" * 9000, steering):
            file.write_text(content)
            assert holders_of("cpu-0") == {"cpu-0": None}, content


def test_holder_in_another_container_is_reported_as_such() -> None:
    there = Holder(experiment="x", pid=7, pid_namespace=1, user="root", since=0.0)
    assert "7 of root" in str(there)
    assert "container" in str(there)


def test_directory_is_one_that_all_users_can_write_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLOWDUST_CLAIMS")
    assert host_locks_directory().stat().st_mode & 0o1777 == 0o1777


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_can_take_the_lock_of_root_and_names_itself(open_dir: Path) -> None:
    shared = open_dir / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    with pytest.MonkeyPatch.context() as context:
        context.setenv("SLOWDUST_CLAIMS", str(shared))
        assert holders_of("cpu-0") == {}, "root made the files"
        program = (
            "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "from slowdust.experiment.host_locks import Holder, held\n"
            "with held(['cpu-0'], Holder.here('theirs')): print('held', flush=True); input()\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", f"import slowdust.experiment.host_locks\n{program}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as nobody:
            assert nobody.stdout is not None
            assert nobody.stdout.readline() == "held\n"
            holder = holders_of("cpu-0")["cpu-0"]
            assert holder is not None
            assert holder.user != MINE.user
            nobody.kill()
