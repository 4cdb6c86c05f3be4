"""A /proc of files: processes start, exit and share pids at will."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from slowdust.probes.server.process import ServerProbe


class FreshFiles:
    """Opens files at each read: a deleted file that is open could still be read, unlike a file of
    /proc."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, pid: int, name: str, thread: int | None = None) -> bytes:
        folder = self._root / str(pid)
        return (
            (folder if thread is None else folder / "task" / str(thread))
            .joinpath(name)
            .read_bytes()
        )

    def threads(self, pid: int) -> tuple[int, ...]:
        return tuple(int(entry.name) for entry in (self._root / str(pid) / "task").iterdir())

    def retain(self, threads: Collection[int]) -> None:
        pass


class FakeProc:
    """Processes as the kernel would show them; `put` again changes them between readings."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = FreshFiles(root)
        self._clocks: dict[tuple[int, int], int] = {}

    def put(
        self,
        pid: int,
        *,
        children: tuple[int, ...] = (),
        cpu_ns: int = 0,
        user_ns: int | None = None,
        start: int = 100,
        state: str = "S",
        reaped_ticks: int = 0,
        reaped_faults: int = 0,
        switches: tuple[int, int] = (0, 0),
        read: int = 0,
        written: int = 0,
        anon_kb: int = 0,
        file_kb: int = 0,
        shared_kb: int = 0,
        size_kb: int = 0,
        data_kb: int = 0,
        name: str = "postgres: a (b) c",
        threads: tuple[int, ...] = (),
    ) -> None:
        """Write the files of one process."""
        folder = self.root / str(pid)
        (folder / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
        fields = ["0"] * 50
        fields[0], fields[8], fields[13] = state, str(reaped_faults), str(reaped_ticks)
        fields[17], fields[19] = str(1 + len(threads)), str(start)
        (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
        (folder / "io").write_text(
            f"rchar: {9 + 2 * read}\nwchar: 9\nread_bytes: {read}\nwrite_bytes: {written}\n"
            "cancelled_write_bytes: 7\n"
        )
        memory = (
            ""
            if state == "Z"
            else (
                f"VmSize:\t{size_kb} kB\nRssAnon:\t{anon_kb} kB\nRssFile:\t{file_kb} kB\n"
                f"RssShmem:\t{shared_kb} kB\nVmData:\t{data_kb} kB\n"
            )
        )
        (folder / "status").write_text(
            f"Name:\tpostgres\n{memory}Threads:\t1\n"
            f"voluntary_ctxt_switches:\t{switches[0]}\n"
            f"nonvoluntary_ctxt_switches:\t{switches[1]}\n"
        )
        (folder / "task" / str(pid) / "children").write_text(" ".join(map(str, children)) + " ")
        for kind, value in enumerate((cpu_ns, cpu_ns if user_ns is None else user_ns, cpu_ns)):
            self._clocks[pid, kind] = value

    def put_thread(self, pid: int, thread: int, *, switches: int, children: str = "") -> None:
        """Write the files of one more thread of a process."""
        folder = self.root / str(pid) / "task" / str(thread)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "status").write_text(
            f"Name:\tx\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t0\n"
        )
        (folder / "children").write_text(children)

    def end(self, pid: int) -> None:
        """Remove a process and its clocks."""
        for file in sorted((self.root / str(pid)).rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        (self.root / str(pid)).rmdir()
        for kind in range(3):
            del self._clocks[pid, kind]

    def clock(self, pid: int, kind: int) -> int:
        """Nanoseconds on a clock of a process."""
        if (pid, kind) not in self._clocks:
            raise ProcessLookupError(pid)
        return self._clocks[pid, kind]

    def probe(self, pid: int) -> ServerProbe:
        """A probe of the server whose main process is `pid`."""
        return ServerProbe(pid, files=self.files, clock=self.clock)


@pytest.fixture
def fake_proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path / "proc")
