"""Hardware per operation: totals over slices / operations.

An operation is one transaction of the test, also where the throughput is in rows/s: for `scan`
it is one scan of a whole table. Each value counts the slices that measured it, and the
operations of those slices alone; what no slice measured is absent. Over the totals, not the mean
of the slices' quotients: short slices with few operations would weigh as much as full ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import msgspec

from slowdust.analysis.model import PerOperation
from slowdust.store.records import ClientUse, HostUse, ServerUse, Slice, UsePerOperation
from slowdust.units import known

_US_PER_S = 1e6
_KB_PER_BYTE = 1 / 1024

_Reading = Callable[[Slice], float | None]


def _of_server(read: Callable[[ServerUse], float | None]) -> _Reading:
    return lambda piece: None if piece.server is None else read(piece.server)


def _of_host(read: Callable[[HostUse], float | None]) -> _Reading:
    return lambda piece: None if piece.host is None else read(piece.host)


def _of_client(read: Callable[[ClientUse], float]) -> _Reading:
    return lambda piece: None if piece.client is None else read(piece.client)


_READINGS: dict[str, tuple[float, _Reading]] = {
    "server_cpu_us": (_US_PER_S, _of_server(lambda use: use.cpu_s)),
    "server_cpu_user_us": (_US_PER_S, _of_server(lambda use: use.cpu_user_s)),
    "server_cpu_system_us": (_US_PER_S, _of_server(lambda use: use.cpu_system_s)),
    "host_cpu_us": (_US_PER_S, _of_host(lambda use: use.cpu_user_s + use.cpu_system_s)),
    "client_cpu_us": (_US_PER_S, _of_client(lambda use: use.cpu_user_s + use.cpu_system_s)),
    "cs": (1, _of_server(lambda use: use.context_switches)),
    "host_cs": (1, _of_host(lambda use: use.context_switches)),
    "client_cs": (1, _of_client(lambda use: use.voluntary_switches + use.involuntary_switches)),
    "reads": (1, _of_host(lambda use: use.reads)),
    "writes": (1, _of_host(lambda use: use.writes)),
    "read_kb": (_KB_PER_BYTE, _of_server(lambda use: use.read_bytes)),
    "write_kb": (_KB_PER_BYTE, _of_server(lambda use: use.write_bytes)),
    "host_read_kb": (_KB_PER_BYTE, _of_host(lambda use: use.read_bytes)),
    "host_write_kb": (_KB_PER_BYTE, _of_host(lambda use: use.write_bytes)),
}
"""Field of `PerOperation` -> factor to its unit, and where a slice has it."""


def per_operation(slices: Sequence[Slice]) -> PerOperation:
    """Totals over `slices` (of one step and contender) / operations.

    Of archived runs, which have no totals, the mean of what they say.
    """
    found = PerOperation(
        **{field: _quotient(slices, *reading) for field, reading in _READINGS.items()}
    )
    archived = [piece.per_op for piece in slices if piece.per_op is not None]
    for field in UsePerOperation.__struct_fields__:
        values: list[float] = known(getattr(use, field) for use in archived)
        if values:
            setattr(found, field, fmean(values))
    return found


def _quotient(slices: Sequence[Slice], factor: float, read: _Reading) -> float | None:
    total, operations = 0.0, 0
    for piece in slices:
        value = read(piece)
        if value is not None and piece.operations is not None:
            total += value
            operations += piece.operations
    return total * factor / operations if operations else None


def relative_to(base: PerOperation, contender: PerOperation) -> PerOperation:
    """Each value of the contender / the base's; absent where the base's is 0 or absent."""
    ours, theirs = msgspec.structs.asdict(contender), msgspec.structs.asdict(base)
    return PerOperation(
        **{
            field: value / theirs[field]
            for field, value in ours.items()
            if value is not None and theirs[field]
        }
    )
