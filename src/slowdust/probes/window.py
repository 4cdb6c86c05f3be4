"""One window over all probes: opened right before the driver's slice, closed right after it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from slowdust.probes.host.use import DiskReading, HostProbe, HostReading, host_use
from slowdust.probes.server.process import CpuReading, ServerProbe, ServerReading
from slowdust.probes.server.use import cpu_seconds, server_use
from slowdust.store.records import HostUse, ServerUse
from slowdust.units import Second

_log = logging.getLogger(__name__)

_FAILURES = (OSError, ValueError, LookupError)
"""What a probe may raise: files that vanish, are forbidden, or are not what we know."""

_Reading = TypeVar("_Reading")


@dataclass(kw_only=True)
class WindowUse:
    """What was used in one window; the fields of a slice's record of the same names."""

    server: ServerUse | None
    host: HostUse | None
    idle_cpu_s: dict[str, Second]
    probe_seconds: Second
    """From before the first probe's first reading to after its last: contains the slice."""
    skipped: list[str]
    """What could not be measured: `server`, `server.io`, `server.switches`, `host`, `host.disk`,
    `idle.CONTENDER`."""


@dataclass
class _Opened:
    at: float
    idle: dict[str, CpuReading] = field(default_factory=dict)
    server: ServerReading | None = None
    host: tuple[HostReading, DiskReading | None] | None = None


class Window:
    """The probes of one contender's slices; used again for each slice.

    `measured` is the contender under load, `idle` those beside it by name; None where there is
    nothing to read (a server on another host). A probe that fails is skipped and named.

    The host is read innermost, so that it does not count the reading of the servers, which
    themselves do not notice being read.
    """

    def __init__(
        self,
        measured: ServerProbe | None,
        idle: Mapping[str, ServerProbe],
        host_probe: HostProbe | None,
    ) -> None:
        self._measured = measured
        self._idle = dict(idle)
        self._host = host_probe
        self._opened: _Opened | None = None

    def open(self) -> None:
        """Take the first readings. The load must be at rest."""
        opened = _Opened(at=time.monotonic())
        for name, probe in self._idle.items():
            reading = _attempt(f"idle.{name}", probe.read_cpu)
            if reading is not None:
                opened.idle[name] = reading
        if self._measured is not None:
            opened.server = _attempt("server", self._measured.read)
        if self._host is not None:
            opened.host = _attempt("host", self._host.read)
        self._opened = opened

    def close(self) -> WindowUse:
        """Take the last readings and tell what was used. The load must be at rest.

        Raises:
            RuntimeError: the window was not opened.
        """
        if self._opened is None:
            raise RuntimeError("a window is opened before it is closed")
        first, self._opened = self._opened, None
        host_reading = server_reading = None
        if self._host is not None and first.host is not None:
            host_reading = _attempt("host", self._host.read)
        if self._measured is not None and first.server is not None:
            server_reading = _attempt("server", self._measured.read)
        idle_readings = {
            name: _attempt(f"idle.{name}", self._idle[name].read_cpu) for name in first.idle
        }
        seconds = time.monotonic() - first.at

        use = WindowUse(
            server=_difference(server_use, first.server, server_reading),
            host=_difference(host_use, first.host, host_reading),
            idle_cpu_s={
                name: cpu_seconds(first.idle[name], reading)
                for name, reading in idle_readings.items()
                if reading is not None
            },
            probe_seconds=seconds,
            skipped=[],
        )
        use.skipped = self._skipped(use)
        return use

    def _skipped(self, use: WindowUse) -> list[str]:
        skipped = []
        if self._measured is not None:
            skipped += _server_gaps(use.server)
        if self._host is not None:
            skipped += _host_gaps(use.host)
        return skipped + [f"idle.{name}" for name in self._idle if name not in use.idle_cpu_s]


_Use = TypeVar("_Use")


def _difference(
    usage: Callable[[_Reading, _Reading], _Use], first: _Reading | None, last: _Reading | None
) -> _Use | None:
    return None if first is None or last is None else usage(first, last)


def _attempt(name: str, read: Callable[[], _Reading]) -> _Reading | None:
    try:
        return read()
    except _FAILURES as failure:
        _log.debug("probe %s skipped: %s", name, failure)
        return None


def _server_gaps(use: ServerUse | None) -> list[str]:
    if use is None:
        return ["server"]
    gaps = [("server.io", use.write_bytes), ("server.switches", use.context_switches)]
    return [name for name, value in gaps if value is None]


def _host_gaps(use: HostUse | None) -> list[str]:
    if use is None:
        return ["host"]
    return ["host.disk"] if use.writes is None else []
