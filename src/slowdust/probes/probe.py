"""The interface of a probe: it is read twice, and reports the use between the two readings.

A new probe is a module in a subpackage with a class of this interface and a function
`open_probe(subject: Subject)` that creates it, and a row in `analysis/metrics.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from slowdust.store.measured import Use
from slowdust.units import Second, known

_log = logging.getLogger(__name__)

Reading = TypeVar("Reading")

FAILURES = (OSError, ValueError, LookupError)
"""Exceptions that a probe may raise: files that vanish, are forbidden, or have another format."""
STATES = {"vsz_bytes", "rss_bytes", "processes", "cpus", "threads"}
"""Quantities that are a state at the end of a window instead of an amount."""


@dataclass(frozen=True)
class Subject:
    """The running server that probes read."""

    pid: int
    data_directory: Path


class Probe(Protocol[Reading]):
    """A source of readings; two readings make a use."""

    @property
    def name(self) -> str:
        """Name of the probe in a slice's uses and in the table of metrics."""
        ...

    @property
    def parts(self) -> Mapping[str, str]:
        """Quantity -> name of the part to list as skipped if a use lacks the quantity."""
        ...

    def read(self) -> Reading:
        """Read the totals so far.

        Raises OSError, ValueError or LookupError if they cannot be read now.
        """
        ...

    def use(self, before: Reading, after: Reading) -> Use:
        """Return the quantities used between two readings; unknown ones are absent."""
        ...


AnyProbe = Probe[Any]


class ClosedProbe:
    """A probe that could not be opened: its readings fail."""

    parts: Mapping[str, str] = {}

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self) -> None:
        raise OSError(f"the probe {self.name} could not be opened")

    def use(self, before: None, after: None) -> Use:
        del before, after
        return {}


def attempt(probe: Probe[Reading]) -> Reading | None:
    try:
        return probe.read()
    except FAILURES as failure:
        _log.debug("probe %s skipped: %s", probe.name, failure)
        return None


def use_between(probe: Probe[Reading], before: Reading | None, after: Reading | None) -> Use | None:
    """Return the use between two readings; None if one is missing or they do not match."""
    try:
        return None if before is None or after is None else probe.use(before, after)
    except FAILURES as failure:
        _log.debug("probe %s skipped: %s", probe.name, failure)
        return None


@dataclass(kw_only=True)
class WindowUse:
    """The use of one window; fields as in `Measured`."""

    uses: dict[str, Use]
    seconds: Second
    """Time from before the first probe's first reading to after its last: includes the slice."""
    skipped: list[str]
    """Probes that could not be read, and absent parts of uses (`server.io`)."""

    def __add__(self, later: WindowUse) -> WindowUse:
        """Add the uses of two windows of the same probes; quantities that one lacks are absent."""
        return WindowUse(
            uses={
                name: _added(use, later.uses[name])
                for name, use in self.uses.items()
                if name in later.uses
            },
            seconds=self.seconds + later.seconds,
            skipped=sorted({*self.skipped, *later.skipped}),
        )

    def take_switches(self, samples: Sequence[float | None]) -> None:
        """Replace missing context switches of the server by the sum of samples.

        They are missing if a process exited: its counter is lost. In a window of many seconds
        some processes always exit: autovacuum's, or parallel workers of an index. The sum of the
        samples lacks only their last second. None is a failed sample.
        """
        server = self.uses.get("server")
        if server is None or "context_switches" in server or None in samples:
            return
        server["context_switches"] = sum(known(samples))
        self.skipped.remove("server.switches")


def _added(use: Use, later: Use) -> Use:
    return {
        quantity: later[quantity] if quantity in STATES else amount + later[quantity]
        for quantity, amount in use.items()
        if quantity in later
    }


class Window:
    """The probes of one contender's slices, reused for each slice.

    The driver is idle at both moments, so operations and uses match without synchronized clocks.
    Probes are read in order when the window opens and in reverse order when it closes. A failing
    probe is listed as skipped.
    """

    def __init__(self, probes: Sequence[AnyProbe]) -> None:
        self._probes = list(probes)
        self._first: list[Any] = []
        self._opened: float | None = None

    def open(self) -> None:
        """Take the first readings. The load must be idle."""
        self._opened = time.monotonic()
        self._first = [attempt(probe) for probe in self._probes]

    def close(self) -> WindowUse:
        """Take the last readings, and return the use. The load must be idle.

        Raises RuntimeError if the window is not open.
        """
        if self._opened is None:
            raise RuntimeError("the window is not open")
        last = [attempt(probe) for probe in reversed(self._probes)]
        seconds = time.monotonic() - self._opened
        self._opened = None
        uses: dict[str, Use] = {}
        skipped = []
        for probe, first, reading in zip(self._probes, self._first, reversed(last), strict=True):
            use = use_between(probe, first, reading)
            if use is None:
                skipped.append(probe.name)
                continue
            uses[probe.name] = use
            parts = [part for quantity, part in probe.parts.items() if quantity not in use]
            skipped += [f"{probe.name}.{part}" for part in parts]
        return WindowUse(uses=uses, seconds=seconds, skipped=skipped)
