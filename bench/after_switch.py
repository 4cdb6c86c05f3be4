"""What the first moments after a switch cost: QPS of short runs behind the other's turn.

Two instances of one build take turns; each turn is a row of runs of 5 ms. Printed is the median of
each place's QPS relative to the median of the last ten places of the same turn.

    python -m bench.after_switch [--turns 100] [--build postgres@17.6]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from slowdust.experiment.driver import Data, Driver
from slowdust.experiment.live import PlainView
from slowdust.experiment.protocol import ForSeconds
from slowdust.experiment.setup import enter, field_of
from slowdust.experiment.spec import parse_spec
from slowdust.store.folder import Folder

PIECE = 0.005
PIECES = 30
STEADY = 10
SHOWN = (0, 1, 2, 3, 4, 5, 7, 10, 15)


def main() -> None:
    """Measure and print the table."""
    options = _options()
    print("ms after the switch   " + "".join(f"{place * PIECE * 1000:>8.0f}" for place in SHOWN))
    for test in ("point-query", "range-covered-pk", "update-index"):
        relative = _relative(options, test)
        shown = "".join(f"{statistics.median(relative[place]):>8.3f}" for place in SHOWN)
        print(f"{test:<22}{shown}")


def _relative(options: argparse.Namespace, test: str) -> list[list[float]]:
    """Per place in a turn, its QPS / the turn's steady QPS, of all turns."""
    contenders = [options.build, options.build]
    spec = parse_spec({"name": "after-switch", "contenders": contenders, "tests": [test]})
    data = Data(spec.tables, spec.rows, spec.seed)
    relative: list[list[float]] = [[] for _ in range(PIECES)]
    with tempfile.TemporaryDirectory() as path, Driver() as driver:
        folder = Folder(Path(path))
        folder.logs.mkdir()
        view = PlainView()
        with field_of(enter(spec, view), folder, view) as field:
            field.start(driver, data)
            for contender in field.running():
                driver.open(contender.name, contender.target, test, 1, data)
                driver.run(contender.name, ForSeconds(1.0))
            for _ in range(options.turns):
                for contender in field.running():
                    turn = [
                        driver.run(contender.name, ForSeconds(PIECE)).qps for _ in range(PIECES)
                    ]
                    steady = statistics.median(turn[-STEADY:])
                    for place, qps in enumerate(turn):
                        relative[place].append(qps / steady)
    return relative


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--build", default="postgres@17.6")
    return parser.parse_args()


if __name__ == "__main__":
    main()
