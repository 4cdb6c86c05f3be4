"""Checks of the processor: clock, threads and NUMA nodes."""

from __future__ import annotations

from slowdust.experiment.doctor.host import Check, Host, note, ok, problem, unknown, warning
from slowdust.store.finding import Finding

_CPUFREQ = "sys/devices/system/cpu/cpu0/cpufreq"
_TURBO_OFF = {
    "intel": "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
    "other": "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
}
_GOOD_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
"""Clock sources that are read without a system call."""


def governor(host: Host) -> Finding:
    """Check that the frequency governor keeps the clock at its maximum."""
    check, governors = "Frequency governor", host.machine.governors
    if not governors:
        return unknown(check, "The frequency governor")
    dynamic = [name for name in governors if name != "performance"]
    if not dynamic:
        return ok(check, "The frequency governor is performance.")
    lowest = host.number(f"{_CPUFREQ}/cpuinfo_min_freq")
    highest = host.number(f"{_CPUFREQ}/cpuinfo_max_freq")
    span = (
        f" The clock varies from {lowest / 1e6:.1f} to {highest / 1e6:.1f} GHz here, "
        f"a factor of {highest / lowest:.1f}."
        if lowest and highest
        else ""
    )
    return problem(
        check,
        f"The frequency governor is {', '.join(dynamic)}.",
        f"The clock follows the load, so a server that waits more also computes more slowly.{span}",
        "sudo cpupower frequency-set -g performance",
    )


def turbo(host: Host) -> Finding:
    """Check that the clock does not exceed its base frequency."""
    check = "Turbo"
    if host.machine.turbo is None:
        return unknown(check, "The state of turbo")
    if not host.machine.turbo:
        return ok(check, "Turbo is off.")
    base = host.number(f"{_CPUFREQ}/base_frequency")
    highest = host.number(f"{_CPUFREQ}/cpuinfo_max_freq")
    gain = f", up to {highest / base - 1:.0%} here" if base and highest else ""
    brand = "intel" if "Intel" in (host.machine.cpu_model or "") else "other"
    return warning(
        check,
        "Turbo is on.",
        "The clock exceeds its base frequency while few cores are busy and the processor is cool"
        f"{gain}.",
        _TURBO_OFF[brand],
    )


def threads(host: Host) -> Finding:
    """Check that each CPU is a separate core."""
    check = "SMT"
    if host.machine.smt is None:
        return unknown(check, "Whether cores run two threads (SMT)")
    if not host.machine.smt:
        return ok(check, "Each CPU is a separate core.")
    return warning(
        check,
        "SMT is on.",
        "Two CPUs share a core, so a client or another program on one slows the server on the "
        "other.",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
    )


def nodes(host: Host) -> Finding:
    """Check that all CPUs have the same distance to memory."""
    check, count = "NUMA nodes", host.machine.numa_nodes
    if count is None:
        return unknown(check, "The number of NUMA nodes")
    if count == 1:
        return ok(check, "There is one NUMA node.")
    return note(
        check,
        f"There are {count} NUMA nodes.",
        "Memory on another node is slower, and a server's memory may be on a different node after "
        "each start; use the CPUs of one node.",
        "slowdust compare --cpus $(cat /sys/devices/system/node/node0/cpulist) ...",
    )


def numa_balancing(host: Host) -> Finding:
    """Check that the kernel does not move memory between nodes."""
    check, state = "NUMA balancing", host.number("proc/sys/kernel/numa_balancing")
    if host.machine.numa_nodes == 1 or state == 0:
        return ok(check, "The kernel does not move memory between NUMA nodes.")
    if state is None:
        return unknown(check, "Whether the kernel moves memory between NUMA nodes")
    return warning(
        check,
        "NUMA balancing is on.",
        "The kernel unmaps pages to find their users, and moves them: page faults during slices.",
        "sudo sysctl kernel.numa_balancing=0",
    )


def clock_source(host: Host) -> Finding:
    """Check that reading the clock is fast."""
    check = "Clock source"
    source = host.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is None:
        return unknown(check, "The clock source")
    if source in _GOOD_CLOCKS:
        return ok(check, f"The clock source is {source}, which needs no system call.")
    return warning(
        check,
        f"The clock source is {source}.",
        "Each reading of the clock is a system call. Servers read it at least once per statement, "
        "and the driver once per operation.",
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
    )


def microcode(host: Host) -> Finding:
    """Check that the version of the microcode is known."""
    version = host.machine.microcode
    if version is None:
        return unknown("Microcode", "The version of the microcode")
    return ok("Microcode", f"The microcode is {version}.")


CHECKS: tuple[Check, ...] = (
    governor,
    turbo,
    threads,
    nodes,
    numa_balancing,
    clock_source,
    microcode,
)
