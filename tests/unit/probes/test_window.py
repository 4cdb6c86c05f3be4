from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from slowdust.probes.host.use import HostProbe
from slowdust.probes.window import Window

if TYPE_CHECKING:
    from tests.unit.probes.conftest import FakeProc

MS = 1_000_000


class BrokenHost(HostProbe):
    def read(self) -> NoReturn:
        raise ValueError("not the /proc/stat we know")


def test_a_window_gives_what_each_probe_saw(fake_proc: FakeProc, tmp_path: Path) -> None:
    fake_proc.put(10)
    fake_proc.put(20)
    window = Window(
        fake_proc.probe(10), {"mariadb@11.4.5": fake_proc.probe(20)}, HostProbe(tmp_path)
    )
    for cpu_ms in (4, 9):
        window.open()
        fake_proc.put(10, cpu_ns=cpu_ms * MS)
        fake_proc.put(20, cpu_ns=2 * cpu_ms * MS)
        use = window.close()
    assert use.server is not None
    assert use.server.cpu_s == pytest.approx(0.005)
    assert use.idle_cpu_s == {"mariadb@11.4.5": pytest.approx(0.010)}
    assert use.host is not None
    assert use.host.cpu_idle_s >= 0
    assert use.probe_seconds > 0


def test_a_failed_probe_is_named_and_the_others_still_count(
    fake_proc: FakeProc, tmp_path: Path
) -> None:
    fake_proc.put(10)
    fake_proc.put(20)
    fake_proc.put(30)
    idle = {"a": fake_proc.probe(20), "b": fake_proc.probe(30)}
    window = Window(fake_proc.probe(10), idle, BrokenHost(tmp_path))
    window.open()
    fake_proc.end(20)
    fake_proc.put(10, cpu_ns=1 * MS)

    use = window.close()

    assert use.skipped == ["host", "idle.a"]
    assert use.host is None
    assert use.idle_cpu_s == {"b": 0.0}
    assert use.server is not None
    assert use.server.cpu_s == pytest.approx(0.001)


def test_a_server_that_ends_in_the_window_is_skipped_and_not_zero(fake_proc: FakeProc) -> None:
    fake_proc.put(10)
    window = Window(fake_proc.probe(10), {}, None)
    window.open()
    fake_proc.end(10)

    use = window.close()

    assert use.server is None
    assert use.skipped == ["server"]


def test_a_server_that_failed_at_the_opening_is_skipped(fake_proc: FakeProc) -> None:
    fake_proc.put(10)
    window = Window(fake_proc.probe(10), {}, None)
    (fake_proc.root / "10/status").write_text("Name:\tx\n")
    window.open()
    fake_proc.put(10)

    assert window.close().skipped == ["server"]


def test_parts_that_could_not_be_measured_are_named(fake_proc: FakeProc) -> None:
    fake_proc.put(10)
    (fake_proc.root / "10/io").unlink()
    window = Window(fake_proc.probe(10), {}, HostProbe(Path("/proc")))
    window.open()
    fake_proc.put(10, reaped_faults=1)
    (fake_proc.root / "10/io").unlink()

    assert window.close().skipped == ["server.io", "server.switches", "host.disk"]


def test_without_probes_nothing_is_measured_and_nothing_skipped() -> None:
    window = Window(None, {}, None)
    window.open()
    use = window.close()
    assert (use.server, use.host, use.idle_cpu_s, use.skipped) == (None, None, {}, [])


def test_a_window_is_not_closed_twice() -> None:
    window = Window(None, {}, None)
    window.open()
    window.close()
    with pytest.raises(RuntimeError, match="opened"):
        window.close()
