"""The mount and the block device that hold a directory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from slowdust.probes.server.procfs import read_text

_OCTAL = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """One line of /proc/self/mountinfo, see proc_pid_mountinfo(5)."""

    point: str
    filesystem: str
    source: str
    options: tuple[str, ...]
    """Options of the mount and of the filesystem, without repetition."""


def parse_mounts(mountinfo: str) -> list[Mount]:
    """Parse mountinfo; lines of another form are left out."""
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
    """Return the mount of `directory`: the deepest, and of equals the last mounted."""
    holding = [mount for mount in mounts if directory.resolve().is_relative_to(mount.point)]
    return max(reversed(holding), key=lambda mount: len(mount.point), default=None)


def mount_of(directory: Path) -> Mount | None:
    """Return the mount on which `directory` lies; None where mounts cannot be read."""
    return mount_holding(directory, parse_mounts(read_text("/proc/self/mountinfo") or ""))


def block_device_of(directory: Path) -> Path | None:
    """Return the folder in /sys of the disk, partition or volume that holds `directory`.

    Filesystems without a device of their own are followed to the one below: the source of a btrfs
    mount, the upper directory of an overlay. None where there is none (tmpfs, network) or where it
    cannot be seen from here (in a container, often).

    Raises:
        OSError: no such directory.
    """
    device = _sys_folder(directory.stat().st_dev)
    if device is not None:
        return device
    mount = mount_of(directory)
    if mount is None:
        return None
    source = Path(mount.source)
    if source.is_absolute() and source.is_block_device():
        return _sys_folder(source.stat().st_rdev)
    upper = [option[9:] for option in mount.options if option.startswith("upperdir=")]
    if upper and Path(upper[0]).is_dir():
        return _sys_folder(Path(upper[0]).stat().st_dev)
    return None


def queue_of(device: Path) -> Path:
    """Return the folder of the queue's settings: a partition uses its disk's."""
    own = device / "queue"
    return own if own.is_dir() else device.parent / "queue"


def _sys_folder(number: int) -> Path | None:
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    return folder.resolve() if folder.exists() else None


def _unescape(field: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)
