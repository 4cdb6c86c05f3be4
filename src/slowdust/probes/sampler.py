"""What a server and the host used in every second of a long step, and what the server logged."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from slowdust.probes.host.use import DiskReading, HostProbe, HostReading, host_use
from slowdust.probes.server.process import ServerProbe, ServerReading
from slowdust.probes.server.use import seen_switches, server_use
from slowdust.store.records import Sample
from slowdust.units import Second

_log = logging.getLogger(__name__)

_EVERY: Second = 1.0
_SHORTEST: Second = 0.1
"""What is left at the end of a step is a sample only if it is longer."""
_MOST_LINES = 5
_LONGEST_LINE = 300
_MOST_LOG_BYTES = 1 << 16
"""Of one second; a server that writes more says the same again and again."""

_FAILURES = (OSError, ValueError, LookupError)
"""What a probe may raise: files that vanish, are forbidden, or are not what we know."""


class LogReader:
    """Reads what is new in a server's log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = self._size()

    def new_lines(self) -> list[str]:
        """The first few lines that were written since the last call, each cut to a length."""
        size = self._size()
        if size <= self._offset:
            self._offset = size
            return []
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                content = file.read(_MOST_LOG_BYTES)
        except OSError:
            return []
        self._offset = size
        lines = content.decode(errors="replace").splitlines()
        return [line[:_LONGEST_LINE] for line in lines if line.strip()][:_MOST_LINES]

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0


@dataclass
class _Readings:
    at: float
    """Unix time."""
    server: ServerReading | None
    host: tuple[HostReading, DiskReading | None] | None


class Sampler:
    """Reads the probes once a second from its entry as a context manager to its exit.

    The seconds begin with the entry. What cannot be read in a second is absent in its sample: a
    server that died has no more readings.
    """

    def __init__(self, server: ServerProbe, host: HostProbe, log: Path) -> None:
        self._server = server
        self._host = host
        self._log = LogReader(log)
        self._end = threading.Event()
        self._samples: list[Sample] = []
        self._switches: int | None = 0
        self._thread = threading.Thread(target=self._sample, name="sampler", daemon=True)

    def __enter__(self) -> Sampler:
        self._last = self._read()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()

    def samples(self, started: float) -> list[Sample]:
        """What was seen, with times since `started` (Unix time); asked for after the exit."""
        for sample in self._samples:
            sample.start = max(0.0, sample.start - started)
        return self._samples

    @property
    def switches(self) -> int | None:
        """Context switches of the server, but for the last second of processes that ended.

        None where a second could not be read.
        """
        return self._switches

    def _sample(self) -> None:
        begun = time.monotonic()
        number = 0
        ended = False
        while not ended:
            number += 1
            ended = self._end.wait(max(0.0, begun + number * _EVERY - time.monotonic()))
            now = self._read()
            if not ended or not self._samples or now.at - self._last.at >= _SHORTEST:
                self._keep(now)

    def _keep(self, now: _Readings) -> None:
        before, self._last = self._last, now
        sample = Sample(start=before.at, seconds=now.at - before.at, log=self._log.new_lines())
        if before.server is not None and now.server is not None:
            sample.server = server_use(before.server, now.server)
            if self._switches is not None:
                self._switches += seen_switches(before.server.switches, now.server.switches)
        else:
            self._switches = None
        if before.host is not None and now.host is not None:
            sample.host = host_use(before.host, now.host)
        self._samples.append(sample)

    def _read(self) -> _Readings:
        readings = _Readings(time.time(), None, None)
        try:
            readings.host = self._host.read()
            readings.server = self._server.read()
        except _FAILURES as failure:
            _log.debug("a sample lacks something: %s", failure)
        return readings
