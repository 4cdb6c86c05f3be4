"""`slowdust blame` on releases of SQLite, and `explain` on its experiments."""

from __future__ import annotations

import json
import signal

import pytest

from tests.integration.slowdust_command import Workplace, stop_after_slices
from tests.tiers.selection import full, needs

RELEASES = "sqlite@3.17.0..3.50.2"
EXPERIMENT = "series/steps/3.17.0-to-3.50.2"
OPTIONS = (
    *("--every", "100", "--tests", "point-query", "--rows", "1000"),
    *("--budget", "2s", "--incarnations", "2", "--name", "series"),
)  # fmt: skip


pytestmark = pytest.mark.builds("sqlite@3.17.0", "sqlite@3.50.2")


@needs("valgrind")
def test_a_series_is_reported_and_its_tests_are_explained(workplace: Workplace) -> None:
    printed = workplace.run("blame", RELEASES, *OPTIONS)
    measured = workplace.slice_lines(EXPERIMENT)
    assert "3.17.0 to 3.50.2" in printed
    assert "Point queries (1 test): " in printed
    series = workplace.folder / "results/series"
    assert "(1 test): " in (series / "note.md").read_text()
    assert 'class="plot waterfall"' in (series / "report.html").read_text()

    assert workplace.run("blame", RELEASES, *OPTIONS, "--resume") == printed
    assert workplace.slice_lines(EXPERIMENT) == measured, "a finished series measures nothing more"
    stored = workplace.run("blame", "--from", f"results/{EXPERIMENT}", "--json")
    [line] = json.loads(stored)["lines"]
    [step] = line["steps"]
    assert all("work" in test and "rqps" in test for test in step["tests"])

    explained = workplace.run("explain", f"results/{EXPERIMENT}", "point-query")
    assert explained.startswith("point-query, 1 client: sqlite@3.50.2 ")
    assert "instructions per operation" in explained
    assert "counted by valgrind" in explained
    assert "Functions: " in explained
    assert "Hardware per operation" in explained


@full
def test_a_killed_series_resumes(workplace: Workplace) -> None:
    command = ("blame", RELEASES, *OPTIONS, "--count", "off")
    process = workplace.start(*command)
    said = stop_after_slices(workplace, process, EXPERIMENT, signal.SIGKILL)
    assert "experiment 1 of 1: 3.17.0 and 3.50.2" in said
    before = workplace.slice_lines(EXPERIMENT)

    assert "3.17.0 to 3.50.2" in workplace.run(*command, "--resume")
    after = workplace.slice_lines(EXPERIMENT)
    assert after[: len(before)] == before, "what was measured is kept"
    assert len(after) > len(before)
