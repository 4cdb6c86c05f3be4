"""The probe of the whole host, and the mount and the block device of a directory.

It reads two kernel files directly: psutil opens /proc/stat twice and parses all of /proc/diskstats
for the same numbers, at ten times the cost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from slowdust.probes.probe import Subject
from slowdust.probes.server.procfs import TICK_NS, number_after, read_bytes, read_text
from slowdust.store.measured import Use
from slowdust.units import Second

_OCTAL = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """One line of /proc/self/mountinfo, see proc_pid_mountinfo(5)."""

    point: str
    filesystem: str
    source: str
    options: tuple[str, ...]
    """Options of the mount and of the filesystem, without duplicates."""


def parse_mounts(mountinfo: str) -> list[Mount]:
    """Parse mountinfo; malformed lines are skipped."""
    mounts = []
    for line in mountinfo.splitlines():
        place, separator, origin = line.partition(" - ")
        left, right = place.split(), origin.split()
        if not separator or len(left) < 6 or len(right) < 2:
            continue
        options = [*left[5].split(","), *(right[2].split(",") if len(right) > 2 else ())]
        mounts.append(
            Mount(
                point=_unescape(left[4]),
                filesystem=right[0],
                source=_unescape(right[1]),
                options=tuple(dict.fromkeys(options)),
            )
        )
    return mounts


def mount_holding(directory: Path, mounts: list[Mount]) -> Mount | None:
    """Return the mount of `directory`: the deepest, and the last mounted of equals."""
    holding = [mount for mount in mounts if directory.resolve().is_relative_to(mount.point)]
    return max(reversed(holding), key=lambda mount: len(mount.point), default=None)


def find_mount(directory: Path) -> Mount | None:
    """Return the mount of `directory`; None if mounts cannot be read."""
    return mount_holding(directory, parse_mounts(read_text("/proc/self/mountinfo") or ""))


def find_block_device(directory: Path) -> Path | None:
    """Return the folder in /sys of the disk, partition or volume of `directory`.

    Filesystems without their own device are resolved to the underlying one: the source of a btrfs
    mount, the upper directory of an overlay. None without a device (tmpfs, network), or if it is
    not visible (often in a container). Raises OSError if there is no such directory.
    """
    device = _sys_folder(directory.stat().st_dev)
    if device is not None:
        return device
    mount = find_mount(directory)
    if mount is None:
        return None
    source = Path(mount.source)
    if source.is_absolute() and source.is_block_device():
        return _sys_folder(source.stat().st_rdev)
    upper = [option[9:] for option in mount.options if option.startswith("upperdir=")]
    if upper and Path(upper[0]).is_dir():
        return _sys_folder(Path(upper[0]).stat().st_dev)
    return None


def find_queue(device: Path) -> Path:
    """Return the folder of the queue's settings; a partition uses its disk's."""
    own = device / "queue"
    return own if own.is_dir() else device.parent / "queue"


def _sys_folder(number: int) -> Path | None:
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    return folder.resolve() if folder.exists() else None


def _unescape(field: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)


_SECTOR_BYTES = 512
"""Unit of the kernel's block statistics, independent of the device's sectors."""


class HostReading(NamedTuple):
    """Counters of the host since boot: CPU in ticks of 10 ms over all cores."""

    user: int
    system: int
    idle: int
    iowait: int
    steal: int
    switches: int
    interrupts: int


class DiskReading(NamedTuple):
    """Requests and bytes that reached a block device since boot."""

    reads: int
    read_bytes: int
    writes: int
    write_bytes: int


def parse_host(content: bytes) -> HostReading:
    """Parse /proc/stat, see proc_stat(5). User time includes guests' time.

    Raises ValueError for another format.
    """
    if not content.startswith(b"cpu "):
        raise ValueError("/proc/stat does not begin with the sum over all CPUs")
    ticks = [int(field) for field in content[: content.index(b"\n")].split()[1:9]]
    ticks += [0] * (8 - len(ticks))
    user, nice, system, idle, iowait, irq, softirq, steal = ticks
    switches = number_after(content, b"\nctxt ")
    interrupt_line = content.find(b"\nintr ")
    if switches is None or interrupt_line < 0:
        raise ValueError("/proc/stat lacks context switches or interrupts")
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

    Raises ValueError for another format.
    """
    reads, _, read_sectors, _, writes, _, write_sectors = map(int, content.split()[:7])
    return DiskReading(reads, read_sectors * _SECTOR_BYTES, writes, write_sectors * _SECTOR_BYTES)


HostReadings = tuple[HostReading, DiskReading | None]


class HostProbe:
    """Reads the counters of the host and of the block device of `data_directory`.

    Raises OSError if there is no such directory.
    """

    name = "host"
    parts: Mapping[str, str] = {"writes": "disk"}

    def __init__(self, data_directory: Path) -> None:
        device = find_block_device(data_directory)
        self._disk_file = None if device is None else str(device / "stat")

    def read(self) -> HostReadings:
        """Read both; without the disk if the directory's device is unknown.

        Raises OSError or ValueError if /proc/stat cannot be read or parsed.
        """
        host = parse_host(read_bytes("/proc/stat"))
        return host, self._read_disk()

    def use(self, before: HostReadings, after: HostReadings) -> Use:
        """Return the host's use between two readings.

        `cpu_user_s`, `cpu_system_s`, `cpu_iowait_s`, `cpu_steal_s`, `cpu_idle_s`,
        `context_switches`, `interrupts`, and for the disk `reads`, `read_bytes`, `writes`,
        `write_bytes`. CPU times come in ticks of 10 ms over all cores: 5% of a slice of 0.1 s on
        two cores. The kernel's iowait and idle may run backwards when cores sleep; then they are 0.
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


def open_probe(subject: Subject) -> HostProbe:
    return HostProbe(subject.data_directory)


def _seconds(first: int, last: int) -> Second:
    return max(0, last - first) * TICK_NS / 1_000_000_000
