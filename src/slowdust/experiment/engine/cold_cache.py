"""Bypasses the kernel's page cache, and measures the disk next to the servers.

A page missing from the buffer pool may still be in the kernel's page cache, which is large on a
host with little data. So the cached pages of a server's files are dropped before each of its
slices, for servers with and without direct IO alike. Next to the slices the driver reads the same
file directly, so that server and driver see a disk that others may use, too, at the same moments.

Updates leave background work: pages to write, and row versions to purge, which takes reads. It
would be done in the slices of the other contenders, and a contender that has to catch up would have
the least time for it. So the other servers are suspended while one of them runs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from slowdust.directories import file_below
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders, Freezer
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Fetch
from slowdust.experiment.plan import PlannedStep
from slowdust.store.measured import DISK, SERVER, STORAGE, Use
from slowdust.store.slice import Slice
from slowdust.units import Second

_SMALL_FILE = 1 << 20
"""Files of fewer bytes do not belong to the measured tables."""


class ColdCache:
    """Controls the files of all contenders in one step of one start."""

    def __init__(self, contenders: Contenders, step: PlannedStep) -> None:
        self._contenders = contenders
        self._test = step.test
        self._clients = step.clients
        self._freezer = Freezer(contenders.running(), contenders.warn)
        self._runs: RunningContender | None = None
        """The only contender that is not suspended; None while none is suspended."""
        self._fetches = 0
        self._refused: set[str] = set()
        """Contenders whose files cannot be read bypassing the kernel's cache."""

    def run_only(self, contender: RunningContender) -> None:
        """Suspend the other servers, in a test that writes."""
        if self._test.writes and contender is not self._runs:
            self._freezer.run_only(contender)
            self._runs = contender

    def thaw_all(self) -> None:
        self._runs = None
        self._freezer.thaw_all()

    @contextmanager
    def around(self, contender: RunningContender) -> Iterator[None]:
        """Drop the cached pages; at the end write the dirty ones."""
        self._drop_cached(contender)
        yield
        self._write_cached(contender)

    @contextmanager
    def next_to_disk(
        self, contender: RunningContender, seconds: Second, half: int, slices: Sequence[Slice]
    ) -> Iterator[None]:
        """Drop the cached pages, and read the disk before or after the slices.

        The result is added to the `slices` that were measured meanwhile. The disk is read after
        the slices of a block's first half, and before the slices of its second half.
        """
        disk = self._read_disk(contender, seconds) if half else {}
        with self.around(contender):
            yield
        if not half:
            disk = self._read_disk(contender, seconds)
        for record in slices:
            named = {STORAGE: self._storage(contender, record), DISK: disk}
            record.measured.uses |= {name: use for name, use in named.items() if use}

    def _drop_cached(self, contender: RunningContender) -> None:
        """Drop the clean pages of a contender's files from the kernel's cache."""

        def drop(file: int) -> None:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)

        self._for_each_file(contender, drop)

    def _write_cached(self, contender: RunningContender) -> None:
        """Write the dirty pages of a contender now, so that no other slice pays for it."""
        if self._test.writes:
            self._for_each_file(contender, os.fdatasync)

    def _read_disk(self, contender: RunningContender, seconds: Second) -> Use:
        """Read random pages of the contender's largest file, one at a time for each client.

        The driver excludes pages that were never written, which need no read. Empty for a test
        that writes, and if the file cannot be read bypassing the kernel's cache.
        """
        files = self._data_files(contender)
        if self._test.writes or not self._test.beyond_pool or contender.page_bytes is None:
            return {}
        if not files or contender.name in self._refused:
            return {}
        self._fetches += 1
        try:
            with self._opened(contender, max(files, key=_size)) as file:
                command = Fetch(
                    file=f"/proc/{os.getpid()}/fd/{file}",
                    page_bytes=contender.page_bytes,
                    threads=self._clients,
                    seconds=seconds,
                    seed=self._fetches,
                )
                fetched = self._contenders.driver.fetch(command)
        except TargetError as error:
            self._refused.add(contender.name)
            self._contenders.warn(f"{contender.name}: its disk cannot be measured: {error}")
            return {}
        return {"reads": fetched.reads, "seconds": fetched.seconds}

    def _storage(self, contender: RunningContender, record: Slice) -> Use:
        """Return the server's reads in a slice, in pages (`pages_read`) and in `rows_read`.

        The latter is bytes divided by the size of a row; each operation reads one row.
        """
        read = record.measured.used(SERVER, "read_bytes")
        if read is None or self._test.row_bytes is None:
            return {}
        rows: Use = {"rows_read": read / self._test.row_bytes}
        if contender.page_bytes is None:
            return rows
        return rows | {"pages_read": read / contender.page_bytes}

    def _for_each_file(self, contender: RunningContender, act: Callable[[int], None]) -> None:
        for path in self._data_files(contender):
            with contextlib.suppress(FileNotFoundError), self._opened(contender, path) as file:
                act(file)

    def _opened(self, contender: RunningContender, path: Path) -> AbstractContextManager[int]:
        instance = contender.instance
        return file_below(instance.data_dir, path, instance.account)

    def _data_files(self, contender: RunningContender) -> list[Path]:
        """Return the present files: writes create new ones."""
        found = contender.family.data_files(contender.server.site)
        return [path for path in found if _size(path) >= _SMALL_FILE]


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
