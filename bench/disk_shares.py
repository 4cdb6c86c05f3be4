"""How often intervals of a server's share of the disk are right, with a known share.

    python -m bench.disk_shares [--experiments 200]

Prints the table of docs/io-bound.md: two contenders with equal shares, or one that gets 20% more.
Shares vary between starts as much as they did for two servers of one build.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from slowdust.analysis.model import StorageUse
from slowdust.analysis.results.results import outline, results_of
from slowdust.analysis.results.storage import add_storage
from tests.unit.disks import PEAK, Moments, experiment_on_disk

SMALLEST = ("--experiments", "2")
BASE, OTHER = "postgres@15.8", "postgres@17.6"
SHARE = 0.5


@dataclass
class Tally:
    """Results of many experiments."""

    shares: int = 0
    """Intervals that contain the true share."""
    ratios: int = 0
    """Intervals that contain the true ratio of shares."""
    half_widths: list[float] = field(default_factory=list)
    """Half-widths of the intervals of the ratio."""
    of_shares: list[float] = field(default_factory=list)
    """Half-widths of the intervals of the shares."""
    decided: int = 0
    wrong: int = 0


def simulate_uses(true: float, moved: float, incarnations: int, seed: int) -> list[StorageUse]:
    """Return the two contenders' use of the disk in one experiment."""
    shares = {BASE: SHARE, OTHER: SHARE * true}
    manifest, slices = experiment_on_disk(
        shares,
        (PEAK,),
        moments=Moments(incarnation=moved),
        incarnations=incarnations,
        seed=seed,
    )
    results = results_of(manifest, slices, [*shares], [], outline)
    add_storage(results, manifest, slices, [*shares])
    return [result.storage for result in results if result.storage is not None]


def run_experiments(true: float, moved: float, incarnations: int, experiments: int) -> Tally:
    """Count over many experiments."""
    tally = Tally()
    right = {"same", "unsure"} if true == 1 else {"more", "unsure"}
    for seed in range(experiments):
        uses = simulate_uses(true, moved, incarnations, seed)
        for use, share in zip(uses, (SHARE, SHARE * true), strict=True):
            assert use.of_disk is not None
            assert use.of_disk.interval is not None
            low, high = use.of_disk.interval
            tally.shares += low <= share <= high
            tally.of_shares.append((high / low) ** 0.5 - 1)
        other = uses[1].share
        assert other is not None
        assert other.interval is not None
        low, high = other.interval
        tally.ratios += low <= true <= high
        tally.half_widths.append((high / low) ** 0.5 - 1)
        tally.decided += other.verdict != "unsure"
        tally.wrong += other.verdict not in right
    return tally


def row(true: float, moved: float, incarnations: int, experiments: int) -> str:
    """Return a row of the table."""
    tally = run_experiments(true, moved, incarnations, experiments)
    return (
        f"| {true:.1f} | {moved:.0%} | {incarnations} | {tally.shares / 2 / experiments:.1%} | "
        f"{median(tally.of_shares):.1%} | {tally.ratios / experiments:.1%} | "
        f"{median(tally.half_widths):.1%} | {tally.decided / experiments:.0%} | "
        f"{tally.wrong / experiments:.1%} |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=200)
    experiments = parser.parse_args(arguments).experiments
    columns = (
        "true ratio", "incarnations differ by", "incarnations", "shares that hold", "half-width",
        "ratios that hold", "half-width", "decided", "wrong",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |")
    print(f"|{' --: |' * len(columns)}")
    for true in (1.0, 1.2):
        for moved in (0.05, 0.12, 0.2):
            for incarnations in (3, 6):
                print(row(true, moved, incarnations, experiments), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
