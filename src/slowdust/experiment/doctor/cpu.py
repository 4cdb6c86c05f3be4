"""Checks of the processor: its clock, its threads and its nodes of memory."""

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
    """Check that the frequency governor keeps the clock at its highest."""
    check, governors = "Frequency governor", host.machine.governors
    if not governors:
        return unknown(check, "The frequency governor")
    dynamic = [name for name in governors if name != "performance"]
    if not dynamic:
        return ok(check, "The frequency governor is performance.")
    lowest = host.number(f"{_CPUFREQ}/cpuinfo_min_freq")
    highest = host.number(f"{_CPUFREQ}/cpuinfo_max_freq")
    span = (
        f" It can be anywhere from {lowest / 1e6:.1f} to {highest / 1e6:.1f} GHz here, "
        f"a factor of {highest / lowest:.1f}."
        if lowest and highest
        else ""
    )
    return problem(
        check,
        f"The frequency governor is {', '.join(dynamic)}.",
        f"The clock follows the load, so a server that waits more also computes slower.{span}",
        "sudo cpupower frequency-set -g performance",
    )


def turbo(host: Host) -> Finding:
    """Check that the clock does not go beyond its base."""
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
        "The clock rises beyond its base as long as few cores are busy and the processor is cool"
        f"{gain}.",
        _TURBO_OFF[brand],
    )


def threads(host: Host) -> Finding:
    """Check that each CPU is a core of its own."""
    check = "SMT"
    if host.machine.smt is None:
        return unknown(check, "Whether cores run two threads (SMT)")
    if not host.machine.smt:
        return ok(check, "Each CPU is a core of its own.")
    return warning(
        check,
        "SMT is on.",
        "Two CPUs share a core, so a client or another program on one slows the server on the "
        "other.",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
    )


def nodes(host: Host) -> Finding:
    """Check that memory is equally far from all CPUs."""
    check, count = "NUMA nodes", host.machine.numa_nodes
    if count is None:
        return unknown(check, "The number of NUMA nodes")
    if count == 1:
        return ok(check, "There is one NUMA node.")
    return note(
        check,
        f"There are {count} NUMA nodes.",
        "Memory of another node is slower, and which node a server's memory is on may change from "
        "start to start; stay on the CPUs of one node.",
        "slowdust compare --cpus $(cat /sys/devices/system/node/node0/cpulist) ...",
    )


def numa_balancing(host: Host) -> Finding:
    """Check that the kernel does not move memory between nodes."""
    check, state = "NUMA balancing", host.number("proc/sys/kernel/numa_balancing")
    if host.machine.numa_nodes == 1 or state == 0:
        return ok(check, "The kernel moves no memory between NUMA nodes.")
    if state is None:
        return unknown(check, "Whether the kernel moves memory between NUMA nodes")
    return warning(
        check,
        "NUMA balancing is on.",
        "The kernel unmaps pages to see who uses them and moves them: page faults during slices.",
        "sudo sysctl kernel.numa_balancing=0",
    )


def clock_source(host: Host) -> Finding:
    """Check that the time can be read quickly."""
    check = "Clock source"
    source = host.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is None:
        return unknown(check, "The clock source")
    if source in _GOOD_CLOCKS:
        return ok(check, f"The clock source is {source}, read without a system call.")
    return warning(
        check,
        f"The clock source is {source}.",
        "Each reading of the time is a system call; servers read it once or more for every "
        "statement, and the driver for every operation.",
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
