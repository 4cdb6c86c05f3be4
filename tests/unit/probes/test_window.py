from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from slowdust import probes
from slowdust.probes.host import others
from slowdust.probes.host.use import HostProbe, HostReadings
from slowdust.probes.probe import Subject, Window, WindowUse
from slowdust.probes.server.process import IdleServer

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
        [
            IdleServer("mariadb@11.4.5", fake_proc.probe(20)),
            fake_proc.probe(10),
            HostProbe(tmp_path),
        ]
    )
    for cpu_ms in (4, 9):
        window.open()
        fake_proc.put(10, cpu_ns=cpu_ms * MS)
        fake_proc.put(20, cpu_ns=2 * cpu_ms * MS)
        use = window.close()
    assert "server" in use.uses
    assert use.uses["server"]["cpu_s"] == pytest.approx(0.005)
    assert use.uses["idle.mariadb@11.4.5"] == {"cpu_s": pytest.approx(0.010)}
    assert "host" in use.uses
    assert use.uses["host"]["cpu_idle_s"] >= 0
    assert use.seconds > 0


def test_a_failed_probe_is_named_and_the_others_still_count(
    fake_proc: FakeProc, tmp_path: Path
) -> None:
    fake_proc.put(10)
    fake_proc.put(20)
    fake_proc.put(30)
    idle = [IdleServer("a", fake_proc.probe(20)), IdleServer("b", fake_proc.probe(30))]
    window = Window([*idle, fake_proc.probe(10), BrokenHost(tmp_path)])
    window.open()
    fake_proc.end(20)
    fake_proc.put(10, cpu_ns=1 * MS)

    use = window.close()

    assert use.skipped == ["idle.a", "host"]
    assert "host" not in use.uses
    assert use.uses["idle.b"] == {"cpu_s": 0.0}
    assert "server" in use.uses
    assert use.uses["server"]["cpu_s"] == pytest.approx(0.001)


def test_a_server_that_ends_in_the_window_is_skipped_and_not_zero(fake_proc: FakeProc) -> None:
    fake_proc.put(10)
    window = Window([fake_proc.probe(10)])
    window.open()
    fake_proc.end(10)

    use = window.close()

    assert "server" not in use.uses
    assert use.skipped == ["server"]


def test_a_server_that_failed_at_the_opening_is_skipped(fake_proc: FakeProc) -> None:
    fake_proc.put(10)
    window = Window([fake_proc.probe(10)])
    (fake_proc.root / "10/status").write_text("Name:\tx\n")
    window.open()
    fake_proc.put(10)

    assert window.close().skipped == ["server"]


def test_parts_that_could_not_be_measured_are_named(fake_proc: FakeProc) -> None:
    fake_proc.put(10)
    (fake_proc.root / "10/io").unlink()
    window = Window([fake_proc.probe(10), HostProbe(Path("/proc"))])
    window.open()
    fake_proc.put(10, reaped_faults=1)
    (fake_proc.root / "10/io").unlink()

    assert window.close().skipped == ["server.io", "server.switches", "host.disk"]


def test_without_probes_nothing_is_measured_and_nothing_skipped() -> None:
    window = Window([])
    window.open()
    use = window.close()
    assert (use.uses, use.skipped) == ({}, [])


def test_a_window_is_not_closed_twice() -> None:
    window = Window([])
    window.open()
    window.close()
    with pytest.raises(RuntimeError, match="not open"):
        window.close()


def test_a_probe_that_cannot_be_opened_is_skipped_and_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def forbidden(subject: Subject) -> NoReturn:
        raise PermissionError(subject)

    monkeypatch.setattr(others, "open_probe", forbidden)
    opened = probes.open_probes(Subject(os.getpid(), tmp_path))
    window = Window(opened)
    window.open()
    use = window.close()

    assert use.uses.keys() == {"server", "host"}
    assert "others" in use.skipped


def test_a_probe_whose_readings_do_not_fit_is_skipped_and_named(tmp_path: Path) -> None:
    class Unfit(HostProbe):
        def use(self, before: HostReadings, after: HostReadings) -> NoReturn:
            raise KeyError(before, after)

    window = Window([Unfit(tmp_path)])
    window.open()

    assert window.close().skipped == ["host"]


def window_without_switches() -> WindowUse:
    return WindowUse(uses={"server": {"cpu_s": 1.0}}, seconds=2.0, skipped=["server.switches"])


def test_switches_of_processes_that_ended_come_from_the_samples() -> None:
    use = window_without_switches()
    use.take_switches([3, 4])
    assert use.uses["server"]["context_switches"] == 7
    assert use.skipped == []


def test_switches_are_absent_if_a_sample_failed() -> None:
    use = window_without_switches()
    use.take_switches([3, None])
    assert "context_switches" not in use.uses["server"]
    assert use.skipped == ["server.switches"]
