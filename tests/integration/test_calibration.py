"""Real servers with delays before each reply, and whole calibrations."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from slowdust.dbms.environment import Environment
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.driver.protocol import Stop
from slowdust.instances.preloads import delay_library
from slowdust.instances.programs import InstanceError
from slowdust.probes.server.delay import DelayProbe
from tests.integration.conftest import GetBuildOf, MakeInstance
from tests.integration.slowdust_command import Workplace, stop_after_slices
from tests.tiers.selection import full
from tests.waiting import wait_until

DATA = Data(tables=1, rows=1000, seed=7)
DELAY_US = 300
CALIBRATE = (
    *("calibrate", "postgres@17.6", "--tests", "point-query", "--clients", "2"),
    *("--rows", "1000", "--slowed", "10", "--budget", "2s", "--name", "host"),
)


@pytest.mark.parametrize("name", ["postgres@17.6", "mysql@5.5.9", "mariadb@10.11.18"])
def test_every_reply_of_a_server_waits(
    name: str, builds: GetBuildOf, make_instance: MakeInstance
) -> None:
    instance = make_instance(builds(*name.split("@")), delay_library=delay_library())
    instance.start()
    assert instance.delay is not None
    with Driver() as driver:
        driver.load(instance.target(), DATA, lambda done, of: None)
        driver.open("s", instance.target(), DATA, test="point-query", clients=2)
        driver.run("s", Stop(seconds=0.1))
        probe = DelayProbe(instance.delay.totals)
        instance.delay.set(DELAY_US * 1000)
        before = probe.read()
        ran = driver.run("s", Stop(seconds=0.3))
        use = probe.use(before, probe.read())
        driver.close("s")
    assert use["sends"] == ran.statements > 0
    assert use["waited_s"] >= use["sends"] * DELAY_US / 1e6
    # Each client has to wait for all of its own replies.
    assert ran.statements * DELAY_US / 1e6 <= 2 * ran.seconds


def test_a_delay_goes_together_with_an_allocator_and_never_without_its_library(
    builds: GetBuildOf, make_instance: MakeInstance
) -> None:
    instance = make_instance(
        builds("postgres", "17.6"),
        environment=Environment("glibc"),
        delay_library=delay_library(),
    )
    instance.start()
    assert instance.delay is not None
    assert instance.delay.attached > 0
    assert instance.allocator == "glibc"
    instance.stop()
    instance.delay.library = Path("/no/such/library.so")
    with pytest.raises(InstanceError, match="library"):
        instance.start()
    assert not instance.alive()


@pytest.mark.parametrize("number", [None, pytest.param(signal.SIGKILL, marks=full)])
def test_a_calibration_has_its_delays_also_after_it_was_stopped(
    open_dir: Path, builds: GetBuildOf, number: signal.Signals | None
) -> None:
    builds("postgres", "17.6")
    workplace = Workplace(open_dir)
    command = [*CALIBRATE]
    if number is not None:
        stop_after_slices(workplace, workplace.start(*command), "host", number)
        wait_until(workplace.nothing_is_left, "the killed run's servers are gone")
        command.append("--resume")
    before = workplace.slice_lines("host")
    output = workplace.run(*command)
    assert "| slowed by | results |" in output
    assert "| point-query " in output
    lines = workplace.slice_lines("host")
    assert lines[: len(before)] == before
    delays: dict[str, set[float]] = {}
    for record in map(json.loads, lines):
        place, use = record["place"], record["measured"]["uses"]["delay"]
        assert use["sends"] > 0
        assert use["waited_s"] >= use["sends"] * use["delay_us"] / 1e6
        delays.setdefault(place["contender"], set()).add(use["delay_us"])
    for contender, used in delays.items():
        (delay,) = used
        assert (delay > 0) is contender.endswith("slowed=10%")
    calibration = workplace.report("host")["calibration"]
    assert {(test["clients"], test["slowed"]) for test in calibration["tests"]} == {
        (2, 0.0),
        (2, 0.1),
    }
    assert workplace.nothing_is_left()

    workplace.run(
        "compare", "postgres@17.6", "--tests", "point-query", "--rows", "1000", "--count", "off",
        "--budget", "1s", "--incarnations", "1", "--name", "later",
    )  # fmt: skip
    assert workplace.report("later")["host"]["Calibrated"].startswith("20")
    assert "delay" not in json.loads(workplace.slice_lines("later")[0])["measured"]["uses"]
