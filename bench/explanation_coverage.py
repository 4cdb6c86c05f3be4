"""The share of intervals of the parts of a change that are right, with a known truth.

    python -m bench.explanation_coverage [--experiments 60]

Prints the table of docs/explanation.md, from seeded experiments of two contenders whose operations
spend time in known parts. A restart changes the user CPU by 0.5%, and ln of a counted ratio of
instructions has a standard deviation of 0.2%.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from slowdust.analysis.explanation.parts import log_mean
from slowdust.analysis.model import Explanation, PartName
from slowdust.units import known
from tests.unit.synthetic_parts import BASE, OTHER, Spent, explained, parts_experiment

SMALLEST = ("--experiments", "1", "--blocks", "6")
RESTART = 0.005
COUNT_NOISE = 0.002
"""Standard deviation of ln of a counted ratio of instructions."""


@dataclass(frozen=True)
class Truth:
    """The contender's times and counts; the base's times are `Spent()`."""

    other: Spent
    instructions: float | None = None
    """Contender's / base's; None if nothing was counted."""
    counted_clients: int = 1
    """The number of clients for counting; time is measured with one."""


TRUTHS = {
    "equal": Truth(Spent()),
    "user CPU": Truth(Spent(user=56.0)),
    "system CPU": Truth(Spent(system=16.0)),
    "waiting": Truth(Spent(waiting=31.0)),
    "user CPU and waiting": Truth(Spent(user=54.0, waiting=29.0)),
    "1.2X instructions": Truth(Spent(user=60.0), 1.2),
    "clock 20% slower": Truth(Spent(user=60.0, system=12.0, client=18.0), 1.0),
    "1.1X instructions, waiting": Truth(Spent(user=55.0, waiting=30.0), 1.1),
    "1.1X instructions of 8 clients, system CPU": Truth(Spent(user=55.0, system=14.0), 1.1, 8),
}


@dataclass
class Tally:
    """Outcomes of one part of one truth."""

    held: list[bool] = field(default_factory=list)
    """Whether the interval contains the truth, by experiment."""
    reaches: list[float] = field(default_factory=list)
    named: int = 0


def true_changes(truth: Truth, base: Spent) -> dict[PartName, float]:
    """Return each part's contribution to ln(time per operation / the base's)."""
    other = truth.other
    mean = float(log_mean(np.array([other.total, base.total])))
    weight = float(log_mean(np.array([other.user, base.user]))) / mean
    user, system = (other.user - base.user) / mean, (other.system - base.system) / mean
    instructions = weight * math.log(truth.instructions or 1.0)
    return {
        "user CPU": user,
        "system CPU": system,
        "server CPU": user + system,
        "instructions": instructions,
        "time per instruction": user - instructions,
        "other server CPU": user + system - instructions,
        "client CPU": (other.client - base.client) / mean,
        "waiting": (other.waiting - base.waiting) / mean,
    }


def explanations(truth: Truth, experiments: int, blocks: int) -> list[Explanation]:
    """Return the explanations of a number of experiments."""
    results = []
    for seed in range(experiments):
        manifest, slices = parts_experiment(
            {BASE: Spent(), OTHER: truth.other}, blocks=blocks, restart=RESTART, seed=seed
        )
        counted = None
        if truth.instructions is not None:
            noise = COUNT_NOISE * np.random.default_rng((seed, 1)).normal()
            ratio, far = truth.instructions * math.exp(noise), math.exp(1.96 * COUNT_NOISE)
            counted = ratio, ratio / far, ratio * far
        clients = truth.counted_clients
        results.append(
            explained(manifest, slices, instructions=counted, counted_clients=clients)[1]
        )
    return known(result.explanation for result in results)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=60, help="of each truth  [60]")
    parser.add_argument("--blocks", type=int, default=20, help="of each incarnation  [20]")
    options = parser.parse_args(arguments)
    print("| what changed | part | experiments | intervals that hold | half-width | named |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for title, truth in TRUTHS.items():
        changes = true_changes(truth, Spent())
        tallies: defaultdict[PartName, Tally] = defaultdict(Tally)
        for explanation in explanations(truth, options.experiments, options.blocks):
            for part in explanation.parts:
                if part.low is None or part.high is None:
                    continue
                tally = tallies[part.name]
                tally.held.append(part.low <= changes[part.name] <= part.high)
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
