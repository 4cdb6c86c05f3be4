"""What others did beside a slice: the CPU time of other programs, and what the disk wrote."""

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


def writes_of_others(record: Slice) -> float | None:
    """Return the bytes that the disk wrote in a contender's chunks beyond those of its server.

    The kernel goes on to write the pages of a server that stands still. Whose pages a disk writes
    is not known, but how much it wrote and how much the server handed over: what is more than that
    was of others. This is a lower bound, since pages of the server's own may be written in the
    turns of others. None where one of the two was not measured, and for steps without chunks.
    """
    if record.step is None or not record.step.chunks:
        return None
    disk = record.measured.used("host", "write_bytes")
    server = record.measured.used("server", "write_bytes")
    return None if disk is None or server is None else max(0.0, disk - server)
