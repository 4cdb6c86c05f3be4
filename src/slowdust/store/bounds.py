"""Numbers that records may have: reading one that is out of its bounds is an error of the file.

A record that this Slowdust wrote is within them; one that was damaged, or written by hand, is
refused by name where it is read, and not by an error in the middle of an analysis.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Natural = Annotated[int, Meta(ge=0, le=(1 << 62))]
"""A whole number from 0 on."""
Ordinal = Annotated[int, Meta(ge=1, le=(1 << 62))]
"""A whole number from 1 on."""
Amount = Annotated[float, Meta(ge=0, le=1e30)]
"""A number from 0 on that is no infinity."""
Duration = Annotated[float, Meta(gt=0, le=1e12)]
"""Seconds, more than none."""
