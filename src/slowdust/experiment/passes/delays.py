"""The delays of a calibration: chosen for each step, so that throughput falls by a known share."""

from __future__ import annotations

import random
from collections.abc import Sequence

from slowdust.analysis.calibration import taken_share
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.placement import usable_cpus
from slowdust.experiment.engine.open_test import OpenTest
from slowdust.experiment.plan import PlannedStep
from slowdust.store.measured import DELAY
from slowdust.store.slice import Slice
from slowdust.units import Microsecond, Second

_NS_PER_US = 1000


class Delays:
    """The delays of a calibration's contenders."""

    def __init__(self, contenders: Contenders) -> None:
        self._contenders = contenders

    def choose(self, run: OpenTest, step: PlannedStep, length: Second, rng: random.Random) -> None:
        """Set each contender's delay for a step whose sessions are warm.

        The first incarnation measures one block without delays, which is not kept, with slices of
        `length`, for the time that a send takes. Later ones, and a resumed experiment, have the
        delay of the step's earlier slices, so that its share does not change with the moment.
        """
        slowed = self._slowed()
        delays = {each.name: _delay_of(step.slices, each.name) for each, _ in slowed}
        if None in delays.values():
            self.clear()
            trial: list[Slice] = []
            run.block(0, length, rng, trial.append)
            per_send = time_per_send(trial, step.clients, len(usable_cpus()))
            new = {each.name: delay_for(share, per_send) for each, share in slowed}
            delays = {name: new[name] if delay is None else delay for name, delay in delays.items()}
        for contender, _ in slowed:
            self._set(contender, delays[contender.name] or 0.0)

    def clear(self) -> None:
        for contender, _ in self._slowed():
            self._set(contender, 0.0)

    def _set(self, contender: RunningContender, delay: Microsecond) -> None:
        assert contender.instance.delay is not None
        contender.instance.delay.set(round(delay * _NS_PER_US))

    def _slowed(self) -> list[tuple[RunningContender, float]]:
        running = self._contenders.running()
        return [(each, each.resolved.slowed) for each in running if each.resolved.slowed]


def delay_for(share: float, per_send: Microsecond) -> Microsecond:
    """Return the delay before each send that takes `share` of the throughput.

    An operation takes 1 / (1 - share) as long with it.
    """
    return per_send * share / (1 - share)


def time_per_send(trial: Sequence[Slice], clients: int, cpus: int) -> Microsecond:
    """Return the time that clients and servers need for each send; 0 where nothing was sent.

    Up to `cpus` clients are at work at a time; more than that wait for each other. What others may
    have taken of their CPUs is left out: a delay is spent on the CPU, so it is measured by what
    servers and clients had of it, and by what they waited for something else.
    """
    at_work = min(clients, cpus)
    taken = taken_share(trial, at_work) or 0.0
    seconds = sum((record.measured.seconds or 0.0) * at_work for record in trial)
    sends = sum(record.measured.used(DELAY, "sends") or 0 for record in trial)
    return 1e6 * (1 - taken) * seconds / sends if sends else 0.0


def _delay_of(slices: Sequence[Slice], contender: str) -> Microsecond | None:
    """Return the delay of a contender's slices; None where it has none."""
    own = (record for record in slices if record.place.contender == contender)
    return next((record.measured.used(DELAY, "delay_us") for record in own), None)
