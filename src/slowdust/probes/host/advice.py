"""The machine in words: facts ready to print."""

from __future__ import annotations

from slowdust.probes.host.machine import Machine, Storage

_GIB = 1 << 30
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
