"""The share of intervals over hosts that are right, and how often an odd host is named.

    python -m bench.host_coverage [--experiments 100]

Prints the tables of docs/merge.md, from seeded experiments with a known truth. Each host has its
own restarts and noise, and its ratios of each test vary around the truth. The model with hosts is
compared with a model of one host, which treats all starts alike.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from bench.coverage.experiments import (
    CALM,
    MARGIN,
    SHARED,
    Tally,
    print_header,
    print_row,
)
from slowdust.stats.blocks import BlockRatios
from slowdust.stats.common_shift import HostOutlier, find_host_outliers
from slowdust.stats.estimate import estimate_all
from slowdust.stats.hosts import Hosts
from slowdust.stats.relative import Estimate
from slowdust.stats.verdict import DIFFERENT, judge_estimates
from tests.unit.synthetic import Noise, synthetic_rates, synthetic_ratios

SMALLEST = ("--experiments", "1")
TESTS = 8
INCARNATIONS = 2
BLOCKS = 10
HOSTS = (2, 3, 5, 8)
SPREADS = (0.0, 0.01, 0.03)
RESTART = 0.01
ODD = 0.10


@dataclass(frozen=True)
class Hardware:
    """The differences between hosts."""

    hosts: int
    spread: float
    """Standard deviation of ln rqps between hosts, by test."""
    odd_tests: int = 0
    """Number of tests that are slower by `ODD` on the first host."""


def experiments(count: int, hardware: Hardware, noise: Noise) -> Iterator[list[BlockRatios]]:
    """Make merged experiments of two contenders that are equal on the mean host."""
    rng = np.random.default_rng(20260301)
    for _ in range(count):
        effects = rng.normal(0, hardware.spread, (hardware.hosts, TESTS))
        effects[0, : hardware.odd_tests] += np.log1p(-ODD)
        yield _joined([_one_host(effects[host], noise, rng) for host in range(hardware.hosts)])


def _one_host(
    effects: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    noise: Noise,
    rng: np.random.Generator,
) -> list[BlockRatios]:
    shifts = np.stack((np.zeros(TESTS), effects), axis=1)
    rates = synthetic_rates(shifts, noise=noise, incarnations=INCARNATIONS, blocks=BLOCKS, rng=rng)
    return synthetic_ratios(rates, 2)


def _joined(parts: Sequence[Sequence[BlockRatios]]) -> list[BlockRatios]:
    """Return cells with the starts of all hosts, numbered host by host."""
    return [
        replace(
            cells[0],
            by_incarnation=tuple(chain.from_iterable(cell.by_incarnation for cell in cells)),
            numbers=tuple(
                number + host * INCARNATIONS
                for host, cell in enumerate(cells)
                for number in cell.numbers
            ),
            totals={
                number + host * INCARNATIONS: totals
                for host, cell in enumerate(cells)
                for number, totals in cell.totals.items()
            },
        )
        for cells in zip(*parts, strict=True)
    ]


def simulate_hosts(count: int) -> Hosts:
    """Return `count` hosts of one group."""
    names = [f"h{host}" for host in range(count)]
    return Hosts(
        {
            1 + place + host * INCARNATIONS: name
            for host, name in enumerate(names)
            for place in range(INCARNATIONS)
        },
        dict.fromkeys(names, "cpu"),
    )


def intervals(count: int) -> None:
    """Print coverage, half-widths and false verdicts of equal contenders."""
    print_header(
        *("hosts", "from host to host", "slices", "covers", "half-width", "all time covers"),
        *("half-width", "as one host: covers", "half-width", "experiments with a false verdict"),
        *("as one host", "same", "a host named wrongly"),
    )
    for noise in (CALM, SHARED):
        for spread in SPREADS:
            for hosts in HOSTS:
                _print_intervals(count, Hardware(hosts, spread), replace(noise, restart=RESTART))


def _print_intervals(count: int, hardware: Hardware, noise: Noise) -> None:
    ours, totals, one = Tally(), Tally(), Tally()
    false = same = false_of_one = named = results = 0
    for cells in experiments(count, hardware, noise):
        estimates = estimate_all(cells, hosts=simulate_hosts(hardware.hosts))
        as_one = estimate_all(cells)
        for estimate, simple in zip(estimates, as_one, strict=True):
            assert estimate.all_time is not None
            ours.add(estimate.interval)
            totals.add(estimate.all_time.interval)
            one.add(simple.interval)
        verdicts = [each.verdict for each in judge_estimates(estimates, MARGIN)]
        false += any(verdict in DIFFERENT for verdict in verdicts)
        same += verdicts.count("same")
        results += len(verdicts)
        false_of_one += _has_difference(as_one)
        named += bool(find_host_outliers(estimates, MARGIN))
    print_row(
        *(hardware.hosts, f"{hardware.spread:.0%}", f"{noise.slice:.0%}", ours, totals, one),
        *(f"{false / count:.1%}", f"{false_of_one / count:.1%}", f"{same / results:.0%}"),
        f"{named / count:.1%}",
    )


def _has_difference(estimates: Sequence[Estimate]) -> bool:
    return any(each.verdict in DIFFERENT for each in judge_estimates(estimates, MARGIN))


def odd_hosts(count: int) -> None:
    """Print how often a host that is 10% slower is named, and how often another one."""
    print_header(
        *("hosts", "from host to host", "slices", f"tests of {TESTS} that differ"),
        *("named", "another named"),
    )
    for noise in (CALM, SHARED):
        for spread in (0.0, 0.01):
            for hosts in HOSTS[1:]:
                for tests in (1, TESTS):
                    _print_odd(
                        count, Hardware(hosts, spread, tests), replace(noise, restart=RESTART)
                    )


def named(count: int, hardware: Hardware, noise: Noise) -> tuple[int, int]:
    """Return the numbers of experiments that name the odd host, and another one."""
    right = wrong = 0
    for cells in experiments(count, hardware, noise):
        found = find_host_outliers(
            estimate_all(cells, hosts=simulate_hosts(hardware.hosts)), MARGIN
        )
        right += any(_is_right(each, hardware) for each in found)
        wrong += any(not _is_right(each, hardware) for each in found)
    return right, wrong


def _print_odd(count: int, hardware: Hardware, noise: Noise) -> None:
    right, wrong = named(count, hardware, noise)
    print_row(
        *(hardware.hosts, f"{hardware.spread:.0%}", f"{noise.slice:.0%}", hardware.odd_tests),
        *(f"{right / count:.1%}", f"{wrong / count:.1%}"),
    )


def _is_right(found: HostOutlier, hardware: Hardware) -> bool:
    odd = {f"t{test}" for test in range(hardware.odd_tests)}
    return found.host == "h0" and (found.step is None or found.step.test in odd)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=100, help="in each row")
    options = parser.parse_args(arguments)
    for table in (intervals, odd_hosts):
        print(f"\n{table.__name__}\n")
        table(options.experiments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
