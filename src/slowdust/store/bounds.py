"""Numbers that records may have: reading one that is out of its bounds is an error of the file.

A record that this Slowdust wrote is within them; one that was damaged, or written by hand, is
refused by name where it is read, and not by an error in the middle of an analysis.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

MOST_CONTENDERS = 500
"""Contenders of an experiment: a report over as many takes some seconds, and nobody reads more."""
MOST_SLICES = 500_000
"""Slices of an experiment: 8 hours of the usual length, of which a report takes minutes."""
Natural = Annotated[int, Meta(ge=0, le=(1 << 62))]
Ordinal = Annotated[int, Meta(ge=1, le=(1 << 62))]
"""A whole number from 1 on."""
Amount = Annotated[float, Meta(ge=0, le=1e30)]
"""A number from 0 on that is no infinity."""
Span = Annotated[float, Meta(ge=0, le=3e6)]
"""Seconds of a window, at most five weeks: charts have a point for each."""
Duration = Annotated[float, Meta(gt=0, le=3e6)]
"""Seconds of a window, more than none."""
Rate = Annotated[float, Meta(gt=0, le=1e30)]
"""Operations in a second, more than none."""
