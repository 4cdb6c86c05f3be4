from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import SlowdustError
from slowdust.report import html
from slowdust.report.html import flames
from slowdust.report.markdown import report as markdown
from tests.unit.report.outline import headings, words
from tests.unit.report.sample import matched_experiment, plain_experiment, profiled_experiment
from tests.unit.report.test_markdown import section, table_rows


def test_markdown_lists_what_changed_and_what_has_no_symbols(snapshot: SnapshotAssertion) -> None:
    report, *_ = profiled_experiment()
    text = section(markdown.render(report), "Functions")
    assert text == snapshot
    assert table_rows(text)[2] == [
        "`parse<1>`",
        "postgres",
        "grew",
        "+2,000",
        "100%",
        "3,000",
        "5,000",
        "3,000",
        "5,000",
    ]


def test_functions_are_listed_with_their_counterparts(snapshot: SnapshotAssertion) -> None:
    report, slices, profiles = matched_experiment()
    assert section(markdown.render(report), "Functions") == snapshot
    page = html.render(report, slices, profiles)
    functions = page.partition('id="test-point-query-c1"')[2].partition("<h4>Functions")[2]
    assert words(functions.partition("</table")[0]) == snapshot


def test_headings_say_whether_instructions_were_counted_or_time_was_sampled(
    snapshot: SnapshotAssertion,
) -> None:
    report, slices, profiles = profiled_experiment()
    assert headings(markdown.render(report)) == snapshot
    [changes] = report.function_changes
    changes.source, changes.unit = "perf", "ns"
    changes.base_samples, changes.samples = 1200, 1350

    text = markdown.render(report)
    page = html.render(report, slices, profiles)

    assert section(text, "Functions")[:3] == snapshot
    functions = page.partition('id="test-point-query-c1"')[2].partition("<h4>Functions")[2]
    assert words(functions.partition("<table")[0]) == snapshot


def test_without_profiles_nothing_is_said_of_functions() -> None:
    report, slices = plain_experiment()
    assert "## Functions" not in markdown.render(report)
    assert "Flame graphs</h4>" not in html.render(report, slices)


def test_the_page_says_that_the_program_is_missing(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.delenv("SLOWDUST_FLAMEGRAPH", raising=False)
    monkeypatch.setattr(flames, "BINARY", "slowdust-no-such-program")
    page = html.render(*profiled_experiment())
    assert "<code>parse&lt;1&gt;</code>" in page
    graphs = page.partition("<h4>Flame graphs")[2]
    assert words(graphs.partition("</p>")[0]) == snapshot


def test_complaints_of_the_program_are_errors(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("SLOWDUST_FLAMEGRAPH", "/bin/false")
    with pytest.raises(SlowdustError) as error:
        html.render(*profiled_experiment())
    assert str(error.value) == snapshot


def test_nothing_is_drawn_of_a_profile_without_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    report, slices, profiles = profiled_experiment()
    for profile in profiles:
        profile.stacks.clear()
    monkeypatch.setenv("SLOWDUST_FLAMEGRAPH", "/bin/false")
    assert "Flame graphs</h4>" not in html.render(report, slices, profiles)
