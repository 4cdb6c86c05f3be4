"""Events of windows, from what callgrind writes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from slowdust.benchmarks import benchmark
from slowdust.errors import UsageError
from slowdust.experiment.driver.process import Data
from slowdust.experiment.local_lab import choose_counting
from slowdust.experiment.passes.callgrind_counts import (
    REPEATS,
    CountedSession,
    Repeat,
    Windows,
    compute_trend,
    parse_events,
)
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import parse_spec
from slowdust.instances.callgrind import Callgrind
from tests.unit.synthetic_contenders import ran

if TYPE_CHECKING:
    from slowdust.experiment.contender import RunningContender
    from slowdust.experiment.driver.process import Driver
    from slowdust.experiment.driver.protocol import Ran, Stop

HEADER = "version: 1\ncreator: callgrind-3.19.0\npid: 7\nthread: 1\n"
SIMULATED = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim sysCount sysTime"


def test_unsimulated_events_are_absent() -> None:
    text = f"{HEADER}events: Ir sysCount sysTime\nsummary: 100 3 9\n"
    assert parse_events(text) == {"instructions": 100, "system_calls": 3}


def test_misses_match_reads_and_writes() -> None:
    text = f"{HEADER}events: {SIMULATED}\nsummary: 100 9 9 1 2 3 4 5 6 9 7 9 8 3 9\n"
    assert parse_events(text) == {
        "instructions": 100,
        "system_calls": 3,
        "simulated_i1_misses": 1,
        "simulated_d1_misses": 5,
        "simulated_ll_misses": 15,
        "simulated_branch_misses": 15,
    }


class PretendedDriver:
    """Runs the operations of one session, at once."""

    position = 0

    def open(self, *names: object, **facts: object) -> SimpleNamespace:
        """Open nothing: no process of a server is known."""
        return SimpleNamespace(server_processes=[])

    def close(self, name: str) -> None:
        """Close nothing."""

    def run(self, name: str, stop: Stop) -> Ran:
        """Carry out operations up to a position."""
        del name
        assert stop.positions is not None
        (self.position,) = stop.positions
        return ran(1, 1.0, stop.positions)


class WarmingServer(Callgrind):
    """Counts as callgrind does a server whose operations cost more while its cache fills."""

    def __init__(self, driver: PretendedDriver, warm_after: float) -> None:
        self._driver = driver
        self._warm_after = warm_after
        self._last = 0

    def start(self, operation: Callable[[], object], thread: int = 0) -> None:
        """Begin to count."""
        del thread
        operation()
        self._last = self._driver.position

    def stop(self, operation: Callable[[], object], thread: int = 0) -> None:
        """Count no longer."""
        del thread
        operation()

    def dump(self, operation: Callable[[], object], thread: int = 0) -> str:
        """Return what the operations since the last call cost."""
        del thread
        operation()
        done = range(self._last, self._driver.position)
        self._last = self._driver.position
        cost = sum(1000 + round(1000 * max(0.0, 1 - at / self._warm_after)) for at in done)
        return f"{HEADER}events: Ir\nsummary: {cost}\n"


def step_of(name: str) -> PlannedStep:
    """Return a step of the micro tests, with one client."""
    (test,) = benchmark("micro").matching([name])
    return PlannedStep(test, 1)


def count_windows(test: str, warm_after: float, most: float = math.inf) -> tuple[list[Repeat], int]:
    """Return the repeats of a hundred operations, and the operations that were carried out."""
    driver = PretendedDriver()
    contender = SimpleNamespace(name="a", target=None, refuse_fatal_errors=lambda *of: None)
    session = CountedSession(
        cast("Driver", driver), cast("RunningContender", contender), step_of(test), 1, 0
    )
    callgrind = WarmingServer(driver, warm_after)
    data = Data(1, 1000, 1, "sbtest")
    return session.repeats(callgrind, data, Windows(100), most), driver.position


def test_a_server_that_reads_is_counted_when_it_is_warm() -> None:
    warm, done = count_windows("point-query", warm_after=1.0)
    assert [repeat.run.own["instructions"] for repeat in warm] == [100_000] * REPEATS
    assert done < 2000
    warmed, done = count_windows("point-query", warm_after=10_000.0)
    assert compute_trend(warmed) == pytest.approx(0.0, abs=0.003)
    assert 9_000 < done < 18_000
    for repeat in warmed:
        assert repeat.run.own["instructions"] == pytest.approx(100_000, rel=0.05)


def test_a_server_that_never_becomes_level_is_counted_all_the_same() -> None:
    restless, done = count_windows("point-query", warm_after=60_000.0)
    assert compute_trend(restless) < -0.01
    assert 15_000 < done < 25_000
    writing, done = count_windows("update-index", warm_after=60_000.0)
    assert len(writing) == REPEATS
    assert done < 1000, "writes change what they write to, as they do where they are timed"


def test_a_server_that_never_becomes_level_is_warmed_up_while_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = itertools.count()  # each warm-up with its windows takes a second
    clock = SimpleNamespace(monotonic=lambda: float(next(moments)))
    monkeypatch.setattr("slowdust.experiment.passes.callgrind_counts.time", clock)
    restless, done = count_windows("point-query", warm_after=60_000.0, most=3.0)
    assert len(restless) == REPEATS
    assert 4_000 < done < 8_000, "a warm-up of 8 windows, and one of 32"


def test_caches_are_not_simulated_without_valgrind() -> None:
    spec = parse_spec(
        {"name": "x", "contenders": ["mysql@9.7.4"], "count": "off", "simulate": True}
    )
    with pytest.raises(UsageError, match="--count off"):
        choose_counting(spec)
