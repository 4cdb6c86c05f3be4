"""Leftovers of a killed owner are removed; files of a live owner stay."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from slowdust.accounts import server_account
from slowdust.directories import ReplacedError
from slowdust.instances.leftovers import clean_leftovers, remove_socket_dir
from slowdust.instances.owner import (
    OwnerRecord,
    Server,
    instances_root,
    own,
    read_record,
    write_record,
)
from slowdust.instances.processes import ProcessMark, boot_id, processes_running
from slowdust.instances.rundir import RunDirectory

SLEEP = Path(shutil.which("sleep") or "/bin/sleep").resolve()


@pytest.fixture(autouse=True)
def _own_data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWDUST_DATA", str(tmp_path / "data"))


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands in for a server."""
    process = subprocess.Popen([SLEEP, "600"], cwd=tmp_path)
    yield process
    process.kill()
    process.wait()


def mark_of(process: subprocess.Popen[bytes]) -> ProcessMark:
    mark = ProcessMark.of(process.pid)
    assert mark is not None
    return mark


def abandoned(record: OwnerRecord) -> Path:
    directory = instances_root() / "killed-1"
    (directory / "contender/data").mkdir(parents=True)
    (directory / "contender/data/file").write_text("data")
    write_record(directory, record)
    os.close(own(directory))
    return directory


def test_mark_is_of_one_process_of_one_boot(sleeper: subprocess.Popen[bytes]) -> None:
    mark = mark_of(sleeper)
    assert mark.is_alive()
    assert not ProcessMark(mark.pid, mark.start_ticks + 1, mark.boot_id).is_alive()
    assert not ProcessMark(mark.pid, mark.start_ticks, "another boot").is_alive()
    sleeper.kill()
    assert sleeper.wait() == -9
    assert not mark.is_alive()
    assert ProcessMark.of(sleeper.pid) is None


def test_zombie_is_not_alive(sleeper: subprocess.Popen[bytes]) -> None:
    mark = mark_of(sleeper)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert not mark.is_alive()


def test_abandoned_run_is_cleaned_away(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    sockets = tmp_path / "slowdust-sockets"
    sockets.mkdir()
    directory = abandoned(
        OwnerRecord(servers=[Server(mark_of(sleeper), signal.SIGTERM)], socket_dirs=[str(sockets)])
    )
    (leftover,) = clean_leftovers()
    assert (leftover.directory, leftover.servers) == (directory, 1)
    assert "killed-1" in str(leftover)
    assert "1 server" in str(leftover)
    assert sleeper.wait(5) == -signal.SIGTERM
    assert not directory.exists()
    assert not sockets.exists()
    assert clean_leftovers() == []


def test_reused_process_id_is_not_killed(sleeper: subprocess.Popen[bytes]) -> None:
    earlier = ProcessMark(sleeper.pid, mark_of(sleeper).start_ticks - 1, boot_id())
    abandoned(OwnerRecord(servers=[Server(earlier, signal.SIGKILL)]))
    (leftover,) = clean_leftovers()
    assert leftover.servers == 0
    assert sleeper.poll() is None


def test_server_that_was_not_yet_written_down_is_found_by_where_it_works() -> None:
    directory = abandoned(OwnerRecord(programs=[str(SLEEP)]))
    process = subprocess.Popen([SLEEP, "600"], cwd=directory / "contender/data")
    clean_leftovers()
    assert process.wait(5) == -signal.SIGKILL
    assert not directory.exists()


def test_another_program_that_stands_there_is_left_alone() -> None:
    directory = abandoned(OwnerRecord(programs=["/nothing/bin/postgres"]))
    process = subprocess.Popen([SLEEP, "600"], cwd=directory / "contender/data")
    try:
        clean_leftovers()
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_children_of_a_program_end_with_it() -> None:
    """The servers that initdb runs are such: other programs, which write on after its end."""
    directory = abandoned(OwnerRecord())
    child = "sleep 600 & echo $!; wait"
    leader = subprocess.Popen(
        ["/bin/sh", "-c", child],
        cwd=directory / "contender/data",
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert leader.stdout is not None
    mark = ProcessMark.of(int(leader.stdout.readline()))
    write_record(directory, OwnerRecord(sessions=[leader.pid]))
    leader.kill()
    leader.wait()
    assert mark is not None and mark.is_alive()
    clean_leftovers()
    assert not mark.is_alive()
    assert not directory.exists()


def test_children_of_a_program_that_was_not_yet_written_down_end_with_it() -> None:
    shell = str(Path("/bin/sh").resolve())
    directory = abandoned(OwnerRecord(programs=[shell]))
    leader = subprocess.Popen(
        [shell, "-c", "sleep 600 & echo $!; wait"],
        cwd=directory / "contender/data",
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert leader.stdout is not None
    mark = ProcessMark.of(int(leader.stdout.readline()))
    clean_leftovers()
    assert leader.wait(5) == -signal.SIGKILL
    assert mark is not None and not mark.is_alive()


@pytest.mark.parametrize("removed", ["no file", "data", "record", "lock"])
def test_an_interrupted_removal_is_finished_by_the_next_run(
    removed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = abandoned(OwnerRecord()).rename(instances_root() / "killed-01234567")
    real: dict[str, Any] = {"rmtree": shutil.rmtree, "unlink": Path.unlink, "rmdir": Path.rmdir}
    steps = {"no file": 0, "data": 1, "record": 2, "lock": 3}[removed]

    def interrupted(name: str) -> Callable[..., None]:
        def step(*arguments: object, **options: object) -> None:
            nonlocal steps
            if steps == 0:
                raise KeyboardInterrupt
            steps -= 1
            real[name](*arguments, **options)

        return step

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "rmtree", interrupted("rmtree"))
        patch.setattr(Path, "unlink", interrupted("unlink"))
        patch.setattr(Path, "rmdir", interrupted("rmdir"))
        clean_leftovers()
    assert directory.exists()
    clean_leftovers()
    assert not directory.exists()


def test_program_elsewhere_does_not_run_here(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    running = processes_running([str(SLEEP)], tmp_path)
    assert [process.pid for process in running] == [sleeper.pid]
    (tmp_path / "other").mkdir()
    assert list(processes_running([str(SLEEP)], tmp_path / "other")) == []


def test_run_of_a_live_owner_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    with RunDirectory.open("live") as run:
        run.record_server(mark_of(sleeper), signal.SIGKILL)
        # From another process, since a lock does not keep its own holder out.
        code = "from slowdust.instances.leftovers import clean_leftovers; print(clean_leftovers())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert done.stdout == b"[]\n"
        assert clean_leftovers() == []
        assert run.path.exists()
        assert sleeper.poll() is None


def test_closed_run_leaves_nothing(sleeper: subprocess.Popen[bytes]) -> None:
    with RunDirectory.open("a name / with everything") as run:
        sockets = run.make_socket_directory(server_account())
        run.record_server(mark_of(sleeper), signal.SIGTERM)
        assert run.path.name.startswith("a_name_with_everything-")
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert len(str(sockets / ".s.PGSQL.65535")) <= 107
    assert sleeper.wait(5) == -signal.SIGTERM
    assert not run.path.exists()
    assert not sockets.exists()
    run.close()


def test_instance_names_that_become_the_same_file_name_do_not_meet() -> None:
    with RunDirectory.open("x") as run:
        first, second = (run.make_contender_directory(name) for name in ("a/b", "a:b"))
        assert first != second
        assert first.parent == second.parent == run.path


def test_servers_that_are_gone_are_forgotten(sleeper: subprocess.Popen[bytes]) -> None:
    with RunDirectory.open("x") as run:
        gone = ProcessMark(sleeper.pid, 1, boot_id())
        run.record_server(gone, signal.SIGTERM)
        run.record_server(mark_of(sleeper), signal.SIGTERM)
        assert [server.mark for server in read_record(run.path).servers] == [mark_of(sleeper)]


def test_watchdog_cleans_up_after_a_killed_owner(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    code = f"""
import os, signal
from slowdust.accounts import server_account
from slowdust.instances.processes import ProcessMark
from slowdust.instances.rundir import RunDirectory
run = RunDirectory.open("killed")
print(run.make_socket_directory(server_account()), flush=True)
run.record_server(ProcessMark.of({sleeper.pid}), signal.SIGTERM)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert sleeper.wait(30) == -signal.SIGTERM
    sockets = Path(done.stdout.strip())
    wait_until_gone(sockets)
    for path in instances_root().glob("killed-*"):
        wait_until_gone(path)


def wait_until_gone(path: Path) -> None:
    for _ in range(1000):
        if not path.exists():
            return
        subprocess.run([SLEEP, "0.01"], check=True)
    raise AssertionError(f"{path} is still there")


def test_a_foreign_socket_directory_is_kept(tmp_path: Path) -> None:
    other = tmp_path / "not-ours"
    other.mkdir()
    account = server_account()
    remove_socket_dir(other, account)
    link = tmp_path / "slowdust-link"
    link.symlink_to(other)
    with pytest.raises(ReplacedError, match=f"^{link} "):
        remove_socket_dir(link, account)
    assert other.exists()
    assert link.is_symlink()


def test_other_directories_are_kept() -> None:
    other = instances_root() / "somebody-elses"
    other.mkdir()
    assert clean_leftovers() == []
    assert other.exists()


def test_instances_may_be_made_side_by_side() -> None:
    with RunDirectory.open("x") as run, ThreadPoolExecutor() as pool:
        account = server_account()
        directories = list(pool.map(lambda _: run.make_socket_directory(account), range(20)))
        assert sorted(read_record(run.path).socket_dirs) == sorted(map(str, directories))
