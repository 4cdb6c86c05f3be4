"""Checks of programs that some features need."""

from __future__ import annotations

from collections.abc import Callable

from slowdust.experiment.count_method import (
    Missing,
    check_pmu,
    check_sampling,
    check_valgrind,
)
from slowdust.experiment.doctor.host import Check, Host, note, ok
from slowdust.store.finding import Finding


def counting_by(check: str, feature: str, examine: Callable[[], str | Missing]) -> Check:
    """Return a check that tries a way to count or sample."""

    def run(host: Host) -> Finding:
        del host
        version = examine()
        if isinstance(version, Missing):
            return note(check, version.reason, f"{feature} is not available.", version.remedy)
        return ok(check, f"{version} works: {feature} is available.")

    return run


def program(check: str, names: tuple[str, ...], feature: str, package: str) -> Check:
    """Return a check that one of the programs `names` is installed."""

    def run(host: Host) -> Finding:
        paths = [path for name in names if (path := host.program(name)) is not None]
        if paths:
            return ok(check, f"{paths[0]}: {feature} is available.")
        state = f"{' or '.join(names)} is not installed."
        return note(check, state, f"{feature} is not available.", f"sudo apt install {package}")

    return run


CHECKS: tuple[Check, ...] = (
    counting_by("PMU", "Counting instructions at full speed (--count pmu)", check_pmu),
    counting_by("perf", "Sampling of functions (--profile)", check_sampling),
    counting_by("valgrind", "Counting instructions without a PMU (--count)", check_valgrind),
    program("C compiler", ("cc", "gcc", "clang"), "Calibration with delays", "gcc libc6-dev"),
    program("strace", ("strace",), "Manual tracing of system calls", "strace"),
    program("npm", ("npm",), "Fetching builds from npm", "npm"),
    program("mvn", ("mvn",), "Fetching builds from Maven", "maven"),
    program("apt-get", ("apt-get",), "Fetching builds from Debian", "apt"),
)
