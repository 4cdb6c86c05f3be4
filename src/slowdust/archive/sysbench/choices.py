"""What the user of an import may choose."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from slowdust.formats.sysbench.rates import ScanRule


class Mode(StrEnum):
    """What is made of the files."""

    CLEAN = "clean"
    """Numbers without the known errors of the published ones."""
    COMPAT = "compat"
    """The published numbers, to the last digit."""


@dataclass(frozen=True)
class Choices:
    """How runs of sysbench are read."""

    mode: Mode = Mode.CLEAN
    device: str | None = None
    """Part of a device's name in iostat; None: the one with the most traffic."""
    scan: ScanRule | None = None
    """None: by what reproduces the published rates, or by date."""
    clients: int | None = None
    """Of tables that do not tell."""
