"""The CPU time that other programs used beside a slice."""

from __future__ import annotations

from typing import NamedTuple

from slowdust.store.measured import OTHERS
from slowdust.store.slice import Slice
from slowdust.units import Second


class OthersUse(NamedTuple):
    """What programs that are not of the experiment used in one window."""

    cpu_s: Second
    """CPU time on the CPUs of the experiment."""
    cpus: float
    """Number of these CPUs."""
    seconds: Second
    """Length of the window."""

    @property
    def busy(self) -> float:
        """The number of CPUs that they kept busy on average."""
        return min(self.cpus, self.cpu_s / self.seconds)


def use_of_others(record: Slice) -> OthersUse | None:
    """Return what other programs used; None where it was not measured."""
    cpu_s, cpus = record.measured.used(OTHERS, "cpu_s"), record.measured.used(OTHERS, "cpus")
    seconds = window(record)
    return OthersUse(cpu_s, cpus, seconds) if cpu_s is not None and cpus and seconds else None


def window(record: Slice) -> Second:
    """Return the length of a slice's window; 0 where it is unknown."""
    return record.measured.probe_seconds or record.measured.seconds or 0.0
