"""Figures of real experiments: a build compared with itself, and with itself slowed down."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import injected_work
from bench.baselines.figures import Figure, Instructions, Right, Wrong
from bench.results.commands import COMMAND
from slowdust.driver_program import BINARY
from slowdust.stats.verdict import DIFFERENT
from slowdust.store.folder import Folder
from slowdust.store.profile import Profile

SQLITE = "sqlite@3.50.2"
POSTGRES = "postgres@17.6"
_TESTS = "point-query,range-covered-pk,update-index,read-only.10"
_SENT = "point-query,range-covered-pk"
_READ = "point-query"
_SLOWED = 0.10
_LIBRARY = "libsqlite3.so"

Figures = Iterator[tuple[str, Figure]]


class MeasurementError(Exception):
    """A command that measures failed."""


def equal_sqlite(budget: str) -> Figures:
    """Yield the verdicts on SQLite compared with itself; it sends no replies to delay."""
    arguments = ("--tests", _TESTS, "--trial", "1s", "--slowed", "none", "--budget", budget)
    yield from _calibrated(SQLITE, arguments)


def slowed_postgres(budget: str) -> Figures:
    """Yield the verdicts on Postgres compared with itself, and with delayed replies."""
    slowed = f"{_SLOWED * 100:g}"
    arguments = ("--tests", _SENT, "--trial", "2s", "--slowed", slowed, "--budget", budget)
    yield from _calibrated(POSTGRES, arguments)


def _calibrated(build: str, arguments: Sequence[str]) -> Figures:
    with _measured("calibrate", build, "--rows", "1000", *arguments) as folder:
        for tally in _report(folder)["calibration"]["tallies"]:
            known, intervals = tally["known"], tally["intervals"]
            what = f"{build} slowed by {_SLOWED:.0%}" if tally["slowed"] else f"{build} A/A"
            if known:
                yield f"{what}: false verdicts", Wrong(tally["false"], known)
            if intervals:
                covered = Right(tally["covered"], intervals)
                yield f"{what}: intervals with the truth", covered
            if "found" in tally:
                yield f"{what}: found", Right(tally["found"], tally["results"])


def counted_sqlite(budget: str) -> Figures:
    """Yield the verdicts on the work of SQLite compared with itself, and the driver's instructions.

    SQLite runs in the driver's process, so that valgrind counts both. Both also use the C library;
    its instructions for SQLite depend on the data in writes, but hardly in reads.
    """
    arguments = ("--tests", f"{_READ},update-index", "--rows", "1000", "--incarnations", "2")
    counting = ("--budget", budget, "--count", "valgrind", "--count-budget", "10m")
    with _measured("compare", SQLITE, SQLITE, *arguments, *counting) as folder:
        works = [result["work"] for result in _report(folder)["results"] if "work" in result]
        verdicts = [work["verdict"] for work in works if "verdict" in work]
        false = sum(verdict in ("more", "less") for verdict in verdicts)
        yield f"{SQLITE} A/A: false verdicts on work", Wrong(false, len(verdicts))
        for profile in folder.read_profiles():
            if profile.contender == SQLITE and profile.source == "callgrind":
                yield from _of_driver(profile)


def _of_driver(profile: Profile) -> Figures:
    costs: defaultdict[str, float] = defaultdict(float)
    for function in profile.functions:
        costs[function.object] += function.own
    name = f"driver's instructions per {profile.test}"
    yield name, Instructions(round(costs[BINARY], 1))
    if profile.test == _READ:
        both = sum(costs.values()) - costs[_LIBRARY]
        yield f"{name}, with the C library's", Instructions(round(both, 1))


def injected_in_postgres(experiments: int) -> Figures:
    """Yield the verdicts on Postgres with 1% more instructions, and without."""
    size = injected_work.Size(experiments, operations=25, rows=1000)
    of_steps = injected_work.judged(POSTGRES, [_READ], size)
    for (_, share), judgements in of_steps.items():
        results = len(judgements)
        if share:
            above = injected_work.above_one(judgements)
            yield f"{POSTGRES} with {share:.0%} more work: above 1", Right(above, results)
        else:
            false = sum(judgement.verdict in DIFFERENT for judgement in judgements)
            yield f"{POSTGRES} A/A: false verdicts on work", Wrong(false, results)


@contextmanager
def _measured(command: str, *arguments: str) -> Iterator[Folder]:
    """Measure an experiment with a command of Slowdust, in a temporary results folder."""
    with tempfile.TemporaryDirectory(prefix="baseline-") as results:
        _slowdust(command, *arguments, "--name", "baseline", "--results", results)
        yield Folder.of(Path(results), "baseline")


def _report(folder: Folder) -> dict[str, Any]:
    """Return the report of an experiment, from its JSON."""
    arguments = ("report", folder.name, "--results", str(folder.path.parent), "--json")
    report: dict[str, Any] = json.loads(_slowdust(*arguments))
    return report


def _slowdust(*arguments: str) -> str:
    """Return the output of a command.

    Raises:
        MeasurementError: the command fails.
    """
    done = subprocess.run([COMMAND, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise MeasurementError(f"slowdust {' '.join(arguments)}: {done.stderr[-2000:]}")
    return done.stdout
