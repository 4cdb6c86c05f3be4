"""Samples of every second of a long step: the use seen by the probes, and the server's log."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from slowdust.probes.probe import AnyProbe, attempt, use_between
from slowdust.store.step import Sample
from slowdust.units import Second

EVERY: Second = 1.0
_SHORTEST: Second = 0.1
"""The rest at the end of a step is a sample only if it is longer."""
_MOST_LINES = 5
_LONGEST_LINE = 300
_MOST_LOG_BYTES = 1 << 16
"""Maximum log bytes read per second; a server that writes more repeats its messages."""


class _Readings(NamedTuple):
    at: float
    of_probes: list[Any]
    """The reading of each probe; None if it failed."""


class LogReader:
    """Reads the new lines of a server's log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = self._size()

    def new_lines(self) -> list[str]:
        """Return the first few lines written since the last call, truncated."""
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


class Sampler:
    """Reads the probes once a second while its context is active.

    The seconds begin with the context. A probe that fails is absent from the sample: a server that
    exited has no more readings.
    """

    def __init__(self, probes: Sequence[AnyProbe], log: Path | None) -> None:
        """`log` is the server's log file; None if it is out of reach."""
        self._probes = list(probes)
        self._log = None if log is None else LogReader(log)
        self._end = threading.Event()
        self._samples: list[Sample] = []
        self._thread = threading.Thread(target=self._sample, name="sampler", daemon=True)

    def __enter__(self) -> Sampler:
        self._last = self._read()
        self._began = self._last.at
        self._thread.start()
        return self

    @property
    def began(self) -> float:
        """Unix time of the first reading; available inside the context."""
        return self._began

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()

    def samples(self, started: float) -> list[Sample]:
        """Return the samples, with times since `started` (Unix time). Call it after the context."""
        for sample in self._samples:
            sample.start = max(0.0, sample.start - started)
        return self._samples

    def _sample(self) -> None:
        begun = time.monotonic()
        number = 0
        ended = False
        while not ended:
            number += 1
            ended = self._end.wait(max(0.0, begun + number * EVERY - time.monotonic()))
            now = self._read()
            if not ended or not self._samples or now.at - self._last.at >= _SHORTEST:
                before, self._last = self._last, now
                uses = {
                    probe.name: use_between(probe, first, last)
                    for probe, first, last in zip(
                        self._probes, before.of_probes, now.of_probes, strict=True
                    )
                }
                self._samples.append(
                    Sample(
                        start=before.at,
                        seconds=now.at - before.at,
                        uses={name: use for name, use in uses.items() if use is not None},
                        log=[] if self._log is None else self._log.new_lines(),
                    )
                )

    def _read(self) -> _Readings:
        return _Readings(time.time(), [attempt(probe) for probe in self._probes])
