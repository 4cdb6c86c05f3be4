"""Checks of kernel settings and process limits."""

from __future__ import annotations

from slowdust.experiment.count_method import ALLOW_PERF
from slowdust.experiment.doctor.host import Check, Host, note, ok, unknown, warning
from slowdust.store.finding import Finding

_FEW_FILES = 4096


def random_addresses(host: Host) -> Finding:
    """Check that each start of a server has a new memory layout."""
    check, state = "ASLR", host.number("proc/sys/kernel/randomize_va_space")
    if state is None:
        return unknown(check, "Whether addresses are random (ASLR)")
    if state == 0:
        return note(
            check,
            "Addresses are not random (ASLR is off).",
            "Every start of a server has the same memory layout, so its effect on caches looks "
            "like a property of the version; restarts cannot average it out.",
            "sudo sysctl kernel.randomize_va_space=2",
        )
    return ok(check, "Addresses are random (ASLR), so starts average over memory layouts.")


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
        "Only root may count kernel events and sample CPU time (--profile, --count pmu).",
        ALLOW_PERF,
    )


def kernel_pointers(host: Host) -> Finding:
    """Check whether kernel functions have names in profiles."""
    check, level = "kptr_restrict", host.number("proc/sys/kernel/kptr_restrict")
    if level is None:
        return unknown(check, "kernel.kptr_restrict")
    if level == 0:
        return ok(check, "kernel.kptr_restrict is 0.")
    return note(
        check,
        f"kernel.kptr_restrict is {level}.",
        "Kernel functions may have no names in profiles.",
        "sudo sysctl kernel.kptr_restrict=0",
    )


def tracing(host: Host) -> Finding:
    """Check whether processes of the same account may be traced."""
    check, scope = "ptrace scope", host.number("proc/sys/kernel/yama/ptrace_scope")
    if scope is None:
        # Without the module yama there is neither this file nor a restriction.
        if host.text("proc/sys/kernel/ostype") is None:
            return unknown(check, "kernel.yama.ptrace_scope")
        return ok(check, "Processes of the same account may be traced.")
    if scope == 0:
        return ok(check, "kernel.yama.ptrace_scope is 0.")
    return note(
        check,
        f"kernel.yama.ptrace_scope is {scope}.",
        "Only root can trace a running server with strace or a debugger.",
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
        "A server that wants more silently shrinks its table caches.",
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
