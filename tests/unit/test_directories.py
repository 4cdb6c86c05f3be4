"""Root works in directories whose owner replaces files, links and directories."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slowdust.accounts import Account, server_account
from slowdust.directories import (
    AccountDirectory,
    ReplacedError,
    connected,
    file_below,
    files_below,
    remove_directory,
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def account() -> Account:
    return server_account()


@pytest.fixture
def place(open_dir: Path, account: Account) -> Path:
    """A directory of the account."""
    place = open_dir / "place"
    account.make_directory(place)
    return place


@pytest.fixture
def secret(open_dir: Path) -> Path:
    """A folder of this user with a file in it."""
    folder = open_dir / "secret"
    folder.mkdir(mode=0o700)
    (folder / "file").write_text("secret")
    return folder


@pytest.fixture
def listener(open_dir: Path) -> Iterator[socket.socket]:
    """A socket on which this user listens."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(open_dir / "listener"))
        listener.listen()
        yield listener


def give(path: Path, account: Account) -> None:
    os.chown(path, account.uid, account.gid, follow_symlinks=False)


def test_a_link_in_the_place_of_a_directory_is_not_opened(
    open_dir: Path, secret: Path, account: Account
) -> None:
    link = open_dir / "link"
    link.symlink_to(secret)
    give(link, account)
    with (
        pytest.raises(ReplacedError, match=f"^{link} "),
        AccountDirectory.opened(link, account),
    ):
        pass
    with pytest.raises(ReplacedError, match=f"^{link} "):
        remove_directory(link, account)
    assert (secret / "file").exists()


@as_root
def test_a_foreign_directory_is_not_opened(secret: Path, account: Account) -> None:
    with (
        pytest.raises(ReplacedError, match=f"directory of the user {account.name}"),
        AccountDirectory.opened(secret, account),
    ):
        pass


def link_to_a_file(path: Path, secret: Path) -> None:
    path.symlink_to(secret / "file")


def pipe_without_a_writer(path: Path, _: Path) -> None:
    os.mkfifo(path)


def directory(path: Path, _: Path) -> None:
    path.mkdir()


def second_name_of_a_file(path: Path, secret: Path) -> None:
    path.hardlink_to(secret / "file")


@as_root
@pytest.mark.parametrize(
    "put", [link_to_a_file, pipe_without_a_writer, directory, second_name_of_a_file]
)
def test_only_regular_files_of_the_account_are_read(
    place: Path, secret: Path, account: Account, put: Callable[[Path, Path], None]
) -> None:
    put(place / "postmaster.pid", secret)
    with (
        AccountDirectory.opened(place, account) as opened,
        pytest.raises(ReplacedError, match=r"postmaster\.pid .*regular file"),
    ):
        opened.read("postmaster.pid", 100)


def test_a_file_of_the_account_is_read_to_a_limit(place: Path, account: Account) -> None:
    account.make_file(place / "counts", b"0123456789")
    with AccountDirectory.opened(place, account) as opened:
        assert opened.read("counts", 4) == b"0123"
        with pytest.raises(FileNotFoundError):
            opened.read("gone", 4)


def test_deletion_does_not_follow_links(place: Path, secret: Path, account: Account) -> None:
    (place / "folder").mkdir()
    (place / "folder" / "to-secret").symlink_to(secret)
    (place / "to-secret").symlink_to(secret)
    (place / "to-file").symlink_to(secret / "file")
    with AccountDirectory.opened(place, account) as opened:
        opened.unlink("to-file")
        opened.unlink("gone")
        with pytest.raises(ReplacedError, match="folder is no longer a file"):
            opened.unlink("folder")
        assert opened.names() == ["folder", "to-secret"]
    remove_directory(place, account)
    remove_directory(place, account)
    assert not place.exists()
    assert (secret / "file").read_text() == "secret"


@as_root
def test_an_unfinished_directory_is_removed_and_a_full_one_of_root_is_not(
    open_dir: Path, secret: Path, account: Account
) -> None:
    (open_dir / "new").mkdir()  # not yet given to the account when its maker was killed
    remove_directory(open_dir / "new", account)
    assert not (open_dir / "new").exists()
    with pytest.raises(Exception, match=f"cannot delete {secret}: Directory not empty"):
        remove_directory(secret, account)
    assert (secret / "file").exists()


@as_root
def test_links_on_the_way_to_a_file_are_refused(
    place: Path, secret: Path, account: Account
) -> None:
    account.make_directory(place / "base")
    account.make_file(place / "base" / "1", b"page")
    assert files_below(place, "base/*") == [place / "base" / "1"]
    with file_below(place, place / "base" / "1", account) as file:
        assert os.pread(file, 9, 0) == b"page"
    (place / "base").rename(place / "other")
    (place / "base").symlink_to(secret)
    assert files_below(place, "base/*") == []
    assert files_below(place / "gone", "base/*") == []
    assert files_below(place, "*/1") == [place / "other" / "1"]
    assert files_below(place / "other", "*/1") == [], "as deep as the pattern, from there"
    assert files_below(place, "**/1") == [place / "other" / "1"]
    with (
        pytest.raises(ReplacedError, match="base "),
        file_below(place, place / "base" / "file", account),
    ):
        pass


@as_root
def test_a_foreign_socket_is_not_the_servers(
    place: Path, open_dir: Path, listener: socket.socket, account: Account
) -> None:
    (place / "mysql.sock").symlink_to(open_dir / "listener")
    with (
        pytest.raises(ConnectionRefusedError, match="another account listens"),
        connected(place / "mysql.sock", account, 5.0),
    ):
        pass


@as_root
def test_a_foreign_directory_is_not_given_to_the_account(open_dir: Path, account: Account) -> None:
    others = open_dir / "others"
    others.mkdir()
    os.chown(others, account.uid + 1, account.gid)
    with pytest.raises(OSError, match=str(others)):
        account.make_owner_of(others)
    assert others.stat().st_uid == account.uid + 1
