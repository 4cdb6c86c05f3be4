"""The error of interpolating QPS between two efforts, compared with measured efforts.

    python -m bench.reading_error [--loads 3] [--rows 10000] [--build postgres@18.4-pgvector0.8.5]

Searches by pgvector are measured at many efforts: recall, and pages read, which do not drift like
time. For the efforts between two neighbours of the usual efforts, pages are interpolated at their
recall, linear in ln(1 - recall) and in recall. The table has the root mean square of the errors in
ln pages, by the ratio of the neighbours' 1 - recall.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from bench.servers.scratch import scratch_server
from slowdust.benchmarks.described import DRIVER_BENCHMARK
from slowdust.benchmarks.vector.options import VectorTable, VectorTest, search
from slowdust.benchmarks.vector.tables import VectorData
from slowdust.dbms import family
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.driver.protocol import ResultSet
from slowdust.sql import HNSW, IVFFLAT

SMALLEST = ("--loads", "1", "--rows", "2000", "--queries", "20")
EFFORTS = {
    HNSW: (10, 12, 14, 17, 20, 24, 28, 34, 40, 48, 57, 67, 80, 95, 113, 134, 160),
    IVFFLAT: (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16),
}
USUAL = {HNSW: (10, 20, 40, 80, 160), IVFFLAT: (1, 2, 4, 8, 16)}
_PLAN = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "
_COMPARED = (0.88, 0.995)
"""Recalls around the ones at which contenders are compared."""
_BOUNDS = (1.0, 3.0, 5.0, 10.0, math.inf)


class Cost(NamedTuple):
    """The recall of one effort, and ln of the pages that a query reads."""

    recall: float
    ln_pages: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    options = _parser().parse_args(arguments)
    errors: dict[tuple[str, float, str], list[float]] = defaultdict(list)
    for load in range(options.loads):
        for kind, costs in _costs(options, seed=load + 1).items():
            for ratio, scale, error in _errors(costs, USUAL[kind]):
                limit = next(bound for bound in _BOUNDS[1:] if ratio <= bound)
                errors[kind, limit, scale].append(error)
    print("| index | neighbours miss, at most | readings | in ln(1 - recall) | in recall |")
    print("| --- | --: | --: | --: | --: |")
    for kind, limit in sorted({(kind, limit) for kind, limit, _ in errors}):
        logarithmic, linear = (errors[kind, limit, scale] for scale in ("missed", "recall"))
        times = "more" if limit == math.inf else f"{limit:.0f} times"
        print(
            f"| {kind} | {times} | {len(linear)} | {_rms(logarithmic):.1%} | {_rms(linear):.1%} |"
        )
    return 0


def _rms(errors: Sequence[float]) -> float:
    return math.sqrt(fmean(error**2 for error in errors))


def _errors(costs: dict[int, Cost], usual: Sequence[int]) -> Iterator[tuple[float, str, float]]:
    """Yield the ratio of two neighbours' 1 - recall, the scale, and the error between them."""
    scales: dict[str, Callable[[float], float]] = {
        "missed": lambda recall: -math.log(1 - recall),
        "recall": lambda recall: recall,
    }
    for low, high in pairwise(usual):
        left, right = costs[low], costs[high]
        for effort, cost in costs.items():
            between = low < effort < high and left.recall < cost.recall < right.recall < 1
            if not between or not _COMPARED[0] < cost.recall < _COMPARED[1]:
                continue
            for name, scale in scales.items():
                width = scale(right.recall) - scale(left.recall)
                weight = (scale(cost.recall) - scale(left.recall)) / width
                read = (1 - weight) * left.ln_pages + weight * right.ln_pages
                yield (1 - left.recall) / (1 - right.recall), name, read - cost.ln_pages


def _costs(options: argparse.Namespace, seed: int) -> dict[str, dict[int, Cost]]:
    """Return kind of index -> effort -> cost, for newly loaded tables."""
    tests = [search(kind, effort) for kind, efforts in EFFORTS.items() for effort in efforts]
    table = VectorTable(queries=options.queries)
    data = VectorData(table, options.rows, seed, tests)
    costs: dict[str, dict[int, Cost]] = defaultdict(dict)
    with scratch_server(options.build) as server, Driver() as driver:
        loaded = Data(1, options.rows, seed, DRIVER_BENCHMARK, described=data)
        driver.load(server.target, loaded, lambda *_: None)
        ask = partial(driver.sql, server.target)
        for test in tests:
            costs[str(test.kind)][test.effort or 0] = _cost(ask, data, test)
    return costs


def _cost(ask: Callable[[list[str]], list[ResultSet]], data: VectorData, test: VectorTest) -> Cost:
    questions = data.questions(test.name, family("postgres"))
    assert questions is not None
    before, statements = questions.session, questions.statements
    answers = ask([*before, *statements])[len(before) :]
    found = questions.recall([[int(str(row[0])) for row in each.rows] for each in answers])
    asked = [_PLAN + statement for statement in statements]
    plans = ask([*before, *asked])[len(before) :]
    pages = [_pages(json.loads(str(plan.rows[0][0]))[0]["Plan"]) for plan in plans]
    return Cost(found, math.log(fmean(pages)))


def _pages(plan: dict[str, int]) -> int:
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--loads", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--build", default="postgres@18.4-pgvector0.8.5")
    return parser


if __name__ == "__main__":
    sys.exit(main())
