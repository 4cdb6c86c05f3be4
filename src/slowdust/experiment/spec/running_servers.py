"""What cannot be asked of servers that run already, which others started."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowdust.errors import UsageError
from slowdust.experiment.spec.contenders import PlannedContender
from slowdust.experiment.spec.errors import AtKeysError, at

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
