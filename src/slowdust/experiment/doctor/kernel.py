"""Checks of settings of the kernel and limits of processes."""

from __future__ import annotations

from slowdust.experiment.count_method import ALLOW_PERF
from slowdust.experiment.doctor.host import Check, Host, note, ok, unknown, warning
from slowdust.store.finding import Finding

_FEW_FILES = 4096


def random_addresses(host: Host) -> Finding:
    """Check whether memory is laid out anew at each start of a server."""
    check, state = "ASLR", host.number("proc/sys/kernel/randomize_va_space")
    if state is None:
        return unknown(check, "Whether addresses are random (ASLR)")
    if state == 0:
        return note(
            check,
            "Addresses are not random (ASLR is off).",
            "Every start of a server has the same layout of memory, so its luck with caches looks "
            "like a property of the version; incarnations cannot average over it.",
            "sudo sysctl kernel.randomize_va_space=2",
        )
    return ok(check, "Addresses are random (ASLR), so incarnations average over layouts.")


def perf_paranoia(host: Host) -> Finding:
    """Check whether this account may use perf."""
    check, level = "perf_event_paranoid", host.number("proc/sys/kernel/perf_event_paranoid")
    if level is None:
        return unknown(check, "kernel.perf_event_paranoid")
    if level <= 1:
        return ok(check, f"kernel.perf_event_paranoid is {level}.")
    return note(
        check,
        f"kernel.perf_event_paranoid is {level}.",
        "Only root may count events of the kernel and see where CPU time goes (--profile, "
        "--count pmu).",
        ALLOW_PERF,
    )


def kernel_pointers(host: Host) -> Finding:
    """Check whether functions of the kernel have names in profiles."""
    check, level = "kptr_restrict", host.number("proc/sys/kernel/kptr_restrict")
    if level is None:
        return unknown(check, "kernel.kptr_restrict")
    if level == 0:
        return ok(check, "kernel.kptr_restrict is 0.")
    return note(
        check,
        f"kernel.kptr_restrict is {level}.",
        "Functions of the kernel may have no names in profiles.",
        "sudo sysctl kernel.kptr_restrict=0",
    )


def tracing(host: Host) -> Finding:
    """Check whether programs of the same account may be traced."""
    check, scope = "ptrace scope", host.number("proc/sys/kernel/yama/ptrace_scope")
    if scope is None:
        # Without the module yama there is no such file, and no restriction.
        if host.text("proc/sys/kernel/ostype") is None:
            return unknown(check, "kernel.yama.ptrace_scope")
        return ok(check, "Programs of the same account may be traced.")
    if scope == 0:
        return ok(check, "kernel.yama.ptrace_scope is 0.")
    return note(
        check,
        f"kernel.yama.ptrace_scope is {scope}.",
        "A running server can be traced by strace or a debugger only by root.",
        "sudo sysctl kernel.yama.ptrace_scope=0",
    )


def open_files(host: Host) -> Finding:
    """Check the limit of open files."""
    check, (soft, hard) = "Open files", host.open_files
    if soft < 0 or soft >= _FEW_FILES:
        limit = "no limit" if soft < 0 else f"{soft:,}"
        return ok(check, f"The limit of open files is {limit}.")
    return warning(
        check,
        f"A process may open {soft:,} files.",
        "A server with fewer than it wants makes its caches of tables smaller, without an error.",
        f"ulimit -n {hard if hard >= 0 else 65536}",
    )


def version(host: Host) -> Finding:
    """Check that the kernel's version is known."""
    return ok("Kernel", f"The kernel is {host.machine.kernel}.")


CHECKS: tuple[Check, ...] = (
    random_addresses,
    perf_paranoia,
    kernel_pointers,
    tracing,
    open_files,
    version,
)
