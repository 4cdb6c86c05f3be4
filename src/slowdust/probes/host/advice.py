"""The machine in words: facts ready to print, and bad states with the command that mends them."""

from __future__ import annotations

from slowdust.probes.host.machine import Machine, Storage

_GIB = 1 << 30
_MIB = 1 << 20
_TURBO_OFF = {
    "intel": "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
    "other": "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
}

FREE_DISK_SHARE = 0.05
FREE_DISK_BYTES = 5 * _GIB
AVAILABLE_MEMORY_SHARE = 0.2
SWAP_USED_BYTES = 16 * _MIB
"""The swap that a machine may use after it has been up for a while."""
BUSY_CORES = 0.05
STEAL_SHARE = 0.01
SHOWN_PROCESSES = 3

_ON_OFF = {True: "on", False: "off", None: None}
_YES_NO = {True: "yes", False: "no", None: None}


def facts(machine: Machine) -> dict[str, str]:
    """Return label -> value, ready to print, in their order; unknown facts are left out."""
    labelled = {
        "CPU": machine.cpu_model,
        "Cores": _cores(machine),
        "Memory": f"{_gib(machine.memory_bytes)}, {_gib(machine.available_bytes)} available",
        "Kernel": machine.kernel,
        "Microcode": machine.microcode,
        "NUMA nodes": _text(machine.numa_nodes),
        "Frequency governor": ", ".join(machine.governors) or None,
        "Turbo": _ON_OFF[machine.turbo],
        "SMT": _ON_OFF[machine.smt],
        "Transparent huge pages": _huge_pages(machine),
        "Swap": _swap(machine),
        "Operating system": machine.operating_system,
        "Virtual machine": _YES_NO[machine.virtualised],
        "Steal since start": _percent(machine.steal_share),
        "Load average": " ".join(f"{load:.2f}" for load in machine.load_average),
        "Other busy processes": _busy(machine),
    } | _storage_facts(machine.storage)
    return {label: value for label, value in labelled.items() if value is not None}


def warnings(machine: Machine) -> list[str]:
    """Return bad states, each with the command that corrects it, the most harmful first."""
    return [
        *_other_work(machine),
        *_frequency(machine),
        *_memory(machine),
        *_disk(machine.storage),
    ]


def _other_work(machine: Machine) -> list[str]:
    states = [
        f"another process uses {process.cores:.0%} of a core: {process.name} (pid {process.pid}); "
        f"end it, or hold it meanwhile: kill -STOP {process.pid}"
        for process in machine.busy[:SHOWN_PROCESSES]
        if process.cores >= BUSY_CORES
    ]
    if machine.steal_share is not None and machine.steal_share >= STEAL_SHARE:
        states.append(
            f"the hypervisor gave {machine.steal_share:.1%} of the CPU time to other guests since "
            "the start; only a dedicated host avoids it: watch st in `vmstat 1`"
        )
    return states


def _frequency(machine: Machine) -> list[str]:
    states = []
    dynamic = [governor for governor in machine.governors if governor != "performance"]
    if dynamic:
        states.append(
            f"the frequency governor is {', '.join(dynamic)}, so the clock follows the load: "
            "sudo cpupower frequency-set -g performance"
        )
    if machine.turbo:
        command = _TURBO_OFF["intel" if "Intel" in (machine.cpu_model or "") else "other"]
        states.append(f"turbo is on, so the clock follows temperature and neighbours: {command}")
    if machine.smt:
        states.append(
            "SMT is on, so two threads may share one core: "
            "echo off | sudo tee /sys/devices/system/cpu/smt/control"
        )
    return states


def _memory(machine: Machine) -> list[str]:
    states = []
    if machine.huge_pages == "always":
        states.append(
            "transparent huge pages are always on, which moves CPU and memory use of databases: "
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
        )
    if machine.swap_used_bytes >= SWAP_USED_BYTES:
        states.append(
            f"{_gib(machine.swap_used_bytes)} of memory are in swap: "
            "sudo swapoff -a && sudo swapon -a"
        )
    if machine.available_bytes < machine.memory_bytes * AVAILABLE_MEMORY_SHARE:
        states.append(
            f"only {_gib(machine.available_bytes)} of {_gib(machine.memory_bytes)} memory are "
            "available; see what holds it: ps aux --sort=-rss | head"
        )
    return states


def _disk(storage: Storage) -> list[str]:
    states = []
    place = storage.directory
    low = max(FREE_DISK_BYTES, storage.total_bytes * FREE_DISK_SHARE)
    if storage.free_bytes < low:
        states.append(
            f"only {_gib(storage.free_bytes)} are free below {place}; see what fills it: "
            f"sudo du -xh --max-depth=2 {storage.mount_point or place} | sort -h | tail"
        )
    if storage.filesystem in ("tmpfs", "ramfs"):
        states.append(
            f"{place} lies in memory ({storage.filesystem}), so nothing of IO is measured; "
            "find a disk: df -h -x tmpfs"
        )
    if "sync" in storage.mount_options:
        states.append(
            f"{storage.mount_point} is mounted with sync, so each write waits for the disk: "
            f"sudo mount -o remount,async {storage.mount_point}"
        )
    if storage.scheduler in ("bfq", "cfq"):
        states.append(
            f"the scheduler {storage.scheduler} of {storage.disk} shares IO out between "
            f"processes: echo none | sudo tee /sys/block/{storage.disk}/queue/scheduler"
        )
    return states


def _storage_facts(storage: Storage) -> dict[str, str | None]:
    readahead, largest = storage.readahead_kib, storage.max_sectors_kib
    return {
        "Filesystem": storage.filesystem,
        "Mounted": storage.mount_point and f"{storage.mount_point} ({_options(storage)})",
        "Device": storage.device,
        "Device scheduler": storage.scheduler,
        "Read-ahead": None if readahead is None else f"{readahead} KiB",
        "Largest request": None if largest is None else f"{largest} KiB",
        "Free disk": f"{_gib(storage.free_bytes)} of {_gib(storage.total_bytes)}",
    }


def _options(storage: Storage) -> str:
    """Return mount options without those that name folders: an overlay's fill lines."""
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
    return f"{_gib(machine.swap_used_bytes)} used of {_gib(machine.swap_bytes)}"


def _busy(machine: Machine) -> str:
    shown = machine.busy[:SHOWN_PROCESSES]
    return ", ".join(f"{process.name} {process.cores:.0%}" for process in shown) or "none"


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.2%}"


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
