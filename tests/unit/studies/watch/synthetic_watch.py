"""Watches whose truth is known, with random nights."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from slowdust.analysis.results.log_ratio import LogRatio
from slowdust.studies.candidates import Candidate
from slowdust.studies.watch.alarms import State
from slowdust.studies.watch.file import Watch, read_watch
from slowdust.studies.watch.series import Measured, Night, Tonight

FILE = """
tests = ["point-query"]
rows = 1000

[watch]
name = "w"
"""
RELEASES = FILE + 'releases = "postgres@15.0..15.6"\neach = true\n'


def a_watch(folder: Path, text: str = RELEASES) -> Watch:
    """Return the watch of a file with this text."""
    path = folder / "w.toml"
    path.write_text(text)
    return read_watch(path)


def subject(number: int) -> Candidate:
    return Candidate(contender=f"postgres@{number}.0", name=f"{number}.0")


class DrawnLaboratory:
    """Measures tests whose log costs are a function of the subject's name."""

    def __init__(
        self,
        cost: Callable[[str], Mapping[str, float]],
        noise: float = 0.002,
        metric: str = "time",
    ) -> None:
        self.cost = cost
        self.host = "host"
        self.measured: list[Tonight] = []
        self.fails: set[str] = set()
        self._noise = noise
        self._metric = metric
        self._random = random.Random(1)

    def measure(self, tonight: Tonight) -> Night:
        self.measured.append(tonight)
        if tonight.subject.name in self.fails:
            return Night(plan=tonight, failed="it does not compile")
        after = self.cost(tonight.subject.name)
        before = None if tonight.good is None else self.cost(tonight.good.name)
        measured = [
            Measured(
                test=test,
                clients=1,
                metric=self._metric,
                base=self._ratio(log),
                good=None if before is None else self._ratio(log - before[test]),
            )
            for test, log in after.items()
        ]
        return Night(plan=tonight, host=self.host, segment=self.host, measured=measured)

    def _ratio(self, log: float) -> LogRatio:
        return LogRatio(log=log + self._random.gauss(0, self._noise), error=self._noise)


def nights_of(costs: Sequence[float], metric: str = "work") -> list[Night]:
    """Return nights of one test without noise, each compared with the night before."""
    nights = []
    for number, log in enumerate(costs, start=1):
        good = subject(number - 1) if number > 1 else None
        beside = None if good is None else LogRatio(log=log - costs[number - 2], error=0.001)
        base = LogRatio(log=log, error=0.001)
        measured = Measured(test="scan", clients=1, metric=metric, base=base, good=beside)
        plan = Tonight(
            number=number,
            date="2026-01-01T00:00:00+00:00",
            experiment=f"night-{number:04}",
            subject=subject(number),
            base="postgres@0.0",
            good=good,
            good_night=number - 1,
        )
        nights.append(Night(plan=plan, host="h", segment="h", measured=[measured]))
    return nights


def judged(nights: Sequence[Night]) -> State:
    """Return the state after all nights were judged, one after the other."""
    from slowdust.studies.watch.judging import judge

    state = State()
    for place in range(len(nights)):
        judge(state, nights[: place + 1], lambda _: "")
    return state
