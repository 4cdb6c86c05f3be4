"""Verdicts, and what they are about."""

from __future__ import annotations

from typing import Literal

Verdict = Literal["faster", "slower", "same", "unsure"]
Amount = Literal["less", "more", "same", "unsure"]
"""Verdict on a metric of which no amount is good or bad in itself."""
Basis = Literal["typical", "all time"]
"""The ratio that a verdict is about: that of typical blocks, or that of totals."""
