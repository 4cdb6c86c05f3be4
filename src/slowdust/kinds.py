"""The kinds of results of other programs that are imported, and whose files are written."""

from __future__ import annotations

from slowdust.archive import KINDS as ARCHIVES
from slowdust.exchange import Kind

KINDS: tuple[Kind, ...] = ARCHIVES
"""All kinds; a file that two own is of the first."""
