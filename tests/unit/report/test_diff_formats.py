"""A difference of two experiments as Markdown, page and JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from slowdust.analysis.diff import Diff, diff_of
from slowdust.analysis.stored import Stored
from slowdust.report import json as data
from slowdust.report.diff import document
from slowdust.report.formats import DIFFS, render_as
from tests.unit.report.media import in_terminal
from tests.unit.synthetic_history import Levels, measured

SCHEMA = Path(__file__).parents[3] / "docs" / "diff.schema.json"


@pytest.fixture(scope="module")
def diff() -> Diff:
    after: Levels = {"8.0.28": 1.0, "8.0.40": {"scan": 0.8, "point-query": 1.0}}
    tests = ["scan", "point-query"]
    first = Stored(*measured("a", {"8.0.28": 1.0, "8.0.40": 1.0}, tests=tests))
    second = Stored(*measured("b", after, tests=tests, seed=2))
    second.manifest.contenders[1].settings = {"flush": "<i>2</i> | never"}
    return diff_of(first, second)


def test_the_published_schema_is_current() -> None:
    remedy = """python -c 'from slowdust.report import json as j; print(j.diff_schema(), end="")'"""
    assert SCHEMA.read_text() == data.diff_schema(), f"{remedy} > docs/diff.schema.json"


def test_the_json_is_what_its_schema_says(diff: Diff) -> None:
    rendered = json.loads(data.render(diff))
    jsonschema.Draft202012Validator(json.loads(data.diff_schema())).validate(rendered)
    assert {test["test"]: test["verdict"] for test in rendered["tests"]}["scan"] == "slower"


def test_markdown_has_tests_and_conditions(diff: Diff) -> None:
    lines = render_as("md", DIFFS, diff).splitlines()
    assert lines[0] == "# a and b"
    [scan] = [line for line in lines if line.startswith("| scan ")]
    cells = [cell.strip() for cell in scan.strip("|").split("|")]
    assert cells[-1] == "slower"
    assert cells[3].startswith("0.8")
    [setting] = [line for line in lines if "flush" in line and line.startswith("|")]
    assert "\\<i>2\\</i> \\| never" in setting


def test_the_terminal_skips_what_stayed_the_same(diff: Diff) -> None:
    assert [test.test for test in diff.tests if test.verdict == "same"] == ["point-query"]
    lines = in_terminal(document(diff)).splitlines()
    assert any(line.startswith("scan  ") for line in lines)
    assert not any(line.startswith("point-query ") for line in lines)


@pytest.mark.parametrize("columns", [60, 80, 110])
def test_lines_are_as_wide_as_the_terminal(diff: Diff, columns: int) -> None:
    lines = in_terminal(document(diff), columns).splitlines()
    assert max(map(len, lines)) <= columns


def test_the_page_colours_only_what_is_sure(diff: Diff) -> None:
    page = render_as("html", DIFFS, diff)
    assert page.count('<td class="number rel slower">') == 1
    assert page.count('<td class="number rel faster">') == 0
    assert "<i>2</i>" not in page
    assert "&lt;i&gt;2&lt;/i&gt; | never" in page


def test_the_page_has_both_experiments_on_one_axis(diff: Diff) -> None:
    chart = render_as("html", DIFFS, diff).partition('id="intervals"')[2].partition("</svg>")[0]
    for colour, experiment in (("k0", "a"), ("k1", "b")):
        points = re.findall(rf'<g class="{colour} [^"]*"><title>(\w+): ', chart)
        assert points == [experiment, experiment]


def test_the_command_line_has_these_formats() -> None:
    assert [form.name for form in DIFFS] == ["html", "md", "json"]
