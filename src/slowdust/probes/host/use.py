"""The probe of the whole host: its totals so far, and the difference of two readings.

Direct reads of two kernel files: psutil opens /proc/stat twice and walks all of /proc/diskstats
for the same numbers, at ten times the cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from slowdust.probes.host.storage import block_device_of
from slowdust.probes.probe import Subject
from slowdust.probes.server.procfs import TICK_NS, number_after, read_bytes
from slowdust.store.measured import Use
from slowdust.units import Second

_SECTOR_BYTES = 512
"""Unit of the kernel's block statistics, whatever the sectors of the device."""


class HostReading(NamedTuple):
    """Counters of the host since its start: CPU in ticks of 10 ms over all cores."""

    user: int
    system: int
    idle: int
    iowait: int
    steal: int
    switches: int
    interrupts: int


class DiskReading(NamedTuple):
    """Requests and bytes that reached a block device since its start."""

    reads: int
    read_bytes: int
    writes: int
    write_bytes: int


def parse_host(content: bytes) -> HostReading:
    """Parse /proc/stat, see proc_stat(5). Guests' time is within user time already.

    Raises:
        ValueError: not such a file.
    """
    if not content.startswith(b"cpu "):
        raise ValueError("/proc/stat does not begin with the sum over all CPUs")
    ticks = [int(field) for field in content[: content.index(b"\n")].split()[1:9]]
    ticks += [0] * (8 - len(ticks))
    user, nice, system, idle, iowait, irq, softirq, steal = ticks
    switches = number_after(content, b"\nctxt ")
    interrupt_line = content.find(b"\nintr ")
    if switches is None or interrupt_line < 0:
        raise ValueError("/proc/stat does not tell context switches and interrupts")
    return HostReading(
        user=user + nice,
        system=system + irq + softirq,
        idle=idle,
        iowait=iowait,
        steal=steal,
        switches=switches,
        interrupts=int(content[interrupt_line + 6 : interrupt_line + 40].split()[0]),
    )


def parse_disk(content: bytes) -> DiskReading:
    """Parse the stat file of a block device or partition (the kernel's admin-guide/iostats).

    Raises:
        ValueError: not such a file.
    """
    reads, _, read_sectors, _, writes, _, write_sectors = map(int, content.split()[:7])
    return DiskReading(reads, read_sectors * _SECTOR_BYTES, writes, write_sectors * _SECTOR_BYTES)


HostReadings = tuple[HostReading, DiskReading | None]


class HostProbe:
    """Reads the host's counters and those of the block device below `data_directory`.

    Raises:
        OSError: no such directory.
    """

    name = "host"
    parts: Mapping[str, str] = {"writes": "disk"}

    def __init__(self, data_directory: Path) -> None:
        device = block_device_of(data_directory)
        self._disk_file = None if device is None else str(device / "stat")

    def read(self) -> HostReadings:
        """Read both; without the disk where the directory's device cannot be found.

        Raises:
            OSError, ValueError: /proc/stat cannot be read, or not understood.
        """
        host = parse_host(read_bytes("/proc/stat"))
        return host, self._read_disk()

    def use(self, before: HostReadings, after: HostReadings) -> Use:
        """Return what the host did between two readings.

        `cpu_user_s`, `cpu_system_s`, `cpu_iowait_s`, `cpu_steal_s`, `cpu_idle_s`,
        `context_switches`, `interrupts`, and of the disk `reads`, `read_bytes`, `writes`,
        `write_bytes`. CPU times come in ticks of 10 ms over all cores: 5% of a slice of 0.1 s on
        two cores. The kernel's iowait and idle may run backwards when cores sleep; this counts 0.
        """
        (first, first_disk), (last, last_disk) = before, after
        use: Use = {
            "cpu_user_s": _seconds(first.user, last.user),
            "cpu_system_s": _seconds(first.system, last.system),
            "cpu_iowait_s": _seconds(first.iowait, last.iowait),
            "cpu_steal_s": _seconds(first.steal, last.steal),
            "cpu_idle_s": _seconds(first.idle, last.idle),
            "context_switches": last.switches - first.switches,
            "interrupts": last.interrupts - first.interrupts,
        }
        if first_disk is not None and last_disk is not None:
            growth = [end - start for start, end in zip(first_disk, last_disk, strict=True)]
            if min(growth) >= 0:
                use |= zip(DiskReading._fields, growth, strict=True)
        return use

    def _read_disk(self) -> DiskReading | None:
        if self._disk_file is None:
            return None
        try:
            return parse_disk(read_bytes(self._disk_file))
        except (OSError, ValueError):
            return None


def probe_of(subject: Subject) -> HostProbe:
    """Return the probe of the host and the disk of a server's data."""
    return HostProbe(subject.data_directory)


def _seconds(first: int, last: int) -> Second:
    return max(0, last - first) * TICK_NS / 1_000_000_000
