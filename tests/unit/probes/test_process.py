from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from slowdust.probes.server.process import (
    Memory,
    cpu_seconds,
    parse_memory,
    parse_stat,
    parse_switches,
    resident_bytes,
    server_use,
    virtual_bytes,
)

if TYPE_CHECKING:
    from tests.unit.probes.conftest import FakeProc

MS = 1_000_000
KIB = 1024


def test_a_stat_file_is_read_after_any_name() -> None:
    fields = "S 1 7 7 0 -1 4194304 100 55 3 5 21 22 31 32 20 0 4 0 93252 3133440 418 18446744"
    for name in ("postgres", "a b", ") S 9 9 9 (", "x) Z 1"):
        stat = parse_stat(f"7054 ({name}) {fields} 0 0\n".encode())
        assert stat.state == b"S"
        assert stat.threads == 4
        assert stat.start_ticks == 93252
        assert stat.reaped_ticks == 31 + 32
        assert stat.reaped_faults == 55 + 5


def test_a_status_file_gives_memory_in_bytes_and_switches_of_both_kinds() -> None:
    status = (
        b"Name:\tmysqld\nUmask:\t0022\nVmPeak:\t  999 kB\nVmSize:\t   800 kB\nVmRSS:\t 60 kB\n"
        b"RssAnon:\t      10 kB\nRssFile:\t      20 kB\nRssShmem:\t      30 kB\nVmData:\t  400 kB\n"
        b"Threads:\t1\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t5\n"
    )
    assert parse_memory(status) == Memory(800 * KIB, 400 * KIB, 10 * KIB, 20 * KIB, 30 * KIB)
    assert parse_switches(status) == 12


def test_a_status_file_without_switches_is_an_error_and_not_zero() -> None:
    with pytest.raises(ValueError, match="context switches"):
        parse_switches(b"Name:\tx\nvoluntary_ctxt_switches:\t7\n")


def test_the_whole_tree_counts_and_nothing_else(fake_proc: FakeProc) -> None:
    fake_proc.put(10, children=(11, 12))
    fake_proc.put(11, children=(13,))
    fake_proc.put(12)
    fake_proc.put(13)
    fake_proc.put(99)
    probe = fake_proc.probe(10)
    before = probe.read()
    fake_proc.put(11, children=(13,), cpu_ns=1 * MS, user_ns=1 * MS, switches=(3, 1), read=10)
    fake_proc.put(13, cpu_ns=3 * MS, user_ns=0, switches=(0, 2), written=4096)
    fake_proc.put(99, cpu_ns=500 * MS, written=1 << 30)

    use = server_use(before, probe.read())

    assert use["cpu_s"] == pytest.approx(0.004)
    assert use["cpu_user_s"] == pytest.approx(0.001)
    assert use["cpu_system_s"] == pytest.approx(0.003)
    assert use["context_switches"] == 6
    assert (use["read_bytes"], use["write_bytes"]) == (10, 4096)
    assert use["called_bytes"] == 20, "the calls returned what the kernel had, too"
    assert (use["processes"], use["processes_started"], use["processes_ended"]) == (4, 0, 0)


def test_a_process_that_came_counts_whole(fake_proc: FakeProc) -> None:
    fake_proc.put(10, cpu_ns=100 * MS)
    probe = fake_proc.probe(10)
    before = probe.read()
    fake_proc.put(10, cpu_ns=100 * MS, children=(11,))
    fake_proc.put(11, cpu_ns=7 * MS, switches=(4, 0), read=512)

    use = server_use(before, probe.read())

    assert use["cpu_s"] == pytest.approx(0.007)
    assert use["context_switches"] == 4
    assert use["read_bytes"] == 512
    assert (use["processes_started"], use["processes_ended"]) == (1, 0)


def test_of_a_process_that_ended_only_its_time_in_the_window_counts(fake_proc: FakeProc) -> None:
    fake_proc.put(10, children=(11,))
    fake_proc.put(11, cpu_ns=5_000 * MS, switches=(4, 0), read=1000)
    probe = fake_proc.probe(10)
    before = probe.read()
    fake_proc.end(11)
    fake_proc.put(10, reaped_ticks=503, reaped_faults=80, cpu_ns=2 * MS, read=1512)

    use = server_use(before, probe.read())

    assert use["cpu_s"] == pytest.approx(0.032), "2 ms of its own, 503 ticks less the 5 s before"
    assert use["read_bytes"] == 512
    assert (use["processes_started"], use["processes_ended"]) == (0, 1)
    assert use.get("context_switches") is None, "the ended process took them along"
    assert use.get("cpu_user_s") is None
    assert use.get("cpu_system_s") is None


def test_a_process_that_came_and_went_shows_in_what_its_parent_reaped(fake_proc: FakeProc) -> None:
    fake_proc.put(10)
    probe = fake_proc.probe(10)
    before = probe.read()
    fake_proc.put(10, reaped_ticks=3, reaped_faults=120)

    use = server_use(before, probe.read())

    assert use["cpu_s"] == pytest.approx(0.030)
    assert use.get("context_switches") is None
    assert (use["processes_started"], use["processes_ended"]) == (0, 0)


def test_ticks_that_round_an_ended_process_down_never_make_a_negative_time(
    fake_proc: FakeProc,
) -> None:
    fake_proc.put(10, children=(11,))
    fake_proc.put(11, cpu_ns=19 * MS)
    probe = fake_proc.probe(10)
    before = probe.read()
    fake_proc.end(11)
    fake_proc.put(10, reaped_ticks=0, reaped_faults=1, cpu_ns=1 * MS)

    assert server_use(before, probe.read())["cpu_s"] == 0


def test_a_reused_pid_is_another_process(fake_proc: FakeProc) -> None:
    fake_proc.put(10, children=(11,))
    fake_proc.put(11, cpu_ns=5 * MS, start=200)
    probe = fake_proc.probe(10)
    before = probe.read()
    fake_proc.put(11, cpu_ns=2 * MS, start=300)
    fake_proc.put(10, children=(11,), reaped_ticks=1, reaped_faults=9)

    use = server_use(before, probe.read())

    assert (use["processes_started"], use["processes_ended"]) == (1, 1)
    assert use["cpu_s"] == pytest.approx(0.002 + 0.010 - 0.005)


def test_a_pid_reused_outside_the_tree_is_not_taken_for_a_member(fake_proc: FakeProc) -> None:
    fake_proc.put(10, children=(11,))
    fake_proc.put(11, start=200)
    probe = fake_proc.probe(10)
    before = probe.read()
    fake_proc.put(10)
    fake_proc.put(11, start=300, cpu_ns=900 * MS)

    use = server_use(before, probe.read())

    assert (use["processes"], use["processes_ended"]) == (1, 1)
    assert use["cpu_s"] == 0


def test_a_process_that_loses_its_parent_remains_a_member(fake_proc: FakeProc) -> None:
    fake_proc.put(10, children=(11,))
    fake_proc.put(11, children=(12,))
    fake_proc.put(12)
    probe = fake_proc.probe(10)
    before = probe.read()
    fake_proc.end(11)
    fake_proc.put(10, reaped_faults=1)
    fake_proc.put(12, cpu_ns=4 * MS)

    use = server_use(before, probe.read())

    assert use["cpu_s"] == pytest.approx(0.004)
    assert (use["processes"], use["processes_ended"]) == (2, 1)


def test_switches_and_children_of_all_threads_count(fake_proc: FakeProc) -> None:
    fake_proc.put(10, threads=(20, 21), switches=(1, 1))
    fake_proc.put_thread(10, 20, switches=5, children="11 ")
    fake_proc.put_thread(10, 21, switches=6)
    fake_proc.put(11)
    probe = fake_proc.probe(10)
    before = probe.read()
    fake_proc.put_thread(10, 21, switches=9)
    fake_proc.put(11, switches=(2, 0))

    use = server_use(before, probe.read())

    assert use["context_switches"] == 3 + 2
    assert use["processes"] == 2


def test_switches_are_absent_if_a_thread_ended(fake_proc: FakeProc) -> None:
    fake_proc.put(10, threads=(20,))
    fake_proc.put_thread(10, 20, switches=5)
    probe = fake_proc.probe(10)
    before = probe.read()
    (fake_proc.root / "10/task/20/status").unlink()

    assert server_use(before, probe.read()).get("context_switches") is None


def test_io_that_may_not_be_read_is_absent(fake_proc: FakeProc) -> None:
    fake_proc.put(10, children=(11,))
    fake_proc.put(11)
    (fake_proc.root / "11/io").unlink()
    probe = fake_proc.probe(10)

    use = server_use(probe.read(), probe.read())

    assert use.get("read_bytes") is None
    assert use.get("write_bytes") is None
    assert use["cpu_s"] == 0


def test_io_that_shrinks_is_absent_and_not_negative(fake_proc: FakeProc) -> None:
    fake_proc.put(10, read=500, written=5)
    probe = fake_proc.probe(10)
    before = probe.read()
    fake_proc.put(10, read=400, written=6)

    use = server_use(before, probe.read())

    assert use.get("read_bytes") is None
    assert use["write_bytes"] == 1


def test_without_a_tick_there_is_no_split(fake_proc: FakeProc) -> None:
    fake_proc.put(10, cpu_ns=5 * MS)
    probe = fake_proc.probe(10)

    use = server_use(probe.read(), probe.read())

    assert use["cpu_s"] == 0
    assert use.get("cpu_user_s") is None


def test_shared_memory_counts_once() -> None:
    backend = Memory(virtual=1000, private_virtual=100, anonymous=10, file=20, shared=300)
    checkpointer = Memory(virtual=900, private_virtual=50, anonymous=5, file=30, shared=100)

    assert resident_bytes([backend, checkpointer]) == 10 + 5 + 30 + 300
    assert virtual_bytes([backend, checkpointer]) == 100 + 50 + 900


def test_one_process_has_its_plain_rss_and_vsz(fake_proc: FakeProc) -> None:
    fake_proc.put(10, size_kb=800, data_kb=300, anon_kb=10, file_kb=20, shared_kb=30)
    probe = fake_proc.probe(10)

    use = server_use(probe.read(), probe.read())

    assert use["vsz_bytes"] == 800 * KIB
    assert use["rss_bytes"] == 60 * KIB


def test_an_ended_server_is_an_error(fake_proc: FakeProc) -> None:
    fake_proc.put(10)
    probe = fake_proc.probe(10)
    fake_proc.put(10, state="Z")
    with pytest.raises(ProcessLookupError):
        probe.read()
    fake_proc.put(10, start=777)
    with pytest.raises(ProcessLookupError):
        probe.read_cpu()
    fake_proc.end(10)
    with pytest.raises(ProcessLookupError):
        probe.read()
    with pytest.raises(OSError):
        fake_proc.probe(10)


def test_an_idle_server_is_read_by_its_cpu_alone(fake_proc: FakeProc) -> None:
    fake_proc.put(10, children=(11,))
    fake_proc.put(11)
    probe = fake_proc.probe(10)
    before = probe.read_cpu()
    fake_proc.put(11, cpu_ns=6 * MS)

    assert cpu_seconds(before, probe.read_cpu()) == pytest.approx(0.006)


def test_a_failure_of_ours_does_not_pass_for_the_end_of_a_process(
    fake_proc: FakeProc, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_proc.put(10, children=(11,))
    fake_proc.put(11)
    probe = fake_proc.probe(10)

    def no_descriptors(*_: object) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(fake_proc.files, "read", no_descriptors)
    with pytest.raises(OSError, match="Too many"):
        probe.read()
