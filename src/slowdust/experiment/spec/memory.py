"""The memory of the host, and of contenders, that page caches of a given size need."""

from __future__ import annotations

from slowdust.dbms.settings import host_memory_bytes
from slowdust.errors import UsageError
from slowdust.experiment.spec.errors import at

_MB = 1 << 20


def check_pool(pool: int | None, memory: int | None, contenders: int) -> None:
    """Refuse page caches for which so many contenders, side by side, have not the memory.

    Raises:
        AtKeysError: one is larger than the `memory` of a contender, or all together than the
            host's.
    """
    if pool is None:
        return
    host = host_memory_bytes()
    with at("pool"):
        if memory is not None and pool > memory:
            raise UsageError(f"{_mb(pool)} are more than a contender's memory of {_mb(memory)}")
        if pool * contenders > host:
            each = f" for each of {contenders} contenders" if contenders > 1 else ""
            raise UsageError(f"{_mb(pool)}{each} are more than the host's memory of {_mb(host)}")


def _mb(size: int) -> str:
    return f"{size / _MB:,.0f} MB"
