"""The interface of a probe: it is read twice, and tells what was used between the readings.

A new probe is a module of a room here with a class of this shape and a function
`probe_of(subject: Subject)` that makes one, and a row in `analysis/metrics.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from slowdust.store.measured import Use

_log = logging.getLogger(__name__)

Reading = TypeVar("Reading")

FAILURES = (OSError, ValueError, LookupError)
"""Exceptions that a probe may raise: files that vanish, are forbidden, or have another form."""


@dataclass(frozen=True)
class Subject:
    """The running server that probes are about."""

    pid: int
    """The server's main process."""
    data_directory: Path


class Probe(Protocol[Reading]):
    """A source of readings, of which two make a use."""

    @property
    def name(self) -> str:
        """Name of the probe in a slice's uses and in the table of metrics."""
        ...

    @property
    def parts(self) -> Mapping[str, str]:
        """Quantity -> name of the part that could not be measured where a use lacks it."""
        ...

    def read(self) -> Reading:
        """Read the totals so far.

        Raises:
            OSError, ValueError, LookupError: they cannot be read now.
        """
        ...

    def use(self, before: Reading, after: Reading) -> Use:
        """Return the quantities used between two readings; what is not known is absent."""
        ...


AnyProbe = Probe[Any]


class ClosedProbe:
    """A probe that could not be opened: its readings fail."""

    parts: Mapping[str, str] = {}

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self) -> None:
        """Fail.

        Raises:
            OSError: always.
        """
        raise OSError(f"the probe {self.name} could not be opened")

    def use(self, before: None, after: None) -> Use:
        """Return nothing: there is no reading."""
        del before, after
        return {}


def attempt(probe: Probe[Reading]) -> Reading | None:
    """Read a probe; None where it cannot be read."""
    try:
        return probe.read()
    except FAILURES as failure:
        _log.debug("probe %s skipped: %s", probe.name, failure)
        return None


def use_between(probe: Probe[Reading], before: Reading | None, after: Reading | None) -> Use | None:
    """Return what was used between two readings; None where one is missing or they do not fit."""
    try:
        return None if before is None or after is None else probe.use(before, after)
    except FAILURES as failure:
        _log.debug("probe %s skipped: %s", probe.name, failure)
        return None
