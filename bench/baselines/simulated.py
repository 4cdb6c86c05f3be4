"""Figures of simulated experiments, which change only if the engine changes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bench import capacities, diff_intervals, host_coverage, metric_intervals, work_intervals
from bench.baselines.figures import Figure, Right, Wrong
from bench.coverage.chunks import CALM as CALM_CHUNKS
from bench.coverage.chunks import STEPS, in_chunks
from bench.coverage.experiments import (
    CALM,
    MEDIUM,
    SHARED,
    Layout,
    Tally,
    Verdicts,
    experiments,
    judge,
)
from slowdust.analysis.metrics import METRICS, PERCENTILES
from slowdust.experiment.passes.work_counts import MOST_STARTS
from slowdust.stats.blocks import BlockRatios
from tests.unit.synthetic_pairs import PairNoise, synthetic_pairs

_SLOWER = 0.95
_SLOWER_STEPS = 0.90
_REPEATS = 4
_HOSTS = 3

Figures = Iterator[tuple[str, Figure]]


def simulated(count: int) -> Figures:
    """Yield all figures; `count` is the number of experiments for most of them."""
    yield from _time(count)
    yield from _long_steps(count)
    yield from _metrics(max(1, count // 8))
    yield from _work(count)
    yield from _hosts(max(1, count // 3))
    yield from _diffs(max(1, count // 2))
    yield from _capacities(max(1, count // 25))


def _time(count: int) -> Figures:
    for title, noise in (("calm", CALM), ("shared machine", SHARED)):
        what = f"time, {title}"
        yield from _equal(what, *judge(experiments(count, MEDIUM, noise)))
        slower = experiments(count, MEDIUM, noise, math.log(_SLOWER))
        yield from _slower(f"{what}, rqps {_SLOWER}", *judge(slower, _SLOWER))


def _long_steps(count: int) -> Figures:
    layout = Layout(STEPS, 3, 4)
    yield from _equal("long steps in chunks", *judge(in_chunks(count, layout, CALM_CHUNKS)))
    slower = in_chunks(count, layout, CALM_CHUNKS, _SLOWER_STEPS)
    yield from _slower(f"long steps in chunks, rqps {_SLOWER_STEPS}", *judge(slower, _SLOWER_STEPS))
    yield from _equal("whole long steps", *judge(_whole_steps(count, 1.0)))
    slower = _whole_steps(count, _SLOWER_STEPS)
    yield from _slower(f"whole long steps, rqps {_SLOWER_STEPS}", *judge(slower, _SLOWER_STEPS))


def _whole_steps(count: int, truth: float) -> Iterator[list[BlockRatios]]:
    rng = np.random.default_rng(20260102)
    for _ in range(count):
        yield synthetic_pairs(STEPS, 4, PairNoise(0.03), rng, log_shift=math.log(truth))


def _equal(what: str, tally: Tally, verdicts: Verdicts) -> Figures:
    judged = len(verdicts.of_experiments)
    results = len(tally.widths)
    yield f"{what}: A/A with a false verdict", Wrong(verdicts.with_a_difference(), judged)
    yield f"{what}: `same` in A/A", Right(verdicts.number("same"), results)
    yield f"{what}: intervals with the truth", Right(tally.held, results)


def _slower(what: str, tally: Tally, verdicts: Verdicts) -> Figures:
    results = len(tally.widths)
    yield f"{what}: found", Right(verdicts.number("slower"), results)
    yield f"{what}: intervals with the truth", Right(tally.held, results)


def _metrics(count: int) -> Figures:
    layout = metric_intervals.Layout(count, tests=8, blocks=12)
    noise = metric_intervals.NOISES["2%"]
    server_cpu = next(metric for metric in METRICS if metric.key == "server_cpu_us")
    tallies = metric_intervals.tally([server_cpu, *PERCENTILES], layout, 2000, noise)
    of = sum(each.verdicts["equal"].total() for each in tallies)
    false = sum(each.false for each in tallies)
    yield (
        "CPU and percentiles: A/A with a false verdict",
        Wrong(false, sum(each.experiments for each in tallies)),
    )
    held = sum(each.held for each in tallies)
    yield "CPU and percentiles: intervals with the truth", Right(held, of)
    found = sum(each.verdicts["slower"]["faster"] for each in tallies)
    of = sum(each.verdicts["slower"].total() for each in tallies)
    yield f"CPU and percentiles, {metric_intervals.SLOWER}X: found", Right(found, of)


def _work(count: int) -> Figures:
    case = work_intervals.CASES[1]
    for truth in (1.0, 1.01):
        tally = work_intervals.tally(case, truth, count, MOST_STARTS, _REPEATS)
        tests = tally.verdicts.total()
        what = "work" if truth == 1 else f"work, {truth}X"
        if truth == 1:
            yield f"{what}: A/A with a false verdict", Wrong(tally.false, count)
            yield f"{what}: `same` in A/A", Right(tally.verdicts["same"], tests)
        else:
            yield f"{what}: above 1", Right(tally.beyond_one, tests)
        yield f"{what}: intervals with the truth", Right(tally.held, tests)


def _hosts(count: int) -> Figures:
    hardware = host_coverage.Hardware(_HOSTS, 0.01)
    noise = replace(CALM, restart=host_coverage.RESTART)
    merged = host_coverage.experiments(count, hardware, noise)
    hosts = host_coverage.simulate_hosts(_HOSTS)
    yield from _equal(f"{_HOSTS} hosts", *judge(merged, hosts=hosts))
    odd = host_coverage.Hardware(_HOSTS, 0.01, odd_tests=host_coverage.TESTS)
    right, wrong = host_coverage.named(count, odd, noise)
    yield "a host slower by 10%: named", Right(right, count)
    yield "a host slower by 10%: another named", Wrong(wrong, count)


def _diffs(count: int) -> Figures:
    calm = diff_intervals.CALM
    rng = np.random.default_rng(15)
    changed, unchanged = diff_intervals.compared(calm, calm, _SLOWER, count, rng)
    yield (
        "diff: unchanged tests called changed",
        Wrong(unchanged.different, unchanged.tests),
    )
    yield f"diff, rqps {_SLOWER}: found", Right(changed.different, changed.tests)
    held, tests = changed.with_truth + unchanged.with_truth, changed.tests + unchanged.tests
    yield "diff: intervals with the truth", Right(held, tests)


def _capacities(count: int) -> Figures:
    machine = capacities.MACHINES["usual"]
    for ratio in (1.0, capacities.SLOWER):
        tally = capacities.run_searches(machine, ratio, 60.0, count)
        if ratio == 1:
            yield "capacity: A/A with a false difference", Wrong(tally.different, count)
        else:
            yield f"capacity, {ratio}X: found", Right(tally.different, count)
        held = sum(tally.held) + sum(tally.ratios_held)
        of = len(tally.held) + len(tally.ratios_held)
        what = "capacity" if ratio == 1 else f"capacity, {ratio}X"
        yield f"{what}: intervals with the truth", Right(held, of)
