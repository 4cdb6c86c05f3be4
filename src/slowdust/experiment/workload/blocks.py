"""The BEGIN of a transaction, and the COMMIT or ROLLBACK that has to end it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from slowdust.experiment.spec.errors import AtKeysError, Keys
from slowdust.experiment.workload.sql import Parsed

_BEGINS = ("BEGIN",)
_ENDS = ("COMMIT", "ROLLBACK", "END", "ABORT")
_TO_SAVEPOINT = re.compile(r"\s*ROLLBACK\b(\s+(WORK|TRANSACTION))?\s+TO\b", re.IGNORECASE)


def check_blocks(steps: Iterable[tuple[Keys, Parsed]]) -> None:
    """Refuse statements that leave a BEGIN open, or that begin or end one out of turn.

    The next operation of the connection would be within it, and the locks of a transaction that
    never ends stop all other clients.

    Raises:
        AtKeysError: at the statement that is out of turn, or the BEGIN that nothing ends.
    """
    begun: Keys | None = None
    for keys, parsed in steps:
        if parsed.word in _BEGINS:
            if begun is not None:
                raise AtKeysError("BEGIN stands within another BEGIN: end that one before", keys)
            begun = keys
        elif parsed.word in _ENDS and not _TO_SAVEPOINT.match(parsed.parts[0]):
            if begun is None:
                raise AtKeysError(f"{parsed.word} has no BEGIN before it", keys)
            begun = None
    if begun is not None:
        raise AtKeysError("BEGIN has no COMMIT and no ROLLBACK behind it", begun)
