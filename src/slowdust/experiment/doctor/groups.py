"""Limits of control groups of both versions, inside and outside of containers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import PurePosixPath

from slowdust.experiment.doctor.host import Host

_ROOT = "sys/fs/cgroup"


def cpus_allowed(host: Host) -> float | None:
    """Return the smallest CPU quota of this process's groups, in CPUs.

    Infinity without a quota; None if control groups cannot be read.
    """
    limits = []
    for folder in _folders(host, "cpu"):
        if (limit := host.text(f"{folder}/cpu.max")) is not None:  # '200000 100000', 'max 100000'
            limits.append(_ratio(*limit.partition(" ")[::2]))
        elif (quota := host.text(f"{folder}/cpu.cfs_quota_us")) is not None:  # -1 without one
            limits.append(_ratio(quota, host.text(f"{folder}/cpu.cfs_period_us") or ""))
    return _least(host, limits)


def memory_allowed(host: Host) -> float | None:
    """Return the smallest memory limit of this process's groups, in bytes.

    Infinity without a limit; None if control groups cannot be read.
    """
    limits = [
        _ratio(text, "1")
        for folder in _folders(host, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
        if (text := host.text(f"{folder}/{name}")) is not None
    ]
    return _least(host, limits)


def _folders(host: Host, controller: str) -> Iterator[str]:
    """Yield the folders of this process's groups and their ancestors, see cgroups(7).

    A container often sees its own group as the root; its path on the host differs.
    """
    for line in (host.text("proc/self/cgroup") or "0::/").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0":
            root = _ROOT
        elif controller in controllers.split(","):
            root = f"{_ROOT}/{controller}"
        else:
            continue
        group = PurePosixPath(path or "/")
        for level in (group, *group.parents):
            yield f"{root}/{str(level).strip('/')}".rstrip("/")


def _ratio(limit: str, unit: str) -> float:
    """Return limit / unit; infinity for 'max', a negative limit or an invalid number."""
    try:
        ratio = int(limit) / int(unit)
    except (ValueError, ZeroDivisionError):
        return math.inf
    return ratio if ratio >= 0 else math.inf


def _least(host: Host, limits: list[float]) -> float | None:
    """Return the smallest limit; the root group of version 2 has no limit and no file for it."""
    if not limits and host.text(f"{_ROOT}/cgroup.controllers") is None:
        return None
    return min(limits, default=math.inf)
