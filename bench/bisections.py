"""How often a search finds all changes and no others, by the error of a step and the size.

    python -m bench.bisections [--searches 100] [--candidates 65]

Prints the tables of docs/studies.md. Seeded searches over 65 candidates, with changes at random
candidates; the error is the standard error of a step before it is extended. `wrong` is the share of
ratios with an additional error of 10%. In the first table there are zero, one or three changes: 5%
more, 4% less and 6% more. In the second table there is one change of each size, in half of the
searches a decrease; then two or three changes of random sizes. Each row of the second table has
half as many searches.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import mean

from slowdust.studies.bisect.posterior import SURE
from slowdust.studies.bisect.search import Search
from tests.unit.synthetic_search import SimulatedLaboratory, costs_with, record_of, run_search

_SIDES = 1.96
SMALLEST = ("--searches", "1", "--candidates", "5")
CHANGES = (math.log(1.05), -math.log(1.04), math.log(1.06))
SIZES = (1.02, 1.05, 1.2, 1.5, 3.0, 10.0, 100.0, 2000.0, 10_000.0)
CASES = (
    (0.0005, 0.0),
    (0.0005, 0.02),
    (0.005, 0.0),
    (0.01, 0.0),
    (0.02, 0.0),
    (0.01, 0.02),
)
"""Standard error of a step's ratio, and the share of wrong ratios."""
CASES_OF_SIZES = ((0.0005, 0.0), (0.01, 0.0), (0.04, 0.0), (0.01, 0.02))


@dataclass
class Tally:
    """Results of many searches."""

    changes: int = 0
    found: int = 0
    covered: int = 0
    """Found changes whose 95% interval contains the true size."""
    false: int = 0
    """Candidates that were wrongly named."""
    surely_false: int = 0
    """Candidates that were wrongly named as sure."""
    contradicted: int = 0
    """Changes that were not named because direct measurements contradict them."""
    whole: int = 0
    """Searches that found all changes and nothing else."""
    builds: list[int] = field(default_factory=list)
    effort: list[float] = field(default_factory=list)

    def add(self, changes: Mapping[int, float], search: Search) -> None:
        """Add a search with its true changes: candidate -> log ratio."""
        contradicted = search.contradicted
        likely = [each for each in search.beliefs() if each.changed >= 0.5 and each.candidates == 1]
        named = {each.after: each for each in likely if each.after not in contradicted}
        found = named.keys() & changes
        false = named.keys() - changes
        self.changes += len(changes)
        self.found += len(found)
        self.covered += sum(
            abs(named[place].log_ratio - changes[place]) <= _SIDES * named[place].error
            for place in found
        )
        self.false += len(false)
        self.surely_false += sum(named[place].changed >= SURE for place in false)
        self.contradicted += len(contradicted)
        self.whole += named.keys() == {*changes}


def run_searches(
    case: tuple[float, float],
    searches: int,
    candidates: int,
    sizes: Callable[[random.Random], Sequence[float]],
) -> Tally:
    """Count over many searches, with changes of the log ratios that `sizes` returns."""
    tally = Tally()
    error, wrong = case
    exact = error < 0.001
    for seed in range(searches):
        chosen = random.Random(seed)
        logs = sizes(chosen)
        changes = dict(zip(chosen.sample(range(1, candidates), len(logs)), logs, strict=True))
        costs = costs_with(changes, candidates)
        laboratory = SimulatedLaboratory(costs, error, seed=seed, wrong=wrong, extends=not exact)
        record = record_of(candidates, margin=0.01 if exact else 0.03)
        tally.add(changes, run_search(record, laboratory))
        tally.builds.append(len(laboratory.measured))
        tally.effort.append(laboratory.effort)
    return tally


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _fixed(logs: Sequence[float], chosen: random.Random) -> Sequence[float]:
    del chosen
    return logs


def by_error(searches: int, candidates: int) -> None:
    """Print how often all changes are found, by the error of a step."""
    print("| error of a step | wrong | changes | all found | found | false | builds | measuring |")
    print("| --: | --: | --: | --: | --: | --: | --: | --: |")
    for error, wrong in CASES:
        for number in (0, 1, 3):
            logs = CHANGES[:number]
            tally = run_searches((error, wrong), searches, candidates, partial(_fixed, logs))
            print(
                f"| {error:.2%} | {wrong:.0%} | {number} | {tally.whole / searches:.0%} "
                f"| {_share(tally.found, tally.changes)} | {tally.false} "
                f"| {mean(tally.builds):.1f} | {mean(tally.effort):.0f} |",
                flush=True,
            )


def _one(size: float, chosen: random.Random) -> list[float]:
    return [math.log(size) * chosen.choice((1, -1))]


def _several(number: int, chosen: random.Random) -> list[float]:
    return [_one(chosen.choice(SIZES[1:]), chosen)[0] for _ in range(number)]


def by_size(searches: int, candidates: int) -> None:
    """Print how often a change of each size is found, and its interval contains the size."""
    print("| error of a step | wrong | changes | found | covered | false | sure and false |")
    print("| --: | --: | --: | --: | --: | --: | --: |")
    kinds = {f"{size:,g}X": partial(_one, size) for size in SIZES}
    kinds |= {f"{number} of any size": partial(_several, number) for number in (2, 3)}
    for error, wrong in CASES_OF_SIZES:
        for name, sizes in kinds.items():
            tally = run_searches((error, wrong), searches, candidates, sizes)
            print(
                f"| {error:.2%} | {wrong:.0%} | {name} | {_share(tally.found, tally.changes)} "
                f"| {_share(tally.covered, tally.found)} | {tally.false} | {tally.surely_false} |",
                flush=True,
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="bench.bisections", description=__doc__)
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--candidates", type=int, default=65)
    options = parser.parse_args(arguments)
    by_error(options.searches, options.candidates)
    print()
    by_size(max(1, options.searches // 2), options.candidates)
    return 0


if __name__ == "__main__":
    sys.exit(main())
