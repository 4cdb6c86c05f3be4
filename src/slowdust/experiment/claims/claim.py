"""The claim of an experiment: the CPUs that it measures on, and the disk that its tests write to.

Slowdust places clients and servers on CPUs of its choice, so two experiments on the same CPUs
would sit on top of each other; and two that write to one disk share its queue. The second one
waits. CPUs are claimed before any server starts, builds are fetched before that.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path

from slowdust.benchmarks.steps import StepBenchmark
from slowdust.errors import SlowdustError
from slowdust.experiment.claims.cpus import format_cpus, keeping_to
from slowdust.experiment.claims.locks import Holder, LockedError, held
from slowdust.experiment.driver.placement import usable_cpus
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.instances.owner import instances_root
from slowdust.probes.host.use import block_device_of, mount_of, queue_of
from slowdust.units import Second

_LOOK_EVERY: Second = 0.5
_IN_MEMORY = ("tmpfs", "ramfs")
_CPU = "cpu-"
_DISK = "disk-"


class WhenBusy(Enum):
    """What an experiment does whose CPUs or disk another one has claimed."""

    WAIT = "wait"
    FAIL = "fail"


@contextmanager
def claimed(spec: Spec, when_busy: WhenBusy, view: View) -> Iterator[list[int]]:
    """Claim the experiment's CPUs, and the disk if it writes; keep to these CPUs meanwhile.

    Yields the open files of its locks: a process that inherits them shares the claim.

    Raises:
        SlowdustError: another experiment has claimed some of it, and waiting is not wanted.
    """
    cpus = spec.cpus or usable_cpus()
    names = [f"{_CPU}{cpu}" for cpu in cpus]
    disk = disk_of(instances_root()) if writes(spec) else None
    if disk is not None:
        names.append(f"{_DISK}{disk}")
    with ExitStack() as stack:
        locks = _wait_for(names, spec.name, when_busy, view, stack)
        stack.enter_context(keeping_to(cpus))
        yield locks


def writes(spec: Spec) -> bool:
    """Return whether a test of the experiment writes to the disk while it is measured."""
    return isinstance(spec.configured_benchmark(), StepBenchmark) or any(
        test.changes_data for test in spec.chosen_tests()
    )


def disk_of(directory: Path) -> str | None:
    """Return the name of the disk that holds a directory, whatever the partition.

    Where its device is unknown (a network file system, a container), the number of the file system
    stands in for it. None where the directory lies in memory.

    Raises:
        OSError: no such directory.
    """
    mount = mount_of(directory)
    if mount is not None and mount.filesystem in _IN_MEMORY:
        return None
    device = block_device_of(directory)
    if device is None:
        number = directory.stat().st_dev
        return f"{os.major(number)}-{os.minor(number)}"
    return re.sub(r"[^A-Za-z0-9_-]", "-", queue_of(device).parent.name)


def _wait_for(
    names: list[str], experiment: str, when_busy: WhenBusy, view: View, stack: ExitStack
) -> list[int]:
    """Hold the locks until the stack is closed; return their open files."""
    begun = time.monotonic()
    while True:
        try:
            return stack.enter_context(held(names, Holder.here(experiment)))
        except LockedError as locked:
            who = describe(locked.holders)
            if when_busy is WhenBusy.FAIL:
                raise SlowdustError(f"not started: {who}") from None
            view.waiting(f"waiting: {who}", time.monotonic() - begun)
            time.sleep(_LOOK_EVERY)


def describe(holders: dict[str, Holder | None]) -> str:
    """Say who measures on what: `NAME (process 4711 of root, since 19:03:20) measures on CPUs 0-1`.

    `holders` are those of locks, by the locks' names.
    """
    by_holder: dict[Holder | None, list[str]] = {}
    for name, holder in holders.items():
        by_holder.setdefault(holder, []).append(name)
    return "; ".join(
        f"{holder or 'an unknown process'} measures on {_resources(names)}"
        for holder, names in by_holder.items()
    )


def _resources(names: list[str]) -> str:
    cpus = [int(name.removeprefix(_CPU)) for name in names if name.startswith(_CPU)]
    disks = [name.removeprefix(_DISK) for name in names if name.startswith(_DISK)]
    parts = [f"CPU{'s' if len(cpus) > 1 else ''} {format_cpus(cpus)}"] if cpus else []
    parts += [f"disk {disk}" for disk in disks]
    return " and ".join(parts)
