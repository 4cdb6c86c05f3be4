"""How long a slice should be: how narrow an interval one minute of measuring gives, by length.

Two instances of one build (an A/A comparison), one client. Blocks of every length take turns, in
random order, so that all lengths meet the same machine. Of the blocks' log ratios the 20% trimmed
mean is taken, as the analysis does; printed is what half of its 95% interval would be after 60 s of
nothing but blocks of that length (discarding and probing included), and the mean itself as rqps.

    python -m bench.slice_length [--cycles 40] [--build postgres@17.6]
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from slowdust.analysis.location import trimmed_mean
from slowdust.experiment.driver import Data, Driver
from slowdust.experiment.field import Contender, Field
from slowdust.experiment.live import PlainView
from slowdust.experiment.protocol import ForSeconds
from slowdust.experiment.schedule import block_order
from slowdust.experiment.setup import enter, field_of
from slowdust.experiment.spec import parse_spec
from slowdust.probes.window import Window
from slowdust.store.folder import Folder

TESTS = ("point-query", "range-covered-pk", "update-index")
PACES = ((0.025, 0.01), (0.05, 0.01), (0.1, 0.01), (0.1, 0.025), (0.25, 0.025))
"""Seconds of a slice, and of what is discarded before it."""
MEASURING = 60.0
NORMAL_95 = 1.96


@dataclass
class Blocks:
    """What was seen of the blocks of one pace."""

    log_ratios: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def half_width(self) -> float:
        """Of the interval after `MEASURING` seconds of such blocks."""
        count = len(self.log_ratios)
        found = trimmed_mean(np.array(self.log_ratios))
        variance_of_one = found.squares / (found.kept * (found.kept - 1)) * count
        affordable = MEASURING / (self.seconds / count)
        return NORMAL_95 * math.sqrt(variance_of_one / affordable)

    def rqps(self) -> float:
        """Of one instance relative to the other: 1 is right."""
        return math.exp(trimmed_mean(np.array(self.log_ratios)).mean)


def main() -> None:
    """Measure and print the table."""
    options = _options()
    print(f"{'test':<20}{'slice':>8}{'discard':>9}{'blocks':>8}{'rqps':>8}{'half-width':>12}")
    for test in TESTS:
        for (length, discard), blocks in _measure(options, test).items():
            print(
                f"{test:<20}{length * 1000:>6.0f}ms{discard * 1000:>7.0f}ms"
                f"{len(blocks.log_ratios):>8}{blocks.rqps():>8.3f}{blocks.half_width():>12.2%}"
            )


def _measure(options: argparse.Namespace, test: str) -> dict[tuple[float, float], Blocks]:
    contenders = [options.build, options.build]
    spec = parse_spec({"name": "slice-length", "contenders": contenders, "tests": [test]})
    data = Data(spec.tables, spec.rows, spec.seed)
    found: dict[tuple[float, float], Blocks] = {pace: Blocks() for pace in PACES}
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as path, Driver() as driver:
        folder = Folder(Path(path))
        folder.logs.mkdir()
        view = PlainView()
        with field_of(enter(spec, view), folder, view) as contestants:
            contestants.start(driver, data)
            for contender in contestants.running():
                driver.open(contender.name, contender.target, test, 1, data)
                driver.run(contender.name, ForSeconds(1.0))
            for _ in range(options.cycles):
                for pace in rng.sample(PACES, len(PACES)):
                    _add_block(found[pace], pace, driver, contestants, rng)
    return found


def _add_block(
    blocks: Blocks, pace: tuple[float, float], driver: Driver, field_: Field, rng: random.Random
) -> None:
    length, discard = pace
    begun = time.monotonic()
    contenders = field_.running()
    logs: dict[str, float] = {contender.name: 0.0 for contender in contenders}
    for place in block_order(len(contenders), rng):
        contender = contenders[place]
        driver.run(contender.name, ForSeconds(discard))
        logs[contender.name] += _log_qps(driver, contender, field_, length) / 2
    base, other = logs.values()
    blocks.log_ratios.append(other - base)
    blocks.seconds += time.monotonic() - begun


def _log_qps(driver: Driver, contender: Contender, field_: Field, length: float) -> float:
    idle = {other.name: other.probe for other in field_.running() if other is not contender}
    window = Window(contender.probe, idle, field_.host_probe)
    window.open()
    ran = driver.run(contender.name, ForSeconds(length))
    window.close()
    return math.log(ran.qps)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cycles", type=int, default=40)
    parser.add_argument("--build", default="postgres@17.6")
    return parser.parse_args()


if __name__ == "__main__":
    main()
