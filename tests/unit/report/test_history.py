"""The history as JSON, Markdown and a page, and the command that writes them."""

import copy
import json
import re
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest
from markupsafe import Markup
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.history.history import history_of
from slowdust.analysis.history.model import History
from slowdust.ratios import Ratio
from slowdust.report import json as data
from slowdust.report.charts.marks import marks_of
from slowdust.report.charts.ratio_lines import (
    HEIGHT,
    RatioLine,
    RatioPoint,
    Sign,
    history_chart,
)
from slowdust.report.formats import HISTORIES, render_as
from slowdust.report.history import MEAN_AND_MEDIAN, document
from slowdust.report.markdown.document import plain
from tests.unit.report.outline import words
from tests.unit.synthetic_history import as_build, choice, experiments, measured, single_runs

SCHEMA = Path(__file__).parents[3] / "docs" / "history.schema.json"
EARLY = measured("early", {"5.6.51": 1.0, "5.7.44": 0.8}, seed=1)
LATE = measured("late", {"5.7.44": 1.0, "8.0.28": 0.5, "9.5.0": 0.5}, seed=2)


@pytest.fixture(scope="module")
def history() -> History:
    return history_of(experiments(EARLY, LATE), choice())


def test_the_published_schema_is_current() -> None:
    remedy = (
        """python -c 'from slowdust.report import json as j; print(j.history_schema(), end="")'"""
    )

    assert SCHEMA.read_text() == data.history_schema(), f"{remedy} > docs/history.schema.json"


def test_the_json_is_what_its_schema_says(history: History) -> None:
    rendered = json.loads(data.render(history))

    jsonschema.Draft202012Validator(json.loads(data.history_schema())).validate(rendered)
    (line,) = rendered["lines"]
    scan = next(test for test in line["tests"] if test["name"] == "scan")
    first, *_, last = scan["points"]
    assert first == {"version": "5.6.51", "rqps": 1.0, "experiments": ["early"], "through": []}
    assert last["through"] == ["5.7.44"]
    assert last["low"] < last["rqps"] < last["high"]
    assert "null" not in data.render(history)


def test_the_table_has_versions_as_columns_with_chains_and_changes_marked(
    history: History,
    snapshot: SnapshotAssertion,
) -> None:
    text = plain(document(history))

    row = next(line for line in text.splitlines() if line.startswith("| Writes (1)"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["Writes (1)", "1.00", "▼ 0.80", "▼ 0.40*", "0.40*"]
    assert text == snapshot
    assert "update-index" not in text


def test_markdown_has_every_test(history: History, snapshot: SnapshotAssertion) -> None:
    text = render_as("md", HISTORIES, history)

    assert re.search(r"^\| update-index +\| +1\.00 \| ▼ 0\.80 \|", text, re.MULTILINE)
    assert text == snapshot


def test_the_page_says_which_is_the_mean_and_which_the_median(
    history: History, snapshot: SnapshotAssertion
) -> None:
    page = render_as("html", HISTORIES, history)
    [line] = re.findall(r'<section id="line-0">.*?<div', page, re.DOTALL)
    assert words(line.removesuffix("<div")) == snapshot
    assert MEAN_AND_MEDIAN in unescape(page)


def test_no_common_result_contradicts_the_table(snapshot: SnapshotAssertion) -> None:
    levels = {
        "point-query": 0.9,
        "hot-points": 0.9,
        "random-points.10": 0.9,
        "random-points.100": 3.0,
    }
    runs = single_runs("old", {"5.6.51": 1.0, "5.7.44": levels}, tests=list(levels))

    text = plain(document(history_of(experiments(runs), choice())))

    assert re.search(r"^\| Point queries \(4\) +\| +1\.00 \| △ 1\.22 \|", text, re.MULTILINE)
    assert text == snapshot


def test_a_directory_that_was_built_again_has_a_column_of_its_own_everywhere(
    snapshot: SnapshotAssertion,
) -> None:
    monday = as_build(measured("mon", {"17.6": 1.0, "18": 0.5}), "18", "mybuild", "aaaa0")
    tuesday = as_build(measured("tue", {"17.6": 1.0, "18": 1.5}), "18", "mybuild", "bbbb0")
    history = history_of(experiments(monday, tuesday), choice())
    first, second = "18 mybuild aaaa", "18 mybuild bbbb"

    (line,) = json.loads(data.render(history))["lines"]
    assert [version["label"] for version in line["versions"]] == ["17.6", first, second]
    assert [version["experiments"] for version in line["versions"][1:]] == [["mon"], ["tue"]]
    for series in (*line["groups"], *line["tests"]):
        rates = {point["version"]: round(point["rqps"], 2) for point in series["points"]}
        assert rates == {"17.6": 1.0, first: 0.5, second: 1.5}

    for text in (plain(document(history)), render_as("md", HISTORIES, history)):
        header, row = (
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in text.splitlines()
            if line.startswith(("| group", "| Writes"))
        )
        assert header[1:] == ["17.6", first, second]
        assert row[1:] == ["1.00", "▼ 0.50", "▲ 1.50"]
        story = [line for line in text.splitlines() if first in line and line.startswith("-")]
        assert story == snapshot

    written = render_as("html", HISTORIES, history)
    scan = re.search(r">scan</span></span></th>(.*?)</tr>", written)
    assert scan is not None
    assert re.findall(r"</span>([\d.]+)</td>|>([\d.]+)</td>", scan[1]) == [
        ("", "1.00"),
        ("0.50", ""),
        ("1.50", ""),
    ]
    assert f'title="mon">{first}</abbr></th>' in written
    assert f'title="tue">{second}</abbr></th>' in written


class _Tags(HTMLParser):
    """The files that a page loads, and whether its elements are closed in order."""

    VOID = frozenset({"meta", "link", "br", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.sources += [value for name, value in attrs if name in {"src", "href"} and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(history: History) -> None:
    written = render_as("html", HISTORIES, history)

    tags = _Tags()
    tags.feed(written)
    assert tags.open == []
    assert all(source.startswith(("#", "data:")) for source in tags.sources)
    assert tags.seen.count("figure") == 4


def test_the_page_shows_chained_versions_and_change_points(
    history: History, snapshot: SnapshotAssertion
) -> None:
    written = render_as("html", HISTORIES, history)

    titles = re.findall(r'<td[^>]*title="([^"]*)"', written)
    assert list(dict.fromkeys(titles)) == snapshot
    assert re.search(r'class="shift middle k\d \w+">▼</text>', written)


def test_one_client_is_not_in_the_plural(snapshot: SnapshotAssertion) -> None:
    manifest, slices = single_runs("levels", {"5.6": 1.0, "5.7": 0.5}, tests=["scan"])
    more = copy.deepcopy(slices)
    for record in more:
        record.place.clients = 40

    written = render_as(
        "html", HISTORIES, history_of(experiments((manifest, [*slices, *more])), choice())
    )

    changes = re.findall(r'<ul class="changes">.*?</ul>', written, re.DOTALL)
    assert [words(each) for each in changes] == snapshot


def test_change_points_by_size_alone_have_marks_and_a_list_of_their_own(
    snapshot: SnapshotAssertion,
) -> None:
    runs = single_runs("old", {"5.6": 1.0, "5.7": 1.3, "8.0": 0.7})
    history = history_of(experiments(runs), choice())
    text, written = plain(document(history)), render_as("html", HISTORIES, history)

    assert re.search(r"^\| Writes \(1\) +\| +1\.00 \| △ 1\.30 \| ▽ 0\.70 \|", text, re.MULTILINE)
    assert text == snapshot
    assert re.search(r'class="shift middle k\d \w+">▽</text>', written)
    (line,) = json.loads(data.render(history))["lines"]
    assert line["tests"][0]["change_points"][0]["by_size_alone"] is True


def chart_of(changes: int) -> Markup:
    """Two versions, as many lines, which all get slower."""
    marks = marks_of(["", *map(str, range(changes))], "")
    points = (RatioPoint(Ratio(1.0), 0), RatioPoint(Ratio(0.5), 1))
    courses = [RatioLine(str(index), marks[str(index)], points) for index in range(changes)]
    signs = [Sign(1, faster=False, sign="▼", mark=course.mark) for course in courses]
    return history_chart(["1.0", "1.1"], courses, signs, "chart")


@pytest.mark.parametrize("changes", [1, 2, 3])
def test_changes_of_one_version_are_drawn_below_each_other_and_above_the_axis(changes: int) -> None:
    heights = [
        float(y) for y in re.findall(r'y="([\d.]+)" class="shift[^>]*>▼</text>', chart_of(changes))
    ]

    assert len(heights) == changes
    assert all(after - before >= 12 for before, after in pairwise(heights))
    assert max(heights) <= HEIGHT


def test_the_ticks_of_the_ratios_are_separate_and_stay_in_sight() -> None:
    chart = chart_of(1)

    axis, drawing = re.findall(r'<svg class="frame[^>]*>.*?(?=<svg class="frame|$)', chart)
    assert re.findall(r">([\d.]+)</text>", axis)[0] == "0.5"
    assert re.findall(r">([\d.]+)</text>", drawing) == ["1.0", "1.1"]


def test_many_changes_of_one_version_are_counted() -> None:
    assert re.findall(r'class="shift[^>]*>([^<]*)</text>', chart_of(12)) == ["▼ 12"]


def test_long_labels_of_versions_have_room_and_are_distinguished() -> None:
    labels = [f"17.6 /home/someone/builds/postgres-patched {sha256}" for sha256 in ("3f9a", "c04e")]
    points = (RatioPoint(Ratio(1.0), 0), RatioPoint(Ratio(0.5), 1))
    mark = marks_of(["", "scan"], "")["scan"]

    chart = history_chart(labels, [RatioLine("scan", mark, points)], [], "chart")

    assert ">17.6 /home/s…ed 3f9a</text>" in chart
    assert ">17.6 /home/s…ed c04e</text>" in chart
    width = re.search(r"min-width:(\d+)px", chart)
    assert width is not None and int(width[1]) > 2 * 20 * 7


def test_names_from_outside_are_escaped() -> None:
    odd = single_runs("<b>odd</b>", {"5.6": 1.0, "<i>": 0.5})

    written = render_as("html", HISTORIES, history_of(experiments(odd), choice()))

    assert "<b>odd" not in written
    assert "<i>" not in written
    assert "&lt;i&gt;" in written
