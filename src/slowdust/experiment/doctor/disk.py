"""Checks of the disk of the data directory."""

from __future__ import annotations

from slowdust.experiment.doctor.host import Check, Host, note, ok, problem, unknown, warning
from slowdust.probes.host.machine import gib
from slowdust.store.finding import Finding
from slowdust.units import Second

FREE_SHARE = 0.05
FREE_BYTES = 5 << 30
SLOW_SYNC_S = 0.005
"""A flash disk with a queue of its own is far faster."""
UNEVEN_SYNCS = 20
"""The disk is uneven if its slowest sync takes this many times the median."""
FAST_SYNC_S = 0.00002
"""No disk is faster: the sync goes to memory."""
_LARGE_READ_AHEAD_KIB = 1024
_SMALL_REQUEST_KIB = 128


def free_space(host: Host) -> Finding:
    """Check that there is enough space for data."""
    storage = host.machine.storage
    state = f"{gib(storage.free_bytes)} of {gib(storage.total_bytes)} is free."
    if storage.free_bytes >= max(FREE_BYTES, storage.total_bytes * FREE_SHARE):
        return ok("Free disk", state)
    place = storage.mount_point or storage.directory
    return problem(
        "Free disk",
        state,
        f"Each contender has a data directory below {storage.directory}, and a nearly full "
        "filesystem or flash disk is slower.",
        f"sudo du -xh --max-depth=2 {place} | sort -h | tail",
    )


def filesystem(host: Host) -> Finding:
    """Check that the data is on a disk, and that the disk is not mounted synchronously."""
    check, storage = "Filesystem", host.machine.storage
    if storage.filesystem is None:
        return unknown(check, "The filesystem of the data directory")
    if storage.filesystem in ("tmpfs", "ramfs"):
        return problem(
            check,
            f"{storage.directory} is in memory ({storage.filesystem}).",
            "IO is not measured, and the data competes with servers for memory.",
            "export SLOWDUST_DATA=DIRECTORY   # on a disk; see df -h -x tmpfs",
        )
    if "sync" in storage.mount_options:
        return problem(
            check,
            f"{storage.mount_point} is mounted with sync.",
            "Each write waits for the disk, not only the writes that a server makes durable.",
            f"sudo mount -o remount,async {storage.mount_point}",
        )
    if storage.filesystem in ("overlay", "nfs", "nfs4", "fuse", "9p"):
        return warning(
            check,
            f"{storage.directory} is on {storage.filesystem}.",
            "IO passes an additional layer that production servers do not have; use a disk volume.",
            "export SLOWDUST_DATA=DIRECTORY   # see findmnt -D",
        )
    place = f"{storage.mount_point}, {storage.filesystem}"
    return ok(check, f"The data is on {place}.")


def access_times(host: Host) -> Finding:
    """Check that reads do not write access times."""
    check, storage = "Access times", host.machine.storage
    if not storage.mount_options:
        return unknown(check, "The mount options of the data directory")
    lazy = {"noatime", "relatime"} & set(storage.mount_options)
    if lazy:
        return ok(check, f"{storage.mount_point} is mounted with {', '.join(sorted(lazy))}.")
    return note(
        check,
        f"{storage.mount_point} records access times.",
        "Reading a file also writes its inode.",
        f"sudo mount -o remount,noatime {storage.mount_point}",
    )


def scheduler(host: Host) -> Finding:
    """Check that the device's scheduler does not divide IO between processes."""
    check, storage = "Device scheduler", host.machine.storage
    if storage.scheduler is None:
        return unknown(check, "The scheduler of the data directory's device")
    if storage.scheduler not in ("bfq", "cfq"):
        return ok(check, f"The scheduler of {storage.disk} is {storage.scheduler}.")
    return warning(
        check,
        f"The scheduler of {storage.disk} is {storage.scheduler}.",
        "It divides IO between processes, so a server with many processes gets more than one with "
        "many threads.",
        f"echo none | sudo tee /sys/block/{storage.disk}/queue/scheduler",
    )


def read_ahead(host: Host) -> Finding:
    """Check that reading one page does not read many more."""
    check, storage = "Read-ahead", host.machine.storage
    if storage.readahead_kib is None:
        return unknown(check, "The read-ahead of the data directory's device")
    state = f"The read-ahead of {storage.disk} is {storage.readahead_kib} KiB."
    if storage.readahead_kib <= _LARGE_READ_AHEAD_KIB:
        return ok(check, state)
    return note(
        check,
        state,
        "Scans through the page cache, such as Postgres', read up to this much in advance.",
        f"echo 128 | sudo tee /sys/block/{storage.disk}/queue/read_ahead_kb",
    )


def largest_request(host: Host) -> Finding:
    """Check that requests to the device are not split into small ones."""
    check, storage = "Largest request", host.machine.storage
    if storage.max_sectors_kib is None:
        return unknown(check, "The largest request of the data directory's device")
    state = f"The largest request of {storage.disk} is {storage.max_sectors_kib} KiB."
    if storage.max_sectors_kib >= _SMALL_REQUEST_KIB:
        return ok(check, state)
    path = f"/sys/block/{storage.disk}/queue"
    return note(
        check,
        state,
        "Large writes, such as compaction's, are split into many requests.",
        f"cat {path}/max_hw_sectors_kb | sudo tee {path}/max_sectors_kb",
    )


def sync_speed(host: Host) -> Finding:
    """Measure a write with fdatasync in the data directory."""
    check = "Speed of fsync"
    try:
        syncs = host.syncs(host.machine.storage.directory)
    except OSError as error:
        return unknown(check, f"The time of fsync ({error.strerror})")
    median = syncs.median_s
    state = (
        f"A write of 8 KiB with fsync takes {_written(median)}; the slowest of {syncs.number} "
        f"took {_written(syncs.slowest_s)}."
    )
    bound = (
        f"A client that waits for one such write per commit reaches about {1 / median:,.0f} "
        "commits/s here (measured for half a second)."
    )
    if median < FAST_SYNC_S:
        effect = (
            "The write does not reach a disk, so durable commits are cheaper here than elsewhere."
        )
        return note(check, state, effect)
    if median > SLOW_SYNC_S:
        return warning(check, state, bound, "iostat -x 1 3   # or sudo iotop -o -b -n 3")
    if syncs.slowest_s > UNEVEN_SYNCS * median:
        return note(check, state, f"{bound} The slowest writes stall single commits.")
    return ok(check, f"{state} {bound}")


def _written(time: Second) -> str:
    return f"{time * 1e3:.1f} ms" if time >= 0.001 else f"{time * 1e6:.0f} us"


CHECKS: tuple[Check, ...] = (
    free_space,
    filesystem,
    access_times,
    scheduler,
    read_ahead,
    largest_request,
    sync_speed,
)
