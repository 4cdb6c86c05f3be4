"""How often a search finds all changes and no others, by the error of a step's ratios.

    python -m bench.bisections [--searches 100] [--candidates 65]

Prints the table of docs/bisect.md. Seeded searches over 65 candidates with no, one or three
changes, of 5% more, 4% less and 6% more, at random places; the error is that of a step before it
is extended. With `wrong`, that share of all ratios has an error of 10% beyond their own.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean

from slowdust.bisection.search import Search
from tests.unit.synthetic_search import SimulatedLaboratory, costs_with, record_of

SMALLEST = ("--searches", "1", "--candidates", "9")
SIZES = (0.05, -0.04, 0.06)
CASES = (
    (0.0005, 0.0),
    (0.0005, 0.02),
    (0.005, 0.0),
    (0.01, 0.0),
    (0.02, 0.0),
    (0.01, 0.02),
)
"""Standard error of a step's ratio, and the share of wrong ones."""


@dataclass
class Tally:
    """Changes of many searches."""

    changes: int = 0
    found: int = 0
    false: int = 0
    """Candidates that were named and are no change."""
    whole: int = 0
    """Searches that found all changes and nothing else."""
    builds: list[int] = field(default_factory=list)
    effort: list[float] = field(default_factory=list)


def tally_of(error: float, wrong: float, changes: int, searches: int, candidates: int) -> Tally:
    """Count over many searches."""
    tally = Tally()
    exact = error < 0.001
    for seed in range(searches):
        places = random.Random(seed).sample(range(1, candidates), changes)
        costs = costs_with(dict(zip(places, SIZES, strict=False)), candidates)
        laboratory = SimulatedLaboratory(costs, error, seed=seed, wrong=wrong, extends=not exact)
        record = record_of(candidates, margin=0.01 if exact else 0.03)
        beliefs = Search(record, laboratory, lambda _: None, lambda _: None).run()
        found = {each.after for each in beliefs if each.changed >= 0.5 and each.candidates == 1}
        tally.changes += changes
        tally.found += len(found & {*places})
        tally.false += len(found - {*places})
        tally.whole += found == {*places}
        tally.builds.append(len(laboratory.measured))
        tally.effort.append(laboratory.effort)
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="bench.bisections", description=__doc__)
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--candidates", type=int, default=65)
    options = parser.parse_args(arguments)
    searches = options.searches
    print("| error of a step | wrong | changes | all found | found | false | builds | measuring |")
    print("| --: | --: | --: | --: | --: | --: | --: | --: |")
    for error, wrong in CASES:
        for changes in (0, 1, 3):
            tally = tally_of(error, wrong, changes, searches, options.candidates)
            share = f"{tally.found / tally.changes:.1%}" if tally.changes else "-"
            print(
                f"| {error:.2%} | {wrong:.0%} | {changes} | {tally.whole / searches:.0%} | {share} "
                f"| {tally.false} | {mean(tally.builds):.1f} | {mean(tally.effort):.0f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
