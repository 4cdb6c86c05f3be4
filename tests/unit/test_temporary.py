"""Temporary folders that the next run removes after a kill, and atomic files."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name

import pytest

from slowdust.temporary import ENTERABLE, becoming, remove_abandoned, temporary_folder

_OWNER = """
import os, pathlib, signal, sys
from slowdust.temporary import temporary_folder
with temporary_folder(pathlib.Path(sys.argv[1])) as folder:
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/file").write_bytes(b"x" * 1000)
    (folder / "away").symlink_to(sys.argv[2])
    print(folder.parent, flush=True)
    sys.stdin.read()
"""


@contextmanager
def owner(parent: Path, linked: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Yield a process that has a temporary folder, and that folder."""
    command = [sys.executable, "-c", _OWNER, str(parent), str(linked)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder to which links lead."""
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "file").touch()
    return folder


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """The folder of temporary ones."""
    folder = tmp_path / "parent"
    folder.mkdir()
    return folder


def made_by_hand(parent: Path, digit: str, *names: str) -> Path:
    """Return a folder that is named like a temporary one."""
    folder = parent / f".slowdust-tmp-{digit * 16}"
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    return folder


def test_it_is_removed_at_the_end_with_all_that_is_in_it(parent: Path, precious: Path) -> None:
    with temporary_folder(parent) as folder:
        (folder / "deep/er").mkdir(parents=True)
        (folder / "away").symlink_to(precious)
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    with pytest.raises(KeyboardInterrupt), temporary_folder(parent):
        raise KeyboardInterrupt
    assert list(parent.iterdir()) == []
    assert (precious / "file").exists()


def test_other_accounts_can_enter_one_that_is_for_them(parent: Path) -> None:
    mask = os.umask(0o077)
    try:
        with temporary_folder(parent, ENTERABLE) as folder:
            modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder.parent, folder)]
    finally:
        os.umask(mask)
    assert modes == [0o755, 0o755]


def test_it_is_in_the_directory_for_temporary_files(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(parent))
    with temporary_folder() as folder:
        assert folder.is_relative_to(parent)


def test_the_next_run_removes_what_a_killed_one_leaves(parent: Path, precious: Path) -> None:
    with owner(parent, precious) as (process, left):
        with temporary_folder(parent):
            assert left.exists(), "its owner lives"
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert left.exists()
        with temporary_folder(parent):
            assert not left.exists()
    assert list(parent.iterdir()) == []
    assert (precious / "file").exists()


def test_one_that_is_half_made_or_half_removed_is_removed(parent: Path) -> None:
    made_by_hand(parent, "1")
    made_by_hand(parent, "2", "lock")
    remove_abandoned(parent)
    assert list(parent.iterdir()) == []


def test_foreign_tables_stay(parent: Path, precious: Path) -> None:
    kept = [made_by_hand(parent, "g"), made_by_hand(parent, "3", "something", "lock")]
    (parent / f".slowdust-tmp-{'4' * 16}").symlink_to(precious)
    kept.append(made_by_hand(parent, "5"))
    (kept[-1] / "lock").symlink_to(precious / "file")
    kept.append(made_by_hand(parent, "6", "file"))
    remove_abandoned(parent)
    assert all(path.is_dir() for path in kept)
    assert (parent / f".slowdust-tmp-{'4' * 16}").is_symlink()
    assert (precious / "file").exists()
    remove_abandoned(parent / "missing")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of somebody else")
def test_a_folder_of_another_user_stays(parent: Path) -> None:
    other = made_by_hand(parent, "7", "lock")
    (other / "content").mkdir()
    os.chown(other, 65534, 65534)
    remove_abandoned(parent)
    assert (other / "content").is_dir()


def test_a_new_one_that_another_process_takes_for_abandoned_is_made_again(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    flock = fcntl.flock

    def late(descriptor: int, operation: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:  # the other process has looked into it before
            remove_abandoned(parent)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with temporary_folder(parent) as folder:
        (folder / "file").touch()
        remove_abandoned(parent)
        assert (folder / "file").exists()
    assert list(parent.iterdir()) == []


def test_a_file_system_without_locks_has_temporary_folders(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_locks(descriptor: int, operation: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(fcntl, "flock", without_locks)
    with temporary_folder(parent) as folder:
        remove_abandoned(parent)
        assert folder.is_dir()
    assert list(parent.iterdir()) == []


def test_a_file_appears_whole_or_not_at_all(parent: Path) -> None:
    place = parent / "page.html"
    with becoming(place) as new:
        new.write_text("first")
        assert not place.exists()
    with pytest.raises(KeyboardInterrupt), becoming(place) as new:
        new.write_text("sec")
        raise KeyboardInterrupt
    assert place.read_text() == "first"
    assert [path.name for path in parent.iterdir()] == ["page.html"]


@pytest.mark.parametrize("name", ["shutil.rmtree", "os.unlink", "pathlib.Path.rmdir"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_signal_during_its_removal_leaves_nothing(
    parent: Path, monkeypatch: pytest.MonkeyPatch, name: str, moment: str
) -> None:
    remove = resolve_name(name)
    signals = iter([KeyboardInterrupt])

    def interrupted(*arguments: object, **keywords: object) -> None:
        if moment == "after":
            remove(*arguments, **keywords)
        for each in signals:
            raise each
        if moment == "before":
            remove(*arguments, **keywords)

    with pytest.raises(KeyboardInterrupt), temporary_folder(parent) as folder:
        (folder / "file").touch()
        monkeypatch.setattr(name, interrupted)
    assert list(parent.iterdir()) == []
