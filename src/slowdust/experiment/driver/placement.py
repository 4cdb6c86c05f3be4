"""The placement of clients, and of the server processes that serve them, on CPUs.

A client that waits for its answer and the process that gives it wake each other up all the time.
Whether the scheduler has put both on one CPU or on two moves throughput by a factor (of five to
ten on a virtual machine, where waking another CPU means leaving the guest), and it changes its mind
from one second to the next: no number of slices averages that away. So each client shares one CPU
with its own server process, the same CPU for every contender, and more clients than CPUs take turns
on them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import cycle, islice


def cpus_of_clients(clients: int, usable: Sequence[int]) -> list[int]:
    """Return the CPU of each client; with more clients than CPUs they take turns.

    The last CPUs are taken first: the first ones serve the machine's interrupts.
    """
    return list(islice(cycle(sorted(usable, reverse=True)), clients))


def cpus_of_connections(clients: int, usable: Sequence[int]) -> list[int] | None:
    """Return CPUs for the connections of a long step; None where more clients than CPUs are.

    A client has several connections, so all CPUs are named: the driver seats queries, or writers
    where there are no queries, by client, and what writes beside queries on the CPU after.
    """
    return sorted(usable, reverse=True) if clients <= len(usable) else None


def usable_cpus() -> list[int]:
    """Return the CPUs that this process may use."""
    return sorted(os.sched_getaffinity(0))


def keep_on(processes: Sequence[int], cpus: Sequence[int]) -> None:
    """Let each process (or thread) run on its CPU alone. Raises OSError where one is gone."""
    for process, cpu in zip(processes, cpus, strict=True):
        os.sched_setaffinity(process, {cpu})
