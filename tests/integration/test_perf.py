"""perf on real servers: exact windows of counters, and profiles by samples.

Hardware events need a PMU; kernel events are read the same way.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from slowdust.experiment.announced import Announced
from slowdust.experiment.count_method import Missing, check_sampling, perf_version
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.loop import OpenExperiment, measure
from slowdust.experiment.journal import open_journal
from slowdust.experiment.live import PlainView
from slowdust.experiment.passes.perf import (
    REPEATS,
    PerfError,
    PerfWindow,
    PmuCounts,
    count_events,
    counting,
    list_threads,
    usable_groups,
)
from slowdust.experiment.passes.slices import make_slice_method
from slowdust.experiment.passes.work_counts import STARTS
from slowdust.experiment.setup import create_contenders, resolve_contenders
from slowdust.experiment.spec.spec import parse_spec
from slowdust.formats.perf_stat import read_events
from slowdust.instances.processes import ProcessMark
from slowdust.store.folder import Folder, writing
from tests.integration.conftest import GetBuildOf
from tests.integration.servers import OLD_MYSQL, POSTGRES, SharedServers
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import full, require
from tests.waiting import wait_until

ROWS = 10_000
OPERATIONS = 500
SOFTWARE = [("task-clock",), ("context-switches", "minor-faults")]


@pytest.fixture(autouse=True, scope="module")
def _perf_counts() -> None:
    require("perf")
    if isinstance(perf_version(), Missing) or len(usable_groups(SOFTWARE)) < len(SOFTWARE):
        pytest.skip("needs the permission to count")


@pytest.mark.parametrize("named", [POSTGRES, OLD_MYSQL])
def test_a_window_has_the_operations_of_one_session(
    shared_servers: SharedServers, named: str
) -> None:
    instance = shared_servers(named).instance
    position = 0
    with Driver() as driver:
        data = Data(1, ROWS, 1)
        driver.load(instance.target(), data, lambda done, total: None)
        opened = driver.open("s", instance.target(), data, test="point-query", clients=1)

        def run() -> None:
            nonlocal position
            position += OPERATIONS
            driver.run("s", Stop(positions=[position]))

        run()
        serving = opened.server_processes
        counted = count_events(SOFTWARE, instance.pid, serving, OPERATIONS, run)
        nothing = count_events(SOFTWARE, instance.pid, serving, 1, lambda: None)
    assert position == 3 * OPERATIONS, "each group has a run of its own"
    # The client and its server share a CPU: for each operation one waits for the other.
    assert 0.9 * OPERATIONS < counted.own["context_switches"] < 1.5 * OPERATIONS
    assert 1_000 < counted.own["task_clock_ns"] / OPERATIONS < 1_000_000
    assert nothing.own.get("context_switches", 0) == 0


def test_processes_that_start_in_the_window_are_counted(shared_servers: SharedServers) -> None:
    instance = shared_servers(POSTGRES).instance
    threads = ",".join(map(str, list_threads(instance.pid)))
    with Driver() as driver:
        data = Data(1, ROWS, 1)
        driver.load(instance.target(), data, lambda done, total: None)
        command = ["stat", "-x,", "-e", "context-switches", "-t", threads]
        with PerfWindow(command) as window:
            with counting(window):
                driver.open("new", instance.target(), data, test="point-query", clients=1)
                driver.run("new", Stop(positions=[OPERATIONS]))
            events = read_events(window.end())
    assert events["context-switches"] > 0.9 * OPERATIONS


def test_perf_says_what_it_cannot_observe() -> None:
    no_such_thread = 2**22 + 1  # more than the kernel gives
    command = ["stat", "-x,", "-e", "task-clock", "-t", str(no_such_thread)]
    with PerfWindow(command) as window, pytest.raises(PerfError, match="No such process"):
        window.open()


@pytest.mark.skipif(isinstance(check_sampling(), Missing), reason="samples are not permitted")
def test_profiles_of_an_experiment(open_dir: Path, builds: GetBuildOf) -> None:
    builds("postgres", "17.6")
    workplace = Workplace(open_dir)
    workplace.run(
        "compare", "postgres@17.6", "--tests", "point-query", "--rows", str(ROWS),
        "--slice", "25ms", "--budget", "1s", "--incarnations", "1", "--count", "off", "--profile",
        "--name", "sampled",
    )  # fmt: skip
    folder = Folder(workplace.folder / "results" / "sampled")
    (profile,) = folder.read_profiles()
    assert (profile.contender, profile.source) == ("postgres@17.6", "perf")
    assert profile.samples is not None
    assert profile.samples > 100
    inclusive = {cost.name: cost.inclusive for cost in profile.functions}
    whole = sum(cost.own for cost in profile.functions)
    assert inclusive["PostgresMain"] > 0.8 * whole
    assert 1_000 < whole < 1_000_000, "nanoseconds of a point query"
    assert workplace.nothing_is_left()


@full
def test_the_loop_counts_the_same_operations_on_all(data_root: Path, builds: GetBuildOf) -> None:
    builds("postgres", "17.6")
    contenders = ["postgres@17.6", "postgres@17.6"]
    spec = parse_spec(
        {
            "name": "pmu",
            "contenders": contenders,
            "rows": ROWS,
            "tests": ["delete"],
            "warmup": 0.1,
            "count_budget": 600,
        }
    )
    view, folder = PlainView(), Folder(data_root / "results" / "pmu")
    with ExitStack() as stack:
        writer = stack.enter_context(writing(folder))
        driver = stack.enter_context(Driver())
        resolved = resolve_contenders(spec, view)
        running = stack.enter_context(create_contenders(resolved, driver, folder, view, []))
        journal = open_journal(spec, writer, running, view, make_slice_method(spec))
        experiment = OpenExperiment(spec, running, journal, view, Announced(view))
        for _ in range(2):  # then nothing is missing any more
            measure(experiment, [PmuCounts(experiment, SOFTWARE)])
    counts = folder.read_counts()
    places = [count.place for count in counts]
    # `STARTS` alone: without instructions no further start decides anything.
    assert sorted((place.incarnation, place.contender, place.repeat) for place in places) == [
        (start, name, repeat)
        for start in range(1, STARTS + 1)
        for name in running.names
        for repeat in range(REPEATS)
    ]
    assert {count.source for count in counts} == {"pmu"}
    assert len({count.run.operations for count in counts}) == 1
    for count in counts:
        run = count.run
        assert 1_000 < run.own["task_clock_ns"] / run.operations < 1_000_000
        assert ("context_switches" in run.own) == (count.place.repeat == 0)


_ENDLESS = """
import time
from slowdust.experiment.passes.perf import PerfWindow
window = PerfWindow(["stat", "-a", "-e", "cpu-clock"])
window.open()
print(window.pid, flush=True)
time.sleep(600)
"""


def test_perf_ends_when_slowdust_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _ENDLESS], stdout=subprocess.PIPE) as slowdust:
        assert slowdust.stdout is not None
        perf = ProcessMark.of(int(slowdust.stdout.readline()))
        assert perf is not None
        assert perf.is_alive()
        slowdust.kill()
    wait_until(lambda: not perf.is_alive(), "perf has ended")
