"""Times of an operation, and what a change of their sum consists of. Pure arithmetic.

The time per operation of a closed loop is T = C * seconds / operations for C clients. A client's
time is spent in the session's user CPU, its system CPU, the client's own CPU, or waiting:

    T = U + S + K + W

where U, S and K are measured and W is what they leave. More clients than CPUs wait for a CPU most
of the time, and all parts grow alike when one of them does: so T counts no more clients than CPUs,
and W is the time in which a CPU had nothing to do for this experiment.

The change of T is shared out by the logarithmic mean Divisia index (LMDI-I: Ang and Liu 2001,
Energy 26; Ang 2004, Energy Policy 32; Ang 2015, Energy Policy 86), which leaves no residual:

    part x of a sum      L(x', x) / L(T', T) * ln(x' / x)  =  (x' - x) / L(T', T)
    factor f of x        L(x', x) / L(T', T) * ln(f' / f)
    L(a, b)              (a - b) / ln(a / b), and a if a = b

The first form has no logarithm of x, so that W may be 0, or negative by an error of measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.analysis.comparison.location import FloatArray
from slowdust.analysis.comparison.relative import total_of
from slowdust.store.slice import Slice

QUANTITIES = ("time", "operations", "server", "sampled", "user", "client")
"""Totals of a block and contender: the clients' time, operations, the server's CPU, that of slices
which tell user from system mode, the user CPU of these, the client's CPU; in seconds."""
_CLIENT = ("cpu_user_s", "cpu_system_s")


@dataclass(frozen=True)
class Times:
    """Seconds per operation; arrays whose last axis is the contender and the base."""

    total: FloatArray
    server: FloatArray
    """CPU time of all of the server's processes."""
    user: FloatArray | None
    """The part of it in user mode; None if nothing tells them apart."""
    client: FloatArray

    @property
    def waiting(self) -> FloatArray:
        """The rest; negative where threads of the server work beside the session."""
        rest: FloatArray = self.total - self.server - self.client
        return rest


def slice_totals(record: Slice, cpus: int | None) -> list[float] | None:
    """Return the `QUANTITIES` of a slice; None if the time or a CPU time was not measured."""
    measured = record.measured
    server, client = measured.used("server", "cpu_s"), measured.used("client", *_CLIENT)
    _, seconds = total_of(record)
    operations = measured.operations
    if server is None or client is None or seconds is None or operations is None:
        return None
    user = measured.used("server", "cpu_user_s")
    busy = min(record.place.clients, cpus or record.place.clients)
    sampled = 0.0 if user is None else server
    return [busy * seconds, operations, server, sampled, user or 0.0, client]


def times_of(totals: FloatArray) -> Times:
    """Return times per operation from totals of shape (..., 2, quantities)."""
    time, operations, server, sampled, user, client = np.moveaxis(totals, -1, 0)
    has_modes = bool((sampled > 0).all())
    return Times(
        total=time / operations,
        server=server / operations,
        user=server / operations * user / sampled if has_modes else None,
        client=client / operations,
    )


def log_mean(values: FloatArray) -> FloatArray:
    """Return the logarithmic mean of the pairs along the last axis, both positive."""
    a, b = values[..., 0], values[..., 1]
    logs = np.log(a / b)
    small = np.abs(logs) < 1e-6
    mean: FloatArray = np.where(small, (a + b) / 2, (a - b) / np.where(small, 1.0, logs))
    return mean


def change_of(part: FloatArray, total: FloatArray) -> FloatArray:
    """Return what a part adds to ln(total of the contender / of the base)."""
    change: FloatArray = (part[..., 0] - part[..., 1]) / log_mean(total)
    return change


def block_totals(blocks: Sequence[Sequence[Sequence[Slice]]], cpus: int | None) -> FloatArray:
    """Return the totals of blocks, each the slices of the contender and of the base.

    The shape is (blocks, 2, quantities); a block of which a slice lacks one is left out.
    """
    totals = []
    for block in blocks:
        sides = [[slice_totals(record, cpus) for record in side] for side in block]
        complete = [[row for row in side if row is not None] for side in sides]
        if all(len(rows) == len(side) for rows, side in zip(complete, sides, strict=True)):
            totals.append([np.sum(rows, axis=0) for rows in complete])
    return np.array(totals, dtype=np.float64).reshape(-1, 2, len(QUANTITIES))
