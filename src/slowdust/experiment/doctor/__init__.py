"""The checks of the host: one module per subject, each with its `CHECKS`.

To add a check, write a function from a `Host` to a finding, and add it to `CHECKS` of its module.
"""

from __future__ import annotations

from slowdust.experiment.doctor import cpu, disk, kernel, load, memory, tools
from slowdust.experiment.doctor.host import Check, Host
from slowdust.store.finding import Finding, by_severity

CHECKS: tuple[Check, ...] = (
    *load.CHECKS,
    *cpu.CHECKS,
    *memory.CHECKS,
    *disk.CHECKS,
    *kernel.CHECKS,
    *tools.CHECKS,
)


def examine(host: Host) -> list[Finding]:
    return by_severity([check(host) for check in CHECKS])


def worse(before: list[Finding], now: list[Finding]) -> list[Finding]:
    """Return the more severe of two findings for each check, and the earlier of equal ones.

    A resumed experiment has been measured in both states.
    """
    earlier = {finding.check: finding for finding in before}
    pairs = [by_severity([earlier.pop(own.check, own), own])[0] for own in now]
    return by_severity([*pairs, *earlier.values()])
