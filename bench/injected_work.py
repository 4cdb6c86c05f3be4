"""How often 1% more instructions in a server are found, and how often without any.

    python -m bench.injected_work [--build postgres@17.6] [--experiments 6]

Two servers of one build run under callgrind with a preloaded library (servers/burn.c) that counts
down before each reply. In one of them the countdown takes the wanted share of an operation's
instructions, which are counted first. A row has several experiments of two starts.
"""

from __future__ import annotations

import argparse
import dataclasses
import struct
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.clients.process import check_programs
from slowdust.analysis.work import counts_by_step, instructions_per_operation, judge_work
from slowdust.dbms.environment import Environment
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.cpus import usable_cpus
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.engine.sliced import LoadedTables
from slowdust.experiment.host_locks import WhenBusy, locked
from slowdust.experiment.journal import make_counts
from slowdust.experiment.live import PlainView
from slowdust.experiment.passes.callgrind_counts import WINDOWS_AT_MOST, CountedSession, Windows
from slowdust.experiment.passes.work_counts import STARTS
from slowdust.experiment.plan import PlannedStep, plan
from slowdust.experiment.setup import create_contenders, resolve_contenders
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.instances.callgrind import Callgrind
from slowdust.instances.preloads import compiled
from slowdust.stats.verdict import AMOUNTS, Judgement
from slowdust.store.count import Count
from slowdust.store.folder import Folder

SMALLEST = (
    *("--experiments", "1", "--rows", "1000", "--operations", "20"),
    *("--tests", "point-query"),
)
TESTS = "point-query,random-points.10,range-covered-pk,update-index,update-nonindex,insert"
SHARES = (0.0, 0.01)
"""Injected shares of an operation's instructions."""
_TRIAL_ROUNDS = 100_000
"""Rounds of the library to count its instructions per round."""


class Burner:
    """The file with the rounds of a server's library, and their cost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rounds: dict[str, int] = {}
        """Test -> the rounds with as many instructions as one operation."""
        self.set(0)

    @property
    def environment(self) -> Environment:
        """The environment of the server."""
        library = compiled("burn", "this benchmark", package="bench.servers")
        return Environment(variables={"LD_PRELOAD": str(library), "SLOWDUST_BURN": str(self._path)})

    def set(self, rounds: int) -> None:
        """Set the rounds of each reply of the server."""
        if not self._path.exists():
            self._path.touch()
        with self._path.open("r+b") as file:
            file.write(struct.pack("=Q", rounds))


@dataclasses.dataclass
class Server:
    """One of the two contenders under callgrind."""

    contender: RunningContender
    burner: Burner
    injects: bool
    driver: Driver
    callgrind: Callgrind
    data: Data
    operations: int
    start: int
    sessions: int = 0

    def counts(self, step: PlannedStep, rounds: int) -> list[Count]:
        """Count the windows of one session with these rounds in each reply."""
        self.burner.set(rounds)
        first = self.sessions * (WINDOWS_AT_MOST * self.operations + 3)
        self.sessions += 1
        session = CountedSession(self.driver, self.contender, step, self.start, first)
        repeats = session.repeats(self.callgrind, self.data, Windows(self.operations))
        runs = [repeat.run for repeat in repeats]
        return make_counts(step, self.contender.name, self.start, "valgrind", runs)

    def learn(self, step: PlannedStep) -> None:
        """Count the rounds that cost as much as an operation of a step, in the first start.

        The other server runs the same operations.
        """
        self.counts(step, 0)  # the first operations of a server cost more than later ones
        without, trial = (_cost(self.counts(step, rounds)) for rounds in (0, _TRIAL_ROUNDS))
        rounds = round(without / ((trial - without) / _TRIAL_ROUNDS))
        self.burner.rounds.setdefault(step.test.name, rounds)

    def experiment(self, step: PlannedStep, share: float) -> list[Count]:
        """Count a step with a share of its instructions injected, if this server injects."""
        rounds = share * self.burner.rounds[step.test.name] if self.injects else 0
        return self.counts(step, round(rounds))


Injected = tuple[str, float]
"""A test, and the injected share of its instructions."""
Place = tuple[float, int]
"""The injected share, and the number of an experiment."""


def _cost(counts: Sequence[Count]) -> float:
    return median(instructions_per_operation(count) or 0.0 for count in counts)


def count_all(server: Server, steps: Sequence[PlannedStep], places: Sequence[Place]) -> Counted:
    """Count all experiments of one start on one server."""
    counted: Counted = {place: [] for place in places}
    for step in steps:
        server.learn(step)
        for place in places:
            counted[place] += server.experiment(step, place[0])
    return counted


Counted = dict[Place, list[Count]]
"""The counts of each experiment."""


@contextmanager
def burning(spec: Spec) -> Iterator[tuple[Contenders, LoadedTables, list[Burner]]]:
    """Yield the contenders with their libraries, and their tables before the load."""
    view = PlainView()
    with (
        tempfile.TemporaryDirectory() as path,
        locked(spec, WhenBusy.WAIT, view),
        Driver() as driver,
    ):
        Path(path).chmod(0o755)  # the servers' account reads there
        folder = Folder(Path(path))
        folder.logs.mkdir()
        resolved = resolve_contenders(spec, view)
        burners = [Burner(Path(path) / f"burn{number}") for number in range(len(resolved))]
        resolved = [
            dataclasses.replace(contender, environment=burner.environment)
            for contender, burner in zip(resolved, burners, strict=True)
        ]
        data = Data(spec.tables, spec.rows, spec.seed)
        with create_contenders(resolved, driver, folder, view) as contenders:
            yield contenders, LoadedTables(contenders, data, view), burners


def take(spec: Spec, operations: int, places: Sequence[Place]) -> tuple[list[str], Counted]:
    """Return the names of the two contenders, and the counts of all experiments."""
    steps = plan(spec)
    counted: Counted = {place: [] for place in places}
    with burning(spec) as (contenders, tables, burners):
        for start in range(1, STARTS + 1):
            tables.note_writes()
            tables.start(start)
            contenders.stop()

            def count(number: int, start: int = start) -> Counted:
                contender = contenders.all[number]
                cpus = usable_cpus()
                callgrind = contender.instance.start_under_callgrind()
                with Driver(cpus=[cpus[-1 - number % len(cpus)]]) as driver:
                    server = Server(
                        contender,
                        burners[number],
                        number > 0,
                        driver,
                        callgrind,
                        tables.data,
                        operations,
                        start,
                    )
                    try:
                        return count_all(server, steps, places)
                    finally:
                        contender.server.stop()

            with ThreadPoolExecutor(2) as pool:
                for of_one in pool.map(count, range(2)):
                    for place, counts in of_one.items():
                        counted[place] += counts
        return contenders.names, counted


@dataclasses.dataclass(frozen=True)
class Size:
    """The amount of counting."""

    experiments: int
    """Experiments for each test and share."""
    operations: int
    """Operations per window."""
    rows: int


def judged(
    build: str, tests: Sequence[str], size: Size
) -> dict[tuple[str, float], list[Judgement]]:
    """Return the judgements of all experiments.

    Raises:
        MissingProgramError: valgrind is not installed.
    """
    check_programs("valgrind")
    given = {"name": "bench", "contenders": [build, build], "tests": [*tests], "rows": size.rows}
    spec = parse_spec(given)
    places = [(share, number) for share in SHARES for number in range(size.experiments)]
    names, counted = take(spec, size.operations, places)
    of_steps: dict[Injected, list[Judgement]] = {
        (step.test.name, share): [] for step in plan(spec) for share in SHARES
    }
    for (share, _), counts in counted.items():
        for judgement in judge_work(counts_by_step(counts), names):
            of_steps[judgement.estimate.step.test, share].append(judgement)
    return of_steps


def main(arguments: Sequence[str] | None = None) -> int:
    """Count and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build", default="postgres@17.6")
    parser.add_argument("--tests", default=TESTS)
    parser.add_argument("--experiments", type=int, default=6, help="of each row")
    parser.add_argument("--operations", type=int, default=200, help="of a window")
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args(arguments)
    size = Size(options.experiments, options.operations, options.rows)
    of_steps = judged(options.build, options.tests.split(","), size)
    print(f"\n{options.build}, two starts, windows of {options.operations} operations\n")
    print("| test | injected | ratio | interval above 1 | more | same | unsure |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for (test, share), judgements in of_steps.items():
        print(f"| {test} | {share:.1%} | {_row(judgements)} |", flush=True)
    return 0


def above_one(judgements: Sequence[Judgement]) -> int:
    """Return the number of intervals above 1."""
    intervals = [judgement.estimate.interval for judgement in judgements]
    return sum(interval is not None and interval.low > 1 for interval in intervals)


def _row(judgements: Sequence[Judgement]) -> str:
    """Return the cells of the experiments of one step with one share."""
    estimates = [judgement.estimate for judgement in judgements]
    ratios = [estimate.ratio for estimate in estimates if estimate.ratio is not None]
    verdicts = [AMOUNTS[judgement.verdict] for judgement in judgements]
    number = len(judgements)
    cells = [f"{min(ratios):.4f} to {max(ratios):.4f}", f"{above_one(judgements)} of {number}"]
    cells += [str(verdicts.count(verdict)) for verdict in ("more", "same", "unsure")]
    return " | ".join(cells)


if __name__ == "__main__":
    sys.exit(main())
