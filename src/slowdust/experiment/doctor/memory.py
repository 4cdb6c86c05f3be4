"""Checks of memory: huge pages, swap and size."""

from __future__ import annotations

from slowdust.experiment.doctor.groups import memory_allowed
from slowdust.experiment.doctor.host import Check, Host, note, ok, problem, unknown, warning
from slowdust.probes.host.machine import gib
from slowdust.store.finding import Finding

AVAILABLE_SHARE = 0.2
SWAP_USED_BYTES = 16 << 20
"""Swap that a machine may use after some uptime."""


def huge_pages(host: Host) -> Finding:
    """Check that programs get huge pages only on request."""
    check, chosen = "Transparent huge pages", host.machine.huge_pages
    if chosen is None:
        return unknown(check, "The setting of transparent huge pages")
    if chosen != "always":
        return ok(check, f"Transparent huge pages are set to {chosen}.")
    return warning(
        check,
        "Transparent huge pages are always on.",
        "Whether a server gets them depends on the fragmentation of memory when it starts, "
        "so CPU and memory use change from start to start.",
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
    )


def swap(host: Host) -> Finding:
    """Check that swap is not in use."""
    check, machine = "Swap", host.machine
    if machine.swap_bytes == 0:
        return ok(check, "There is no swap.")
    state = f"{gib(machine.swap_used_bytes)} of {gib(machine.swap_bytes)} swap is used."
    if machine.swap_used_bytes < SWAP_USED_BYTES:
        return ok(check, state)
    effect = "Reading a page back from swap is IO that a server does not account for."
    return warning(check, state, effect, "sudo swapoff -a && sudo swapon -a")


def swappiness(host: Host) -> Finding:
    """Check that the kernel prefers dropping caches to swapping."""
    check, state = "Swappiness", host.number("proc/sys/vm/swappiness")
    if host.machine.swap_bytes == 0:
        return ok(check, "There is no swap, so vm.swappiness has no effect.")
    if state is None:
        return unknown(check, "The setting vm.swappiness")
    if state <= 10:
        return ok(check, f"vm.swappiness is {state}.")
    return note(
        check,
        f"vm.swappiness is {state}.",
        "Under heavy IO the kernel may swap out parts of buffer pools.",
        "sudo sysctl vm.swappiness=1",
    )


def available(host: Host) -> Finding:
    """Check that there is enough memory for the servers."""
    check, machine = "Free memory", host.machine
    state = f"{gib(machine.available_bytes)} of {gib(machine.memory_bytes)} memory is available."
    if machine.available_bytes >= machine.memory_bytes * AVAILABLE_SHARE:
        return ok(check, state)
    effect = "Page caches shrink, and programs are swapped out or killed while servers run."
    return problem(check, state, effect, "ps aux --sort=-rss | head")


def group_limit(host: Host) -> Finding:
    """Check the memory limit of control groups."""
    check = "Limit of memory"
    limit = memory_allowed(host)
    if limit is None:
        return unknown(check, "The limit of control groups")
    if limit >= host.machine.memory_bytes:
        return ok(check, "No control group limits the memory.")
    return note(
        check,
        f"A control group limits the memory to {gib(int(limit))}.",
        "The limit includes the page cache; buffer pools are sized by the memory of the machine, "
        f"{gib(host.machine.memory_bytes)}.",
        "docker update --memory 8g --memory-swap 8g CONTAINER   # or as much as the servers need",
    )


CHECKS: tuple[Check, ...] = (huge_pages, swap, swappiness, available, group_limit)
