"""The cost of observing waits: QPS of a server that tells them beside one as it is timed.

python -m bench.waits_effect [--pairs 40] [--builds postgres@17.6,mysql@9.7.4]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from bench.results.ratios import alternate, ratio
from bench.results.rows import Row, show
from bench.servers.side_by_side import ROWS, SideBySide, side_by_side
from slowdust.experiment.contenders import RunningContender
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.driver.protocol import Ran, Stop
from slowdust.experiment.waits.window import Observer, PlannedWindow
from slowdust.store.waits import WaitPlace
from slowdust.units import Second

SMALLEST = ("--pairs", "2", "--rows", "1000", "--builds", "postgres@17.6")
TESTS = ("point-query", "update-nonindex")
SLICE: Second = 0.25


def rows(build: str, test: str, pairs: int, table_rows: int) -> Iterator[Row]:
    """Alternate windows of one of two instances of `build`, which tells waits, and the other."""
    with (
        side_by_side([build, build], test, table_rows, observed=[1]) as servers,
        Driver() as sampling,
    ):
        plain, telling = servers.contenders
        observer = Observer(servers.driver, sampling, servers.all.warn)
        on_but_not_read = alternate(
            lambda: servers.qps(telling, SLICE), lambda: servers.qps(plain, SLICE), pairs
        )
        observed = alternate(
            lambda: _observed_qps(servers, observer, telling, test),
            lambda: servers.qps(plain, SLICE),
            pairs,
        )
    for what, measured in (
        ("instruments on, not read", on_but_not_read),
        ("observed", observed),
    ):
        effect = ratio([first for first, _ in measured], [second for _, second in measured])
        yield Row(f"{build}, {test}: QPS {what} / as timed", str(effect), "", met=True)


def _observed_qps(
    servers: SideBySide, observer: Observer, contender: RunningContender, test: str
) -> float:
    place = WaitPlace(
        benchmark="micro", test=test, clients=1, contender=contender.name, incarnation=1, repeat=0
    )
    serving = servers.serving[contender.name]

    def run(stop: Stop) -> Ran:
        return servers.driver.run(contender.name, stop)

    seen = observer.observe(PlannedWindow(place, contender, serving, SLICE), run)
    return seen.operations / seen.seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; there is no goal, since what is observed is not timed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40)
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
