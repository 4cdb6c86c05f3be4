"""What was measured, of values that need not have been."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def known(values: Iterable[T | None]) -> list[T]:
    """Those that are there."""
    return [value for value in values if value is not None]
