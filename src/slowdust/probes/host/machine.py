"""Facts of the machine that affect results, for the manifest and the report.

They are read once per experiment, unlike the other probes. Unreadable facts are absent.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from slowdust.probes.host.use import find_block_device, find_mount, find_queue
from slowdust.probes.server.procfs import read_text
from slowdust.units import Second

_CPUS = Path("/sys/devices/system/cpu")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
_BRACKETED = re.compile(r"\[([^]]+)\]")
_NOTABLE_CORES = 0.02
"""A process below 2% of a core is not reported as busy."""
_GIB = 1 << 30
SHOWN_PROCESSES = 3
_ON_OFF = {True: "on", False: "off", None: None}
_YES_NO = {True: "yes", False: "no", None: None}


class BusyProcess(NamedTuple):
    """A process of another program that used CPU during the watch."""

    pid: int
    name: str
    cores: float


@dataclass(frozen=True, kw_only=True)
class Storage:
    """The storage of the data directory."""

    directory: Path
    free_bytes: int
    total_bytes: int
    filesystem: str | None = None
    mount_point: str | None = None
    mount_options: tuple[str, ...] = ()
    device: str | None = None
    """Disk, partition or volume."""
    disk: str | None = None
    """The device with the queue: the disk, if `device` is a partition of it."""
    scheduler: str | None = None
    readahead_kib: int | None = None
    max_sectors_kib: int | None = None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Facts of the machine."""

    cpu_model: str | None
    microcode: str | None
    cpus: int | None
    """Logical processors."""
    cores: int | None
    usable_cpus: int
    """Logical processors that this process may use."""
    numa_nodes: int | None
    governors: tuple[str, ...]
    """Distinct frequency governors of the cores."""
    turbo: bool | None
    smt: bool | None
    memory_bytes: int
    available_bytes: int
    swap_bytes: int
    swap_used_bytes: int
    huge_pages: str | None
    huge_pages_defrag: str | None
    operating_system: str | None
    kernel: str
    virtualised: bool | None
    load_average: tuple[float, float, float]
    steal_share: float | None
    """Stolen time / all CPU time since boot; None if unknown."""
    busy: tuple[BusyProcess, ...]
    storage: Storage


def read_machine(
    data_directory: Path, *, ours: Collection[int] = (), watch_s: Second = 0.5
) -> Machine:
    """Read the machine; watches the other processes for `watch_s` seconds.

    `ours` are main processes of our own servers: they and their descendants are not "others".
    Raises OSError if there is no such directory.
    """
    cpuinfo = read_text("/proc/cpuinfo") or ""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    files = _CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")
    return Machine(
        cpu_model=_cpu_fact(cpuinfo, "model name"),
        microcode=_cpu_fact(cpuinfo, "microcode"),
        cpus=psutil.cpu_count(),
        cores=psutil.cpu_count(logical=False),
        usable_cpus=len(os.sched_getaffinity(0)),
        numa_nodes=len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        governors=tuple(sorted({text for file in files if (text := read_text(str(file)))})),
        turbo=_turbo(_CPUS),
        smt=_flag(_CPUS / "smt/active"),
        memory_bytes=memory.total,
        available_bytes=memory.available,
        swap_bytes=swap.total,
        swap_used_bytes=swap.used,
        huge_pages=chosen(read_text(str(_HUGE_PAGES / "enabled"))),
        huge_pages_defrag=chosen(read_text(str(_HUGE_PAGES / "defrag"))),
        operating_system=_operating_system(),
        kernel=platform.release(),
        virtualised=_virtualised(cpuinfo),
        load_average=os.getloadavg(),
        steal_share=_steal_share() if _virtualised(cpuinfo) else None,
        busy=_busy_processes(ours, watch_s),
        storage=_storage(data_directory),
    )


def identity() -> dict[str, str]:
    facts = {
        "CPU": _cpu_fact(read_text("/proc/cpuinfo") or "", "model name"),
        "CPUs": psutil.cpu_count(),
        "cores": psutil.cpu_count(logical=False),
        "memory": gib(psutil.virtual_memory().total),
        "name": platform.node(),
    }
    return {label: str(value) for label, value in facts.items() if value is not None}


def chosen(choices: str | None) -> str | None:
    """Return the bracketed choice of 'always [madvise] never', as the kernel prints choices."""
    match = _BRACKETED.search(choices or "")
    return match[1] if match else choices or None


def _cpu_fact(cpuinfo: str, label: str) -> str | None:
    match = re.search(rf"^{label}\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return match[1].strip() if match else None


def _turbo(cpus: Path) -> bool | None:
    """Return whether turbo is on: Intel has a switch to disable it, others one to enable it."""
    denied = _flag(cpus / "intel_pstate/no_turbo")
    return _flag(cpus / "cpufreq/boost") if denied is None else not denied


def _flag(file: Path) -> bool | None:
    number = _number(file)
    return None if number is None else number != 0


def _number(file: Path) -> int | None:
    text = read_text(str(file))
    return int(text) if text is not None and text.isdecimal() else None


def _operating_system() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _virtualised(cpuinfo: str) -> bool | None:
    """Return whether this is a guest: x86 hypervisors set a CPU flag, others use files."""
    flags = _cpu_fact(cpuinfo, "flags")
    if flags is not None:
        return "hypervisor" in flags.split()
    return True if Path("/sys/hypervisor/type").exists() else None


def _steal_share() -> float | None:
    times = psutil.cpu_times()
    steal = getattr(times, "steal", None)
    total = sum(times) - getattr(times, "guest", 0) - getattr(times, "guest_nice", 0)
    return None if steal is None or total <= 0 else steal / total


def _busy_processes(ours: Collection[int], watch_s: Second) -> tuple[BusyProcess, ...]:
    """Return other processes by the CPU used during the watch, the busiest first.

    Processes that start or exit meanwhile are missed: the state of the machine matters, not blips.
    """
    pids = {os.getpid(), *ours}
    processes = set(pids)
    for pid in pids:
        try:
            processes |= {child.pid for child in psutil.Process(pid).children(recursive=True)}
        except psutil.Error:
            continue
    excluded = processes
    before = _cpu_of_all(psutil.process_iter(), excluded)
    started = time.monotonic()
    time.sleep(watch_s)
    after = _cpu_of_all(before, excluded)
    elapsed = time.monotonic() - started
    busy = []
    for watched, cpu_s in after.items():
        cores = (cpu_s - before[watched]) / elapsed
        if cores >= _NOTABLE_CORES:
            busy.append(BusyProcess(watched.pid, _name(watched), cores))
    return tuple(sorted(busy, key=lambda process: -process.cores))


def _cpu_of_all(
    processes: Iterable[psutil.Process], excluded: Collection[int]
) -> dict[psutil.Process, Second]:
    cpu: dict[psutil.Process, Second] = {}
    for watched in processes:
        if watched.pid in excluded:
            continue
        try:
            times = watched.cpu_times()
        except psutil.Error:
            continue
        cpu[watched] = times.user + times.system
    return cpu


def _name(watched: psutil.Process) -> str:
    try:
        return watched.name()
    except psutil.Error:
        return "?"


def _storage(directory: Path) -> Storage:
    space = shutil.disk_usage(directory)
    mount, device = find_mount(directory), find_block_device(directory)
    queue = None if device is None else find_queue(device)
    return Storage(
        directory=directory,
        free_bytes=space.free,
        total_bytes=space.total,
        filesystem=mount.filesystem if mount else None,
        mount_point=mount.point if mount else None,
        mount_options=mount.options if mount else (),
        device=device.name if device else None,
        disk=queue.parent.name if queue else None,
        scheduler=chosen(read_text(str(queue / "scheduler"))) if queue else None,
        readahead_kib=_number(queue / "read_ahead_kb") if queue else None,
        max_sectors_kib=_number(queue / "max_sectors_kb") if queue else None,
    )


def describe_machine(machine: Machine) -> dict[str, str]:
    """Return label -> printable value, in order, without unknown facts."""
    shown = machine.busy[:SHOWN_PROCESSES]
    storage = machine.storage
    readahead, largest = storage.readahead_kib, storage.max_sectors_kib
    labelled = {
        "CPU": machine.cpu_model,
        "Cores": _cores(machine),
        "Memory": f"{gib(machine.memory_bytes)}, {gib(machine.available_bytes)} available",
        "Kernel": machine.kernel,
        "Microcode": machine.microcode,
        "NUMA nodes": (None if machine.numa_nodes is None else str(machine.numa_nodes)),
        "Frequency governor": ", ".join(machine.governors) or None,
        "Turbo": _ON_OFF[machine.turbo],
        "SMT": _ON_OFF[machine.smt],
        "Transparent huge pages": _huge_pages(machine),
        "Swap": _swap(machine),
        "Operating system": machine.operating_system,
        "Virtual machine": _YES_NO[machine.virtualised],
        "Steal since start": (
            None if machine.steal_share is None else f"{machine.steal_share:.2%}"
        ),
        "Load average": " ".join(f"{load:.2f}" for load in machine.load_average),
        "Other busy processes": (
            ", ".join(f"{process.name} {process.cores:.0%}" for process in shown) or "none"
        ),
        "Filesystem": storage.filesystem,
        "Mounted": storage.mount_point and f"{storage.mount_point} ({_options(storage)})",
        "Device": storage.device,
        "Device scheduler": storage.scheduler,
        "Read-ahead": None if readahead is None else f"{readahead} KiB",
        "Largest request": None if largest is None else f"{largest} KiB",
        "Free disk": f"{gib(storage.free_bytes)} of {gib(storage.total_bytes)}",
    }
    return {label: value for label, value in labelled.items() if value is not None}


def _options(storage: Storage) -> str:
    """Return the mount options without folder names: an overlay's fill lines."""
    return ",".join(option for option in storage.mount_options if "dir=" not in option)


def _cores(machine: Machine) -> str | None:
    if machine.cpus is None:
        return None
    parts = [f"{machine.cpus} logical"]
    if machine.cores is not None:
        parts.append(f"{machine.cores} physical")
    if machine.usable_cpus != machine.cpus:
        parts.append(f"{machine.usable_cpus} usable")
    return ", ".join(parts)


def _huge_pages(machine: Machine) -> str | None:
    if machine.huge_pages is None or machine.huge_pages_defrag is None:
        return machine.huge_pages
    return f"{machine.huge_pages} (defrag {machine.huge_pages_defrag})"


def _swap(machine: Machine) -> str:
    if machine.swap_bytes == 0:
        return "none"
    return f"{gib(machine.swap_used_bytes)} used of {gib(machine.swap_bytes)}"


def gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"
