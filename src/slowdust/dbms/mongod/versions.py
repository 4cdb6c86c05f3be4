"""The versions of mongod, and of the servers that were made from it."""

from __future__ import annotations

import re

from slowdust.errors import SlowdustError

_OLDEST = (3, 6)
"""The first version with OP_MSG, the only kind of message that the driver sends."""
_TOKUMX = "-mongodb-"
"""A part of TokuMX's version: 2.0.1-mongodb-2.4.10."""


def version_of(version: str) -> tuple[int, int]:
    """Return (7, 0) for '7.0.14', and for '7.0.14-8' of Percona."""
    numbers = re.match(r"(\d+)\.(\d+)\.", version)
    if numbers is None:
        raise SlowdustError(f"the version {version} is not X.Y.Z")
    return int(numbers.group(1)), int(numbers.group(2))


def why_unusable(version: str) -> str | None:
    """Say why the driver cannot speak with a server of this version; None where it can."""
    own, tokumx, base = version.partition(_TOKUMX)
    if tokumx:
        return (
            f"TokuMX {own} speaks the protocol of MongoDB {base}, which Slowdust does not: "
            "3.6 is the first version with the one that it speaks"
        )
    if version_of(version) < _OLDEST:
        return f"mongodb {version} speaks an older protocol than Slowdust does: choose 3.6 or newer"
    return None
