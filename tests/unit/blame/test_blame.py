"""Costs of releases, from experiments whose true ratios are known."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.blame import Blame, Step, blame_of
from slowdust.analysis.stored import Stored
from slowdust.report import json as data
from slowdust.report.blame import document
from slowdust.report.formats import BLAMES, render_as
from slowdust.store.measured import Printed
from tests.unit.report.media import in_terminal
from tests.unit.synthetic import QUIET, Noise, fails
from tests.unit.synthetic_counts import synthetic_counts
from tests.unit.synthetic_history import Levels, choice, measured, single_runs

SCHEMA = Path(__file__).parents[3] / "docs" / "blame.schema.json"
SPEEDS = {"8.0": 1.0, "8.1": 0.98 / 1.0, "8.2": 0.7, "8.3": 0.9}
NOISY = Noise(slice=0.6, drift=0.5, restart=0.3)


def series(
    levels: Mapping[str, float], *, work: Mapping[str, float] | None = None, name: str = "all",
    noise: Noise = QUIET,
) -> Stored:  # fmt: skip
    """One experiment with all these releases, with counted work or without."""
    manifest, slices = measured(name, levels, noise=noise)
    if work is None:
        return Stored(manifest, slices)
    shifts = {f"mysql@{version}": ratio for version, ratio in work.items()}
    names = [contender.name for contender in manifest.contenders]
    return Stored(manifest, slices, synthetic_counts(names, manifest.tests, shifts=shifts))


def archived(name: str, levels: Levels) -> Stored:
    """One archived run of each release, which has no verdicts."""
    manifest, slices = single_runs(name, levels)
    for record in slices:
        record.printed = Printed(per_operation={})
    return Stored(manifest, slices)


def step_to(blame: Blame, version: str) -> Step:
    return next(step for step in blame.lines[0].steps if step.after == version)


def printed(blame: Blame, width: int = 100) -> str:
    return in_terminal(document(blame), width)


def test_a_step_is_a_release_next_to_the_one_before() -> None:
    blame = blame_of([series(SPEEDS)], choice())
    [line] = blame.lines
    assert line.versions == [*SPEEDS]
    for step in line.steps:
        expected = SPEEDS[step.after] / SPEEDS[step.before]
        for part in step.groups:
            assert part.rqps is not None
            assert part.rqps.ratio.value == pytest.approx(expected, rel=0.01)
    assert line.whole.groups[0].rqps is not None
    assert line.whole.groups[0].rqps.ratio.value == pytest.approx(0.9, rel=0.01)


def test_the_release_that_cost_and_the_one_that_gained_the_most_are_named(
    snapshot: SnapshotAssertion,
) -> None:
    blame = blame_of([series(SPEEDS)], choice())
    writes = next(group for group in blame.lines[0].groups if group.group == "write")
    assert writes.evidence == "time"
    assert writes.cost is not None and writes.gain is not None
    assert (writes.cost.after, writes.gain.after) == ("8.2", "8.3")
    assert writes.cost.ratio == pytest.approx(0.7 / 0.98, rel=0.01)
    assert writes.sentences == snapshot


def test_where_nothing_changed_no_release_is_named(snapshot: SnapshotAssertion) -> None:
    blame = blame_of([series({"8.0": 1.0, "8.1": 1.0, "8.2": 1.0})], choice())
    for group in blame.lines[0].groups:
        assert (group.cost, group.gain) == (None, None)
        assert group.sentences[1:] == snapshot


def test_work_decides_where_time_is_unsure_and_the_sentence_says_so() -> None:
    work = {"8.0": 1.0, "8.1": 1.2, "8.2": 1.1}
    stored = series({"8.0": 1.0, "8.1": 1.0, "8.2": 1.0}, work=work, noise=NOISY)
    [line] = blame_of([stored], choice()).lines
    points = next(group for group in line.groups if group.group == "point")
    assert points.evidence == "work"
    assert points.unsure
    assert points.cost is not None and points.gain is not None
    assert (points.cost.after, points.gain.after) == ("8.1", "8.2")
    assert points.cost.ratio == pytest.approx(1.2, rel=0.01)
    assert "so work is used." in points.sentences[0]
    assert "10% more work from 8.0 to 8.2" in points.sentences[1]


def without_counts(stored: Stored, *versions: str) -> Stored:
    """The same experiment without the counts of some releases."""
    names = {f"mysql@{version}" for version in versions}
    counted = [each for each in stored.counts if each.place.contender not in names]
    return Stored(stored.manifest, stored.slices, counted)


@pytest.mark.parametrize("uncounted", ["8.2", "8.3"])
def test_work_decides_of_the_steps_that_were_counted_where_time_is_sure_of_none(
    uncounted: str,
) -> None:
    work = {"8.0": 1.0, "8.1": 1.2, "8.2": 1.2, "8.3": 1.2}
    stored = series(dict.fromkeys(work, 1.0), work=work, noise=NOISY)
    blame = blame_of([without_counts(stored, uncounted)], choice())
    of_work = [group for group in blame.lines[0].groups if group.evidence == "work"]
    assert of_work
    for group in of_work:
        lacking = {"8.2": "8.2 and 8.3", "8.3": "8.3"}[uncounted]
        assert f"not counted for {lacking}" in group.sentences[0]
        assert "8.1 cost the most: " in group.sentences[1]
    assert all(part.work is None for part in step_to(blame, uncounted).groups)
    assert all(part.work is not None for part in step_to(blame, "8.1").groups)


def test_time_is_drawn_where_the_last_release_was_not_counted_compared_with_the_first() -> None:
    work = {"8.0": 1.0, "8.1": 1.2, "8.2": 1.2}
    stored = series(dict.fromkeys(work, 1.0), work=work, noise=NOISY)
    blame = blame_of([without_counts(stored, "8.2")], choice())
    [line] = blame.lines
    assert all(group.work is None for group in line.whole.groups)
    assert "work" in {group.evidence for group in line.groups}
    page = render_as("html", BLAMES, blame)
    assert page.count("relative to 8.0") == len(line.groups)


def test_work_that_is_sure_of_no_step_decides_nothing_where_not_all_was_counted() -> None:
    work = dict.fromkeys(("8.0", "8.1", "8.2"), 1.0)
    stored = series({"8.0": 1.0, "8.1": 0.8, "8.2": 0.6}, work=work, noise=NOISY)
    blame = blame_of([without_counts(stored, "8.2")], choice())
    for group in blame.lines[0].groups:
        assert group.evidence == "time"
        assert "work decides" not in group.sentences[0]


def test_releases_of_several_experiments_are_chained() -> None:
    older = series({"8.0": 1.0, "8.1": 0.8}, name="older")
    newer = series({"8.1": 1.0, "8.2": 0.9}, name="newer")
    [line] = blame_of([older, newer], choice()).lines
    whole = line.whole.groups[0].rqps
    assert whole is not None and whole.chained
    assert whole.ratio.value == pytest.approx(0.72, rel=0.01)
    for step, expected in zip(line.steps, (0.8, 0.9), strict=True):
        ratio = step.groups[0].rqps
        assert ratio is not None and not ratio.chained
        assert ratio.ratio.value == pytest.approx(expected, rel=0.01)
    assert "*: chained over releases" in printed(Blame(lines=[line]))


def test_the_largest_test_of_a_step_is_named() -> None:
    levels: dict[str, float | dict[str, float]] = {
        "8.0": 1.0,
        "8.1": {"point-query": 0.9, "hot-points": 0.6, "scan": 1.3, "update-index": 1.0},
    }
    manifest, slices = measured("all", levels)
    text = printed(blame_of([Stored(manifest, slices)], choice()))
    assert "8.0 to 8.1  hot-points, 1.7X slower  scan, 30% faster" in text


def test_of_single_runs_the_same_changes_count_as_in_the_sentences() -> None:
    levels: dict[str, float | dict[str, float]] = {
        "8.0": 1.0,
        "8.1": {"point-query": 0.97, "hot-points": 0.97, "scan": 1.04, "update-index": 0.7},
        "8.2": {"point-query": 0.96, "hot-points": 0.96, "scan": 1.05, "update-index": 0.7},
    }
    blame = blame_of([archived("all", levels)], choice())
    title = "The largest change of a test in each step, among changes of 5% or more in single runs"
    text = printed(blame)
    assert f"\n{title}:\n" in text
    assert "that are sure" not in text
    assert "8.0 to 8.1  update-index, 30% slower  -" in text
    assert "8.1 to 8.2  -                         -" in text
    assert f"{title}:" in render_as("md", BLAMES, blame)
    assert f"<h3>{title}:</h3>" in render_as("html", BLAMES, blame)


def test_the_title_of_the_largest_changes_says_of_both_kinds() -> None:
    runs = archived("runs", {"8.0": 1.0, "8.1": 0.9})
    blame = blame_of([runs, series({"8.1": 1.0, "8.2": 0.8})], choice())
    assert "among significant changes or among changes of 5% or more in single runs" in render_as(
        "md", BLAMES, blame
    )


def test_every_format_says_that_an_experiment_is_not_finished() -> None:
    finished, stopped = series({"8.0": 1.0, "8.1": 0.9}), series({"8.1": 1.0, "8.2": 1.0}, name="x")
    stopped.manifest.finished = None
    alone = "NOT FINISHED: 4 of 4 tests, 2 starts of the servers."
    assert printed(blame_of([finished], choice())).startswith("mysql: ")
    assert printed(blame_of([stopped], choice())).startswith(f"{alone}\n\nmysql: 8.1 to 8.2\n")
    both = blame_of([finished, stopped], choice())
    assert both.unfinished == [f"x: {alone}"]
    assert render_as("md", BLAMES, both).startswith(f"**x: {alone}**\n\n# mysql")
    assert f'<p class="unfinished">x: {alone}</p>' in render_as("html", BLAMES, both)


@pytest.mark.parametrize("width", [60, 80, 110])
def test_the_terminal_is_not_too_narrow(width: int) -> None:
    stored = series(SPEEDS, work=SPEEDS)
    text = printed(blame_of([stored], choice()), width)
    assert max(map(len, text.splitlines())) <= width
    heads = [line for line in text.splitlines() if line.startswith("step ")]
    assert len(heads) == (3 if width == 60 else 2)


def test_json_is_what_its_schema_says() -> None:
    remedy = """python -c 'from slowdust.report import json; print(json.blame_schema(), end="")'"""
    assert SCHEMA.read_text() == data.blame_schema(), f"{remedy} > docs/blame.schema.json"
    blame = blame_of([series(SPEEDS, work=SPEEDS)], choice())
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(
        json.loads(data.render(blame))
    )


def test_markdown_and_page_have_every_step() -> None:
    blame = blame_of([series(SPEEDS, work=SPEEDS)], choice())
    text, page = render_as("md", BLAMES, blame), render_as("html", BLAMES, blame)
    for step in blame.lines[0].steps:
        assert f"| {step.label} |" in text
        assert f'<th scope="row"><span class="point">{step.label}</span></th>' in page
    assert page.count('class="plot waterfall"') == len(blame.lines[0].groups)
    assert "None" not in text


def test_the_cost_of_a_step_has_one_sign_in_time_and_in_work() -> None:
    [line] = blame_of(
        [series(SPEEDS, work={"8.0": 1, "8.2": 2, "8.1": 1, "8.3": 1})], choice()
    ).lines
    part = line.steps[1].groups[0]
    time, work = part.cost("time"), part.cost("work")
    assert time is not None and work is not None
    assert time == pytest.approx(math.log(0.98 / 0.7), abs=0.02)
    assert work == pytest.approx(math.log(2), abs=0.02)
    low, high = part.cost_interval("time")
    assert low is not None and high is not None and low <= time <= high


def test_tests_that_fail_are_named() -> None:
    stored = series(SPEEDS)
    [test, *others] = stored.manifest.tests
    assert others
    for record in stored.slices:
        if (record.place.test, record.place.contender) == (test, "mysql@8.2"):
            fails(record)
    note = blame_of([stored], choice()).notes[0]
    assert note.startswith(f"{test} fails on mysql@8.2: all of ")
