"""The cost of observing waits: QPS of a server that reports waits / a server as it is timed.

python -m bench.waits_effect [--pairs 20] [--builds postgres@17.6,mysql@9.7.4]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from bench.results.ratios import alternate, ratio
from bench.results.rows import Row, show
from bench.servers.side_by_side import ROWS, SideBySide, side_by_side
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.driver.protocol import Ran, Stop
from slowdust.experiment.passes.waits import Observer, PlannedWindow
from slowdust.store.count import WindowPlace
from slowdust.units import Second

SMALLEST = ("--pairs", "1", "--rows", "1000", "--builds", "postgres@17.6")
TESTS = ("point-query", "update-nonindex")
SLICE: Second = 0.25


_Pairs = list[tuple[float, float]]


def rows(build: str, test: str, pairs: int, table_rows: int) -> Iterator[Row]:
    """Alternate windows of two instances of `build`; one of them reports waits.

    Both instances do so in turn, because two starts of a server differ by chance.
    """
    instruments_on: _Pairs = []
    observed: _Pairs = []
    for reporting in (0, 1):
        on, seen = _of_one_start(build, test, pairs, table_rows, reporting)
        instruments_on += on
        observed += seen
    for what, measured in (
        ("instruments on, not read", instruments_on),
        ("observed", observed),
    ):
        effect = ratio([first for first, _ in measured], [second for _, second in measured])
        yield Row(f"{build}, {test}: QPS {what} / as timed", str(effect), "", met=True)


def _of_one_start(
    build: str, test: str, pairs: int, table_rows: int, place: int
) -> tuple[_Pairs, _Pairs]:
    """Return QPS of the server at `place`, which reports waits, and of the other one."""
    with (
        side_by_side([build, build], test, table_rows, observed=[place]) as servers,
        Driver() as sampling,
    ):
        reporting, plain = servers.contenders[place], servers.contenders[1 - place]
        observer = Observer(servers.driver, sampling, servers.all.warn)

        def as_timed() -> float:
            return servers.qps(plain, SLICE)

        on = alternate(lambda: servers.qps(reporting, SLICE), as_timed, pairs)
        observe = partial(_observed_qps, servers, observer, reporting, test)
        return on, alternate(observe, as_timed, pairs)


def _observed_qps(
    servers: SideBySide, observer: Observer, contender: RunningContender, test: str
) -> float:
    place = WindowPlace(
        benchmark="micro", test=test, clients=1, contender=contender.name, incarnation=1, repeat=0
    )
    serving = servers.serving[contender.name]

    def run(stop: Stop) -> Ran:
        return servers.driver.run(contender.name, stop)

    seen = observer.observe(PlannedWindow(place, contender, serving, SLICE), run)
    return seen.operations / seen.seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table. There is no goal: observed windows are not timed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--builds", default="postgres@17.6,mysql@9.7.4")
    options = parser.parse_args(arguments)
    measured = (
        row
        for build in options.builds.split(",")
        for test in TESTS
        for row in rows(build, test, options.pairs, options.rows)
    )
    return 0 if show("The cost of observing waits", measured) else 1


if __name__ == "__main__":
    sys.exit(main())
