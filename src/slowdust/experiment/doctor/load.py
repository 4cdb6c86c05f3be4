"""Checks of other load on the machine, and of the usable CPU time."""

from __future__ import annotations

import math

from slowdust.experiment.doctor.groups import cpus_allowed
from slowdust.experiment.doctor.host import Check, Host, note, ok, problem, unknown, warning
from slowdust.store.finding import Finding
from slowdust.wording import listing

BUSY_CORES = 0.05
"""Programs above this share of a core are named."""
BUSY_HOST = 0.25
"""Other programs above this share of all CPUs are a problem."""
STEAL_SHARE = 0.01
_SHOWN = 3


def other_programs(host: Host) -> Finding:
    """Check the CPU time of other programs during half a second."""
    check = "Other programs"
    busy = [process for process in host.machine.busy if process.cores >= BUSY_CORES]
    if not busy:
        return ok(check, f"No other program uses more than {BUSY_CORES:.0%} of a core.")
    names = listing([f"{p.name} (pid {p.pid}) {p.cores:.0%}" for p in busy[:_SHOWN]])
    rest = f" and {len(busy) - _SHOWN} more" if len(busy) > _SHOWN else ""
    total = sum(process.cores for process in busy)
    pids = " ".join(str(process.pid) for process in busy[:_SHOWN])
    share = total / host.machine.usable_cpus
    return (problem if share >= BUSY_HOST else warning)(
        check,
        f"Other programs use {total:.0%} of a core: {names}{rest}.",
        f"They take {share:.0%} of the CPU time of {host.machine.usable_cpus} CPUs, at "
        "unpredictable times.",
        f"kill -STOP {pids}   # suspends them; kill -CONT {pids} resumes",
    )


def load_average(host: Host) -> Finding:
    """Check the load average relative to the number of CPUs."""
    check, load = "Load", host.machine.load_average
    cpus = host.machine.usable_cpus
    state = f"The load average is {load[0]:.2f}, {load[1]:.2f} and {load[2]:.2f} on {cpus} CPUs."
    if load[0] < cpus / 2:
        return ok(check, state)
    effect = "That many threads were running, ready or waiting for a disk before the measurement."
    return (warning if load[0] >= cpus else note)(check, state, effect, "top -b -n 1 | head -20")


def steal(host: Host) -> Finding:
    """Check the CPU time that other guests of the hypervisor took."""
    check = "Steal time"
    share = host.machine.steal_share
    if host.machine.virtualised is False:
        return ok(check, "This is not a virtual machine.")
    if share is None:
        return unknown(check, "The time that other virtual machines take")
    state = f"Other virtual machines took {share:.2%} of the CPU time since boot."
    if share < STEAL_SHARE:
        return ok(check, state)
    effect = "While another guest runs, a server is suspended; only a dedicated host avoids it."
    return warning(check, state, effect, "vmstat 1 10   # the column st")


def virtual_machine(host: Host) -> Finding:
    """Check whether the machine is a guest."""
    check = "Virtual machine"
    if host.machine.virtualised is None:
        return unknown(check, "Whether this is a virtual machine")
    if not host.machine.virtualised:
        return ok(check, "This is not a virtual machine.")
    return note(
        check,
        "This is a virtual machine.",
        "Its neighbours change the speed of CPUs and disks invisibly; `slowdust calibrate` "
        "measures the smallest difference that can still be detected.",
    )


def usable_cpus(host: Host) -> Finding:
    """Check whether this process may run on all CPUs."""
    check, usable, cpus = "CPUs", host.machine.usable_cpus, host.machine.cpus
    if cpus is None:
        return unknown(check, "The number of CPUs")
    state = f"{usable} of {cpus} CPUs can be used."
    if usable < 2:
        return warning(
            check, state, "Clients and servers share one CPU, so they wait for each other."
        )
    if usable < cpus:
        effect = (
            "Other programs run on the rest, and share caches, memory and the clock with these."
        )
        return note(check, state, effect, "taskset -cp $$")
    return ok(check, state)


def cpu_limit(host: Host) -> Finding:
    """Check the CPU quota of control groups."""
    check = "Limit of CPU time"
    cpus = cpus_allowed(host)
    if cpus is None:
        return unknown(check, "The limit of control groups")
    if math.isinf(cpus):
        return ok(check, "No control group limits the CPU time.")
    return problem(
        check,
        f"A control group limits the CPU time to {cpus:g} CPUs.",
        "When a period's quota is used up, all threads are suspended until the next period: up to "
        "0.1 s by default, in the middle of a slice.",
        "docker update --cpus 4 CONTAINER   # or as many as the measurement needs",
    )


CHECKS: tuple[Check, ...] = (
    other_programs,
    load_average,
    steal,
    virtual_machine,
    usable_cpus,
    cpu_limit,
)
