"""Slices with and without background load, on a driver that records them."""

from __future__ import annotations

import random
from contextlib import nullcontext
from types import SimpleNamespace
from typing import cast

from slowdust.benchmarks.htap import HTAP
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data
from slowdust.experiment.driver.protocol import BackgroundRan, BackgroundRun, Ran, Rate, Stop
from slowdust.experiment.engine.open_test import OpenTest, Pace
from slowdust.experiment.plan import PlannedStep
from slowdust.probes.probe import WindowUse
from slowdust.store.latency import Histogram
from slowdust.store.slice import Slice

NONE = Histogram(values_ns=[], counts=[], max_ns=0, mean_ns=0.0)
LENGTH = 0.25


class Driver:
    """Each run does 10 operations per client; with background load, those on `b` do only 4."""

    def __init__(self) -> None:
        self.done: dict[str, int] = {}
        self.began: dict[str, list[int]] = {}
        """Session -> the positions at which its runs began."""
        self.runs: list[tuple[str, float | None, bool]] = []
        """Contender, seconds, whether there was background load."""
        self.subject = ""

    def advance(self, session: str, positions: list[int]) -> Ran:
        return self.run(session, Stop(positions=positions))

    def _advance(
        self, session: str, stop: int | None, by: int, begin: list[int] | None = None
    ) -> list[int]:
        if begin is not None:
            (self.done[session],) = begin
        self.began.setdefault(session, []).append(self.done.get(session, 0))
        self.done[session] = self.done.get(session, 0) + by if stop is None else stop
        return [self.done[session]]

    def run(
        self,
        session: str,
        stop: Stop,
        _rate: Rate | None = None,
        beside: tuple[BackgroundRun, ...] = (),
        *,
        begin: list[int] | None = None,
    ) -> Ran:
        name = session.partition("|")[0]
        self.runs.append((name, stop.seconds, bool(beside)))
        to = stop.positions[0] if stop.positions and stop.seconds is None else None
        positions = self._advance(
            session, to, 4 if "mixed.t0" in session and name == "b" else 10, begin
        )
        others = [
            BackgroundRan(
                session=each.session,
                seconds=LENGTH,
                operations=4,
                statements=4,
                rows=4,
                qps=16.0,
                latency=NONE,
                errors={},
                retries=0,
                positions=self._advance(each.session, None, 4 if name == "b" else 10, each.begin),
            )
            for each in beside
        ]
        return Ran(
            id=1,
            session=session,
            started=0.0,
            seconds=LENGTH,
            operations=10,
            statements=10,
            rows=10,
            qps=40.0 if beside else 80.0,
            unit="operations/s",
            latency=NONE,
            per_second=[],
            errors={},
            retries=0,
            positions=positions,
            beside=others,
        )


def block_of(test: str, *, warm: bool = False) -> tuple[Driver, list[Slice], OpenTest]:
    window = SimpleNamespace(
        open=lambda: None, close=lambda: WindowUse(uses={}, seconds=LENGTH, skipped=[])
    )
    running = [
        SimpleNamespace(
            name=name,
            failed=None,
            window=lambda _: window,
            refuse_fatal_errors=lambda *_: None,
        )
        for name in ("a", "b")
    ]
    driver = Driver()
    contenders = SimpleNamespace(
        driver=driver,
        running=lambda: running,
        supporting=lambda test: running,
        guard=lambda _: nullcontext(),
    )
    chosen = HTAP.test(test)
    assert chosen is not None
    sessions = OpenTest(
        cast(Contenders, contenders),
        PlannedStep(chosen, 1),
        1,
        Pace(discard=0.01, warmup=0.5, rate=None),
        data=Data(1, 1000, 1),
    )
    if warm:
        sessions.warm_up()
    kept: list[Slice] = []
    sessions.block(0, LENGTH, random.Random(1), kept.append)
    return driver, kept, sessions


def test_each_slice_has_one_alone_next_to_it_in_mirrored_order() -> None:
    driver, kept, _ = block_of("queries.beside")
    measured = [(name, beside) for name, seconds, beside in driver.runs if seconds == LENGTH]
    first, second = [name for name, _ in measured[::2]][:2]
    assert measured == [
        *[(first, True), (first, False), (second, True), (second, False)],
        *[(second, False), (second, True), (first, False), (first, True)],
    ]
    rates = [(record.qps, record.beside and record.beside.alone_qps) for record in kept]
    assert rates == [(40.0, 80.0)] * 4


def test_background_writers_catch_up() -> None:
    driver, _, sessions = block_of("queries.beside")
    beside = {name: done for name, done in driver.done.items() if name.endswith("|background")}
    # A discarded run and a slice in each half: four runs of 10 operations, and of 4.
    assert sorted(beside.values()) == [40, 40]
    assert driver.runs[-1] == ("b", None, False)
    assert sessions.next_operations == {"transactions": 40}


def test_slices_of_unlike_queries_begin_with_the_same_one() -> None:
    for test, side in (("mixed.t0q1", ""), ("mixed.t1q1", "|background")):
        driver, _, sessions = block_of(test, warm=True)
        begins = {
            session.partition("|")[0]: begun[-4:]
            for session, begun in driver.began.items()
            if session.endswith("|background") == bool(side)
        }
        # A discarded run and a slice in each half, which begin with what none has done before it.
        first, second = begins["a"][0], begins["a"][2]
        assert begins == {name: [first, first, second, second] for name in "ab"}
        assert second == first + 10, "where the faster one was"
    assert sessions.next_operations


def test_counters_are_of_the_operations_that_were_done() -> None:
    driver, _, sessions = block_of("mixed.t0q1", warm=True)
    runs = {name: sum(run[0] == name for run in driver.runs) for name in "ab"}
    assert sessions.operations == {"a": 10 * runs["a"], "b": 4 * runs["b"]}


def test_a_test_that_runs_alone_has_no_slices_between() -> None:
    driver, kept, _ = block_of("queries")
    assert len([run for run in driver.runs if run[1] == LENGTH]) == len(kept) == 4
    assert all(record.beside is None for record in kept)
