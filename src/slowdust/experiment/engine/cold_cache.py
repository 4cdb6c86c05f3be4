"""What lies beneath the servers' page caches: the kernel's cache of their files, and the disk.

A page that a server has not may still be in the kernel's memory, which a host with little data has
plenty of. So what the kernel keeps of a server's data is dropped before each of its slices, the
same for servers with and without direct IO; and beside the slices the driver reads the same file
directly, so that both see the same moments of a disk that others use, too.

Updates leave work for the background: pages to write, row versions to purge, which takes reads. It
would be done in the slices of the others, and least of it by whoever has to catch up with them. So
the other servers stand still while one of them runs.
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
"""Bytes below which a file is none of the tables' that are measured."""


class ColdCache:
    """Looks after the files of all contenders in one step of one incarnation."""

    def __init__(self, contenders: Contenders, step: PlannedStep) -> None:
        self._contenders = contenders
        self._test = step.test
        self._clients = step.clients
        self._freezer = Freezer(contenders.running(), contenders.warn)
        self._runs: RunningContender | None = None
        """The only one that does not stand still; None while none of them does."""
        self._fetches = 0
        self._refused: set[str] = set()
        """Contenders whose files cannot be read past the kernel's cache."""

    def let_run(self, contender: RunningContender) -> None:
        """Let the servers of the others stand still, in a test that writes."""
        if self._test.writes and contender is not self._runs:
            self._freezer.let_run(contender)
            self._runs = contender

    def let_all_run(self) -> None:
        self._runs = None
        self._freezer.let_all_run()

    @contextmanager
    def around(self, contender: RunningContender) -> Iterator[None]:
        """Be without what the kernel keeps, and let it write what it still has to at the end."""
        self._drop_cached(contender)
        yield
        self._write_cached(contender)

    @contextmanager
    def beside(
        self, contender: RunningContender, seconds: Second, half: int, slices: Sequence[Slice]
    ) -> Iterator[None]:
        """Be without what the kernel keeps, and read the disk beside that.

        What it gave is added to the `slices` that were measured meanwhile. The disk comes behind
        the slices of a block's first half, and before those of its second.
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
        """Let the kernel forget the pages of a contender's files that it need not write."""

        def drop(file: int) -> None:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)

        self._for_each_file(contender, drop)

    def _write_cached(self, contender: RunningContender) -> None:
        """Let the kernel write what a contender has written, not in the slice of another one."""
        if self._test.writes:
            self._for_each_file(contender, os.fdatasync)

    def _read_disk(self, contender: RunningContender, seconds: Second) -> Use:
        """Read random pages of the contender's largest file, as many at once as it has clients.

        The driver leaves out pages that were never written, for which no disk is read. Empty for a
        test that writes, and where the file cannot be read past the kernel's cache.
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
            self._contenders.warn(f"{contender.name}: what its disk gives is not known: {error}")
            return {}
        return {"reads": fetched.reads, "seconds": fetched.seconds}

    def _storage(self, contender: RunningContender, record: Slice) -> Use:
        """Return what the server read in a slice, in pages (`pages_read`) and in `rows_read`.

        The latter are bytes over those of a row, which is what each operation asks for.
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
        """Return the files of now: writes make new ones."""
        found = contender.family.data_files(contender.server.site)
        return [path for path in found if _size(path) >= _SMALL_FILE]


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
