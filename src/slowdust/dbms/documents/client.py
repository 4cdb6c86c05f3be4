"""The settings of the client: what its commands are like, whatever the server is."""

from __future__ import annotations

from collections.abc import Mapping

from slowdust.dbms.access import Names
from slowdust.errors import UsageError

NAMES = "names"
"""The setting for the length of the names of fields, which every document holds."""


def names(values: Mapping[str, str]) -> Names:
    """Return the length of the names of fields, long unless short ones are wanted."""
    given = values.get(NAMES, Names.LONG.value)
    try:
        return Names(given)
    except ValueError:
        raise UsageError(f"{NAMES} = {given!r}: write long or short") from None


def without_names(values: Mapping[str, str]) -> dict[str, str]:
    """Return the settings without that of the client."""
    return {name: value for name, value in values.items() if name != NAMES}
