"""Servers never run as root."""

from __future__ import annotations

import os
import pwd
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.accounts import server_account
from slowdust.errors import UsageError
from slowdust.instances.processes import ProcessMark
from slowdust.places import cache_root, data_root, make_enterable
from tests.waiting import wait_until

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
as_user = pytest.mark.skipif(os.geteuid() == 0, reason="needs an unprivileged user")


@as_root
def test_for_root_an_unprivileged_user_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLOWDUST_USER", raising=False)
    account = server_account()
    assert account.name in {"postgres", "nobody"}
    assert account.identity() == {"user": account.uid, "group": account.gid, "extra_groups": []}
    assert account.uid != 0


@as_root
def test_root_may_name_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWDUST_USER", "nobody")
    assert server_account().uid == pwd.getpwnam("nobody").pw_uid


@as_root
@pytest.mark.parametrize("name", ["no-such-user", "root"])
def test_user_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, name: str, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("SLOWDUST_USER", name)
    with pytest.raises(UsageError) as error:
        server_account()
    assert str(error.value) == snapshot


@as_root
def test_users_that_can_enter_a_directory() -> None:
    with tempfile.TemporaryDirectory(prefix="slowdust-test-") as name:
        folder = Path(name)
        assert not server_account().can_enter(folder)
        folder.chmod(stat.S_IRWXU | stat.S_IXOTH)
        assert server_account().can_enter(folder)


@as_root
def test_temporary_files_for_servers_are_not_in_a_closed_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert server_account().temporary_root() in {Path("/tmp"), Path("/var/tmp")}


@as_user
def test_a_user_runs_servers_as_oneself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLOWDUST_USER", raising=False)
    account = server_account()
    assert account.uid == os.geteuid()
    assert account.identity() == {}
    monkeypatch.setenv("SLOWDUST_USER", "root")
    with pytest.raises(UsageError, match="root"):
        server_account()


def test_places_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLOWDUST_CACHE", str(tmp_path / "c"))
    monkeypatch.setenv("SLOWDUST_DATA", str(tmp_path / "d"))
    assert (cache_root(), data_root()) == (tmp_path / "c", tmp_path / "d")


def test_places_are_not_in_the_home_of_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLOWDUST_CACHE", raising=False)
    monkeypatch.delenv("SLOWDUST_DATA", raising=False)
    expected = Path("/var") if os.geteuid() == 0 else Path.home()
    assert cache_root().is_relative_to(expected)
    assert data_root().is_relative_to(expected)


def test_new_directories_can_be_entered_and_old_ones_keep_their_mode(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    old = os.umask(0o077)
    try:
        make_enterable(closed / "a/b", "SLOWDUST_DATA")
    finally:
        os.umask(old)
    modes = [path.stat().st_mode & 0o777 for path in (closed, closed / "a", closed / "a/b")]
    assert modes == [0o700, 0o755, 0o755]
    make_enterable(closed / "a/b", "SLOWDUST_DATA")


def test_a_program_ends_with_its_parent(open_dir: Path) -> None:
    """A server may hang when it is asked for its settings."""
    open_dir.chmod(0o777)
    told = open_dir / "pid"
    code = (
        "import sys; from slowdust.accounts import server_account;"
        "server_account().run(['/bin/sh', '-c', f'echo $$ > {sys.argv[1]}; exec sleep 600'])"
    )
    owner = subprocess.Popen([sys.executable, "-c", code, str(told)])
    wait_until(lambda: told.exists() and told.read_text().endswith("\n"))
    mark = ProcessMark.of(int(told.read_text()))
    assert mark is not None and mark.is_alive()
    owner.kill()
    owner.wait()
    try:
        wait_until(lambda: not mark.is_alive())
    finally:
        if mark.is_alive():
            os.kill(mark.pid, signal.SIGKILL)


@as_root
def test_a_link_that_the_account_puts_in_place_of_its_directory_gets_no_new_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The account owns the directory around it, and wins each race."""
    secret = tmp_path / "only-root"
    secret.mkdir(mode=0o700)
    made = Path.mkdir

    def then_replaced(path: Path, mode: int = 0o777) -> None:
        made(path, mode)
        path.rmdir()
        path.symlink_to(secret)

    monkeypatch.setattr(Path, "mkdir", then_replaced)
    with pytest.raises(NotADirectoryError):
        server_account().make_directory(tmp_path / "own")
    assert (secret.stat().st_uid, stat.S_IMODE(secret.stat().st_mode)) == (0, 0o700)


@as_root
@pytest.mark.parametrize("kind", ["link", "dangling link", "file"])
def test_a_file_for_the_account_replaces_nothing(tmp_path: Path, kind: str) -> None:
    secret, place = tmp_path / "only-root", tmp_path / "user.sql"
    if kind != "dangling link":
        secret.write_text("secret")
        secret.chmod(0o600)
    if kind == "file":
        place = secret
    else:
        place.symlink_to(secret)
    with pytest.raises(FileExistsError):
        server_account().make_file(place, b"theirs")
    if kind == "dangling link":
        assert not secret.exists()
    else:
        assert (secret.read_text(), secret.stat().st_uid) == ("secret", 0)


@as_root
def test_only_the_account_can_read_its_file(tmp_path: Path) -> None:
    account = server_account()
    account.make_file(tmp_path / "password", b"secret")
    status = (tmp_path / "password").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (
        account.uid,
        account.gid,
        0o600,
    )
