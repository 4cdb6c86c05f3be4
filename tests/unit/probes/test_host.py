from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.probes.host.use import DiskReading, HostProbe, HostReading, parse_disk, parse_host

STAT = (
    b"cpu  7537 40 2860 174991 607 5 75 13 3 2\n"
    b"cpu0 1893 0 802 90304 48 0 10 2 0 0\n"
    b"intr 253596 0 0 99 1\n"
    b"ctxt 495371\nbtime 1795297675\nprocesses 7064\n"
)
ZERO = HostReading(0, 0, 0, 0, 0, 0, 0)


def test_a_stat_file_is_summed_into_the_five_uses_of_cpu() -> None:
    assert parse_host(STAT) == HostReading(
        user=7577,
        system=2860 + 5 + 75,
        idle=174991,
        iowait=607,
        steal=13,
        switches=495371,
        interrupts=253596,
    )


@pytest.mark.parametrize("content", [b"", b"cpu0 1 2 3\n", b"cpu  1 2 3 4 5 6 7 8\n"])
def test_another_file_is_an_error_and_not_zero(content: bytes) -> None:
    with pytest.raises(ValueError, match="/proc/stat"):
        parse_host(content)


def test_a_disk_counts_sectors_of_512_bytes() -> None:
    content = b"  73539 27016 4683682 16964 22668 39461 4183960 11991 0 11204 29624\n"
    assert parse_disk(content) == DiskReading(73539, 4683682 * 512, 22668, 4183960 * 512)


def test_usage_is_the_difference_in_seconds() -> None:
    last = HostReading(10, 20, 30, 40, 50, 600, 700)
    use = HostProbe(Path("/proc")).use(
        (ZERO, DiskReading(1, 2, 3, 4)), (last, DiskReading(11, 22, 33, 44))
    )

    assert use["cpu_user_s"] == pytest.approx(0.1)
    assert use["cpu_system_s"] == pytest.approx(0.2)
    assert use["cpu_idle_s"] == pytest.approx(0.3)
    assert use["cpu_iowait_s"] == pytest.approx(0.4)
    assert use["cpu_steal_s"] == pytest.approx(0.5)
    assert (use["context_switches"], use["interrupts"]) == (600, 700)
    assert (use["reads"], use["read_bytes"], use["writes"], use["write_bytes"]) == (10, 20, 30, 40)


def test_iowait_that_runs_backwards_is_cut_off() -> None:
    assert (
        HostProbe(Path("/proc"))
        .use((ZERO._replace(iowait=5), None), (ZERO, None))
        .get("cpu_iowait_s")
        == 0
    )


def test_a_disk_unknown_or_replaced_in_the_window_is_absent() -> None:
    unknown = HostProbe(Path("/proc")).use((ZERO, None), (ZERO, DiskReading(1, 1, 1, 1)))
    replaced = HostProbe(Path("/proc")).use(
        (ZERO, DiskReading(9, 9, 9, 9)), (ZERO, DiskReading(0, 0, 10, 10))
    )
    for use in (unknown, replaced):
        assert (
            use.get("reads")
            is use.get("read_bytes")
            is use.get("writes")
            is use.get("write_bytes")
            is None
        )
