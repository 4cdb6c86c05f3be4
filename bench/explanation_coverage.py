"""The share of intervals of the parts of a change that hold, where the truth is known.

    python -m bench.explanation_coverage [--experiments 60]

Prints the table of docs/explanation.md, from seeded experiments of two contenders that spend the
time of an operation in known parts. A restart changes the user CPU by 0.5%.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from slowdust.analysis.analyse import analyse
from slowdust.analysis.model import Explanation, PartName
from tests.unit.synthetic_parts import BASE, OTHER, Spent, parts_experiment

SMALLEST = ("--experiments", "1", "--blocks", "6")
RESTART = 0.005
TRUTHS = {
    "equal": Spent(),
    "user CPU": Spent(user=56.0),
    "system CPU": Spent(system=16.0),
    "waiting": Spent(waiting=31.0),
    "user CPU and waiting": Spent(user=54.0, waiting=29.0),
}
"""Name -> what the contender spends; the base spends `Spent()`."""


@dataclass
class Tally:
    """Outcomes of one part of one truth."""

    held: list[bool] = field(default_factory=list)
    """Whether the interval has the truth in it, by experiment."""
    reaches: list[float] = field(default_factory=list)
    named: int = 0


def true_changes(other: Spent, base: Spent) -> dict[PartName, float]:
    """Return what each part adds to ln(time per operation / the base's)."""
    mean = base.total
    if other.total != base.total:
        mean = (other.total - base.total) / math.log(other.total / base.total)
    return {
        "user CPU": (other.user - base.user) / mean,
        "system CPU": (other.system - base.system) / mean,
        "server CPU": (other.user + other.system - base.user - base.system) / mean,
        "client CPU": (other.client - base.client) / mean,
        "waiting": (other.waiting - base.waiting) / mean,
    }


def explanations(other: Spent, experiments: int, blocks: int) -> list[Explanation]:
    """Return the explanation of each of so many experiments."""
    explained = []
    for seed in range(experiments):
        manifest, slices = parts_experiment(
            {BASE: Spent(), OTHER: other}, blocks=blocks, restart=RESTART, seed=seed
        )
        report = analyse(manifest, slices)
        explained += [each.explanation for each in report.results if each.explanation is not None]
    return explained


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=60, help="of each truth  [60]")
    parser.add_argument("--blocks", type=int, default=20, help="of each incarnation  [20]")
    options = parser.parse_args(arguments)
    print("| what changed | part | experiments | intervals that hold | half-width | named |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for title, other in TRUTHS.items():
        truth = true_changes(other, Spent())
        tallies: defaultdict[PartName, Tally] = defaultdict(Tally)
        for explanation in explanations(other, options.experiments, options.blocks):
            for part in explanation.parts:
                if part.low is None or part.high is None:
                    continue
                tally = tallies[part.name]
                tally.held.append(part.low <= truth[part.name] <= part.high)
                tally.reaches.append((part.high - part.low) / 2)
                tally.named += part.name in explanation.main
        for name, tally in tallies.items():
            print(
                f"| {title} | {name} | {len(tally.held)} | {np.mean(tally.held):.0%} "
                f"| {np.median(tally.reaches):.2%} | {tally.named} |"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
