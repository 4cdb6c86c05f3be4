"""The order of slices and disk reads, and the page cache of the files."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slowdust.accounts import Account
from slowdust.benchmarks.io import IO
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Failed, Fetch, Fetched
from slowdust.experiment.engine.cold_cache import ColdCache
from slowdust.experiment.plan import PlannedStep
from slowdust.store.measured import Measured
from slowdust.store.slice import Place, Slice

ME = Account("me", os.getuid(), os.getgid())


class PretendedDisk:
    """Takes the place of a driver: notes each fetch, or refuses it."""

    def __init__(self, events: list[str], *, refuses: bool = False) -> None:
        self.events = events
        self.refuses = refuses
        self.commands: list[Fetch] = []
        self.names: list[str] = []

    def fetch(self, command: Fetch) -> Fetched:
        self.events.append("disk")
        self.commands.append(command)
        self.names.append(Path(command.file).readlink().name)
        if self.refuses:
            raise TargetError(Failed(kind="connection", message="Invalid argument"))
        return Fetched(id=1, reads=500, seconds=command.seconds)


class Setting:
    """A step on one contender with two files, and what happened in it."""

    def __init__(self, folder: Path, test: str, *, refuses: bool = False) -> None:
        self.folder = folder
        self.events: list[str] = []
        self.warnings: list[str] = []
        self.disk = PretendedDisk(self.events, refuses=refuses)
        for name, size in (("small", 10), ("table", 3 << 20), ("index", 2 << 20)):
            (folder / name).write_bytes(bytes(size))
        family = SimpleNamespace(data_files=lambda _: [*folder.iterdir(), folder / "gone"])
        self.contender: Any = self.contender_of("a", family)
        self.other: Any = self.contender_of("b", family)
        contenders = SimpleNamespace(
            driver=self.disk,
            warn=self.warnings.append,
            running=lambda: [self.contender, self.other],
        )
        self.test = IO.test(test)
        assert self.test is not None
        self.cold = ColdCache(cast("Contenders", contenders), PlannedStep(self.test, 4))

    def contender_of(self, name: str, family: SimpleNamespace) -> SimpleNamespace:
        server = SimpleNamespace(
            site=None,
            freeze=lambda: self.events.append(f"{name} stands still"),
            thaw=lambda: self.events.append(f"{name} goes on"),
        )
        instance = SimpleNamespace(data_dir=self.folder, account=ME)
        return SimpleNamespace(
            name=name,
            page_bytes=8192,
            family=family,
            server=server,
            instance=instance,
            failed=None,
        )

    def slice(self, half: int) -> Slice:
        record = Slice(
            place=Place(benchmark="io", test="t", clients=4, contender="a"),
            qps=100.0,
            measured=Measured(uses={"server": {"read_bytes": 81920}}),
        )
        contender = cast("RunningContender", self.contender)
        with self.cold.next_to_disk(contender, 0.1, half, [record]):
            self.events.append("server")
        return record


def test_the_disk_comes_after_the_first_slice_and_before_the_second(tmp_path: Path) -> None:
    setting = Setting(tmp_path, "page-read-peak")
    records = [setting.slice(half) for half in (0, 1)]
    assert setting.events == ["server", "disk", "disk", "server"]
    for record in records:
        assert record.measured.uses["disk"] == {"reads": 500, "seconds": 0.1}
        assert record.measured.uses["storage"] == {"pages_read": 10.0, "rows_read": 81920 / 1926}


def test_as_many_threads_as_clients_read_other_places_of_the_largest_file(tmp_path: Path) -> None:
    setting = Setting(tmp_path, "page-read-peak")
    setting.slice(0)
    setting.slice(1)
    first, second = setting.disk.commands
    assert setting.disk.names == ["table", "table"]
    assert (first.threads, first.page_bytes) == (4, 8192)
    assert first.seed != second.seed


def test_a_disk_that_cannot_be_read_directly_is_absent_with_the_reason(tmp_path: Path) -> None:
    setting = Setting(tmp_path, "page-read-peak", refuses=True)
    for half in (0, 1, 0):
        record = setting.slice(half)
        assert "disk" not in record.measured.uses
        assert "storage" in record.measured.uses
    [warning] = setting.warnings
    assert warning.startswith("a: ")
    assert warning.endswith("Invalid argument")


def test_files_that_writes_make_are_dropped_from_the_next_slice_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting(tmp_path, "update-beyond-pool")
    dropped: list[int] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda file, *_: dropped.append(os.fstat(file).st_ino))
    setting.slice(0)
    new = tmp_path / "new"
    new.write_bytes(bytes(2 << 20))
    dropped.clear()
    setting.slice(1)
    assert sorted(dropped) == sorted(
        (tmp_path / n).stat().st_ino for n in ("table", "index", "new")
    )


@pytest.mark.parametrize("half", [0, 1])
def test_nothing_is_read_next_to_writes(tmp_path: Path, half: int) -> None:
    setting = Setting(tmp_path, "update-beyond-pool")
    record = setting.slice(half)
    assert setting.events == ["server"]
    assert "disk" not in record.measured.uses


def test_pages_of_unknown_size_are_not_counted(tmp_path: Path) -> None:
    setting = Setting(tmp_path, "page-read-peak")
    setting.contender.page_bytes = None
    record = setting.slice(0)
    assert setting.events == ["server"]
    assert record.measured.uses["storage"] == {"rows_read": 81920 / 1926}


def test_the_others_are_suspended_while_one_writes_and_all_resume_at_the_end(
    tmp_path: Path,
) -> None:
    setting = Setting(tmp_path, "update-beyond-pool")
    for contender in (setting.contender, setting.contender, setting.other):
        setting.cold.run_only(contender)
    assert setting.events == ["b stands still", "a goes on", "a stands still", "b goes on"]
    setting.events.clear()
    setting.cold.thaw_all()
    assert setting.events == ["a goes on", "b goes on"]
    setting.cold.run_only(setting.other)
    assert setting.events[2:] == ["a stands still", "b goes on"]


def test_no_server_is_suspended_during_reads(tmp_path: Path) -> None:
    setting = Setting(tmp_path, "page-read-peak")
    setting.cold.run_only(setting.contender)
    assert setting.events == []
