"""The effect of freezing: a build compared with itself, with frozen servers and in other ways.

A step of the Insert Benchmark runs in three ways, each with two instances of one build: in chunks
while the other servers are suspended (as in experiments), in chunks while they run, and whole
(`--whole-steps`). The ways alternate A B C C B A in rounds with new servers, because the machine
drifts. The ratio of a round is computed from the geometric means of both instances; the table has
the median of the rounds and, in brackets, the minimum and the maximum.

cpu/o is the server's CPU time per row or query of the step, KB/row the bytes that its processes
wrote per row inserted or indexed, p99 and longest the response times of the step's statements. A
slow second has less than half of the median second's work. The table counts slow seconds and whole
measured seconds over all rounds.

    python -m bench.freezing [--rounds 4] [--builds postgres@17.6] [--rows 100000] [--seconds 4]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import numpy as np

from slowdust.analysis.results.latency import latency_us
from slowdust.benchmarks.steps import Counted, LongStep, StepBenchmark
from slowdust.experiment.announced import Announced
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Freezer, MakeFreezer
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.engine.loop import OpenExperiment, measure
from slowdust.experiment.engine.stepped import sized_workload
from slowdust.experiment.host_locks import WhenBusy, locked
from slowdust.experiment.journal import open_journal
from slowdust.experiment.live import PlainView
from slowdust.experiment.passes.chunks import TimedChunks, make_step_method
from slowdust.experiment.setup import create_contenders, resolve_contenders
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.store.folder import Folder, writing
from slowdust.store.slice import Slice

SMALLEST = ("--builds", "postgres@17.6", "--rounds", "1", "--rows", "2000", "--tests", "l.i0")
BUILDS = "postgres@17.6,mysql@9.7.4,mariadb@10.11.18/rocksdb"
TESTS = "l.i0,l.x,l.i1,l.i2,qr100,qp1000"
SLOW_SHARE = 0.5
"""A second with a smaller share of the median second's work is slow."""


class LeftRunning(Freezer):
    """Never suspends a server."""

    def run_only(self, chosen: RunningContender) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Way:
    """A way to take turns."""

    name: str
    turns: str
    freezer: MakeFreezer


FROZEN = Way("frozen", "chunks", Freezer)
OTHER_WAYS = (Way("left running", "chunks", LeftRunning), Way("whole", "whole-steps", Freezer))


@dataclass(frozen=True)
class Measured:
    """One step on one instance. Quantities may be missing."""

    test: str
    quantities: dict[str, float | None]
    """CPU in us per row or query, KB per row, response times in us."""
    slow: int
    seconds: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table for each other way. There is no goal."""
    options = _parser().parse_args(arguments)
    for build in options.builds.split(","):
        measured: dict[str, list[list[Measured]]] = {}
        for number in range(options.rounds):
            ways = (FROZEN, *OTHER_WAYS)
            for way in ways if number % 2 == 0 else reversed(ways):
                measured.setdefault(way.name, []).append(_measure(way, build, options))
        for way in OTHER_WAYS:
            _print_table(build, way, measured)
    return 0


def _measure(way: Way, build: str, options: argparse.Namespace) -> list[Measured]:
    """Run the steps once, on new servers."""
    spec = parse_spec(
        {
            "name": "freezing",
            "contenders": [build, build],
            "benchmark": "insert",
            "tests": options.tests.split(","),
            "incarnations": 1,
            "insert": {"rows": options.rows, "seconds": options.seconds, "turns": way.turns},
        }
    )
    with tempfile.TemporaryDirectory() as path:
        return [_measured(spec, record) for record in _run(spec, Folder(Path(path)), way.freezer)]


def _run(spec: Spec, folder: Folder, freezer: MakeFreezer) -> list[Slice]:
    view = PlainView()
    benchmark = spec.configured_benchmark()
    assert isinstance(benchmark, StepBenchmark)
    with (
        writing(folder) as writer,
        locked(spec, WhenBusy.WAIT, view) as locks,
        Driver() as driver,
        create_contenders(
            resolve_contenders(spec, view), driver, folder, view, locks
        ) as contenders,
    ):
        workload = sized_workload(spec, benchmark, contenders)
        method = make_step_method(spec, workload)
        journal = open_journal(spec, writer, contenders, view, method)
        experiment = OpenExperiment(spec, contenders, journal, view, Announced(view))
        measure(experiment, [TimedChunks(experiment, workload, freezer)])
    return folder.read_slices()


def _measured(spec: Spec, record: Slice) -> Measured:
    assert record.step is not None
    (test,) = (test for test in spec.chosen_tests() if test.name == record.place.test)
    assert isinstance(test, LongStep)
    main = record.step.roles[test.main_role]
    writers = record.step.roles.get("insert", main)
    times = None if main.latency is None else latency_us([main.latency])
    by_statement = test.counted is Counted.STATEMENTS
    done = [second.statements if by_statement else second.rows for second in main.per_second]
    whole = done[: int(record.measured.seconds or 0)]
    return Measured(
        test=test.name,
        quantities={
            "cpu/o": _per(record.measured.used("server", "cpu_s"), record.measured.operations, 1e6),
            "KB/row": _per(record.measured.used("server", "write_bytes"), writers.rows, 1 / 1024),
            "p99": None if times is None else times.p99,
            "longest": None if times is None else times.max,
        },
        slow=sum(amount < SLOW_SHARE * median(whole) for amount in whole),
        seconds=len(whole),
    )


def _per(amount: float | None, count: int | None, scale: float) -> float | None:
    return amount * scale / count if amount is not None and count else None


def _print_table(build: str, other: Way, measured: dict[str, list[list[Measured]]]) -> None:
    frozen_rounds, other_rounds = measured[FROZEN.name], measured[other.name]
    names = list(frozen_rounds[0][0].quantities)
    print(f"\n{build}: {FROZEN.name} / {other.name}")
    print(f"{'step':<8}" + "".join(f"{name:>20}" for name in names) + f"{'slow seconds':>28}")
    for test in dict.fromkeys(each.test for each in frozen_rounds[0]):
        ratios = (_ratios(name, test, frozen_rounds, other_rounds) for name in names)
        slow = " / ".join(_slow(test, rounds) for rounds in (frozen_rounds, other_rounds))
        print(f"{test:<8}" + "".join(f"{_spread(each):>20}" for each in ratios) + f"{slow:>28}")


def _ratios(
    name: str, test: str, ours: list[list[Measured]], theirs: list[list[Measured]]
) -> list[float]:
    """Return the ratios of rounds with the quantity in both ways."""
    pairs = (
        (_mean(name, test, first), _mean(name, test, second))
        for first, second in zip(ours, theirs, strict=True)
    )
    return [first / second for first, second in pairs if first and second]


def _mean(name: str, test: str, instances: list[Measured]) -> float | None:
    values = [each.quantities[name] for each in instances if each.test == test]
    logs = [float(np.log(value)) for value in values if value]
    return float(np.exp(fmean(logs))) if logs and len(logs) == len(values) else None


def _spread(ratios: list[float]) -> str:
    if not ratios:
        return "-"
    return f"{median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"


def _slow(test: str, rounds: list[list[Measured]]) -> str:
    runs = [run for instances in rounds for run in instances if run.test == test]
    return f"{sum(run.slow for run in runs)} of {sum(run.seconds for run in runs)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--builds", default=BUILDS)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--tests", default=TESTS)
    parser.add_argument("--rows", type=_numbers, default=[100_000, 60_000, 20_000])
    parser.add_argument("--seconds", type=int, default=4)
    return parser


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
