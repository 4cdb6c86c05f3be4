"""`slowdust --version`."""

from __future__ import annotations

from slowdust import __version__
from slowdust.store.measured import PRINTED_SCHEMA
from slowdust.store.slice import SCHEMA


def version_text() -> str:
    """Return the version with the schemas of stored files, as docs/compatibility.md explains."""
    return (
        f"slowdust {__version__} (stored files: writes schemas {SCHEMA} to {PRINTED_SCHEMA}, reads "
        f"1 to {PRINTED_SCHEMA})"
    )
