"""Bounds of numbers in records: reading a number out of bounds is an error of the file.

Records that Slowdust wrote are within the bounds. A damaged or hand-written record fails when it is
read, with the name of the field, and not in the middle of an analysis.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

MOST_CONTENDERS = 500
"""Maximum number of contenders of an experiment. A report of that many takes a few seconds."""
MOST_SLICES = 500_000
"""Maximum number of slices of an experiment: 8 hours' worth. Their report takes minutes."""
Natural = Annotated[int, Meta(ge=0, le=(1 << 62))]
Ordinal = Annotated[int, Meta(ge=1, le=(1 << 62))]
"""A whole number from 1 on."""
Amount = Annotated[float, Meta(ge=0, le=1e30)]
"""A finite number from 0 on."""
Span = Annotated[float, Meta(ge=0, le=3e6)]
"""Seconds of a window, at most five weeks: charts have a point per second."""
Duration = Annotated[float, Meta(gt=0, le=3e6)]
"""Seconds of a window, more than 0."""
Rate = Annotated[float, Meta(gt=0, le=1e30)]
"""Operations per second, more than 0."""
