"""Cells of printed tables."""

from __future__ import annotations

import math


def is_number(text: str) -> bool:
    """Whether it is one, and finite."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
