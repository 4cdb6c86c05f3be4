"""Concurrent experiments: one measures, the others wait or fail."""

from __future__ import annotations

import json
import signal

import pytest

from slowdust.experiment.cpus import usable_cpus
from tests.integration.slowdust_command import Workplace, wait_for_line
from tests.tiers.selection import full
from tests.waiting import wait_until

CPUS = usable_cpus()
FIRST, SECOND = CPUS[0], CPUS[-1]


pytestmark = pytest.mark.builds("sqlite@3.50.2")


def compare(name: str, budget: str, *options: str) -> list[str]:
    contenders = ["sqlite@3.50.2", "sqlite@3.50.2"]
    size = ["--tests", "point-query", "--rows", "1000", "--incarnations", "1", "--count", "off"]
    return ["compare", *contenders, *size, "--budget", budget, "--name", name, *options]


def starts(workplace: Workplace, name: str) -> list[float]:
    lines = workplace.slice_lines(name)
    return [json.loads(line)["measured"]["started"] for line in lines]


def test_second_experiment_waits_for_the_first_and_then_runs(workplace: Workplace) -> None:
    first = workplace.start(*compare("first", "10m"))
    wait_until(lambda: len(workplace.slice_lines("first")) >= 2, "two slices are on disk")
    second = workplace.start(*compare("second", "1s"))
    wait_for_line(second, f"waiting: first (process {first.pid} of ")

    refused = workplace.start(*compare("refused", "1s", "--no-wait"))
    errors = refused.communicate(timeout=60)[1]
    assert refused.returncode == 1
    assert f"slowdust: not started: first (process {first.pid} of " in errors
    assert not (workplace.folder / "results" / "refused").exists()

    impatient = workplace.start(*compare("impatient", "1s"))
    wait_for_line(impatient, "waiting: first")
    impatient.send_signal(signal.SIGINT)
    assert impatient.communicate(timeout=60)[1].endswith("slowdust: stopped\n")
    assert impatient.returncode == 1
    assert not (workplace.folder / "results" / "impatient").exists()

    assert workplace.slice_lines("second") == []
    first.kill()
    first.communicate(timeout=60)
    assert second.wait(60) == 0
    assert max(starts(workplace, "first")) < min(starts(workplace, "second"))
    assert workplace.nothing_is_left(), "the watchdog of the first one freed its claim at the end"


@full
@pytest.mark.skipif(len(CPUS) < 2, reason="there is only one CPU")
def test_experiments_on_other_cpus_run_side_by_side(workplace: Workplace) -> None:
    first = workplace.start(*compare("first", "10m", "--cpus", str(FIRST)))
    wait_until(lambda: len(workplace.slice_lines("first")) >= 2, "two slices are on disk")
    workplace.run(*compare("second", "1s", "--cpus", str(SECOND), "--no-wait"))
    manifest = workplace.manifest("second")
    assert manifest["cpus"] == [SECOND]
    assert manifest["host"]["CPUs used"] == str(SECOND)
    before = len(workplace.slice_lines("first"))
    wait_until(lambda: len(workplace.slice_lines("first")) > before, "the first one goes on")
    first.send_signal(signal.SIGINT)
    assert "--resume" in first.communicate(timeout=60)[1]
