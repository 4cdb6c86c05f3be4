"""What a specification asks for that this host, or servers that run already, cannot give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowdust.dbms.settings import host_memory_bytes
from slowdust.errors import UsageError
from slowdust.experiment.spec.contenders import PlannedContender
from slowdust.experiment.spec.errors import AtKeysError, at

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


_KEYS_OF_OWN_SERVERS = ("memory", "pool", "profile", "set", "waits")


def check_running_servers(planned: Sequence[PlannedContender], given: Iterable[str]) -> None:
    """Refuse what cannot be had of servers that run already; `given` are the keys with a value.

    Raises:
        AtKeysError: a key or a setting of a contender that they cannot have.
    """
    running = [contender for contender in planned if contender.name.url is not None]
    if not running:
        if "keep" in given:
            raise AtKeysError(
                "no contender is a running server, whose tables can be kept", ("keep",)
            )
        return
    assert running[0].name.url is not None
    first = running[0].name.url.text
    for key in _KEYS_OF_OWN_SERVERS:
        if key in given:
            raise AtKeysError(_refusal(first, key), (key,))
    for contender in running:
        assert contender.name.url is not None
        for key, is_given in {"set": contender.set, "slowed": contender.slowed is not None}.items():
            if is_given:
                with at("contenders", contender.place):
                    raise UsageError(_refusal(contender.name.url.text, key))


def _refusal(server: str, key: str) -> str:
    return (
        f"{server} runs already and is taken as it is: leave out {key}, which is for servers that "
        "Slowdust starts"
    )
