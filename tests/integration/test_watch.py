"""A watch of releases over several nights, with a kill in one."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.integration.slowdust_command import Workplace
from tests.waiting import wait_until

FILE = """
tests = ["point-query"]
rows = 1000
slice = "25ms"
warmup = "20ms"
budget = "30s"
margin = "20%"
incarnations = 2
count = "off"

[watch]
name = "nightly"
releases = "sqlite@3.51.1..3.51.3"
each = true
"""
WATCH = Path("results/watch/nightly")
NIGHT = "watch/nightly/nights/night-0001"


def test_a_killed_night_resumes_and_nothing_is_counted_twice(workplace: Workplace) -> None:
    (workplace.folder / "watch.toml").write_text(FILE)
    folder = workplace.folder / WATCH

    process = workplace.start("watch", "watch.toml")
    wait_until(lambda: len(workplace.slice_lines(NIGHT)) >= 4, "four slices are on disk")
    process.send_signal(signal.SIGSTOP)
    refused = workplace.errors("watch", "watch.toml", expect=2)
    assert "'nightly'" in refused
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    kept = workplace.slice_lines(NIGHT)[:4]
    assert not (folder / "nights.ndjson").exists()

    workplace.leave_budget(NIGHT, 1)
    assert "3.51.3: no change in 1 test" in workplace.run("watch", "watch.toml")
    lines = workplace.slice_lines(NIGHT)
    assert lines[:4] == kept
    places = [json.loads(line)["place"] for line in lines]
    assert len(places) == len({json.dumps(place, sort_keys=True) for place in places})
    # By chance it may be in doubt, and measured again up to twice.
    printed = (workplace.run("watch", "watch.toml") for _ in range(3))
    assert any(said.startswith("nothing new") for said in printed)

    night, *_ = [json.loads(line) for line in (folder / "nights.ndjson").read_text().splitlines()]
    assert night["plan"]["subject"]["name"] == "3.51.3"
    (measured,) = night["measured"]
    assert measured["good"] == measured["base"], "in a first night the base is the last good one"
    assert (folder / "report.html").is_file()
    assert workplace.nothing_is_left()
