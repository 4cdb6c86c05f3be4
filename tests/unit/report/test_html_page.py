from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report, Result
from slowdust.analysis.stored import analyse
from slowdust.benchmarks.micro import MICRO
from slowdust.ratios import Ratio
from slowdust.report import html
from slowdust.store.slice import Slice
from tests.unit.ratios import value_of
from tests.unit.report.outline import outline_of, row_of, words
from tests.unit.report.sample import (
    BASE,
    HOSTILE,
    NEWER,
    matrix_experiment,
    plain_experiment,
    sized_experiment,
    slap_experiment,
    sweep_experiment,
    troubled_experiment,
)
from tests.unit.synthetic import synthetic_experiment


@pytest.fixture(scope="module")
def plain() -> tuple[Report, list[Slice]]:
    return plain_experiment()


@pytest.fixture(scope="module")
def troubled_page() -> str:
    return html.render(*troubled_experiment())


def _result(report: Report, test: str, contender: str) -> Result:
    return next(
        result for result in report.results if (result.test, result.contender) == (test, contender)
    )


def test_the_page_is_one_well_formed_file_whose_links_lead_somewhere(
    plain: tuple[Report, list[Slice]],
) -> None:
    outline = outline_of(html.render(*plain))

    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.targets) <= set(outline.ids)
    assert "test-point-query-c1" in outline.ids
    assert outline.loads == ["data:,"]


def test_rates_verdicts_and_bands_are_in_the_table(plain: tuple[Report, list[Slice]]) -> None:
    report, slices = plain
    page = html.render(report, slices)

    row = row_of(page, "point-query")
    newer, base = _result(report, "point-query", NEWER), _result(report, "point-query", BASE)
    assert f"{value_of(newer.ratio):.2f}" in row
    assert "rel slower" in row
    assert f'<span class="word">{newer.verdict}</span>' in row
    assert f"{base.qps:,.0f}" in row
    for sentence in report.tldr:
        assert sentence in page


def test_metrics_have_their_interval_and_verdict_below_them(
    plain: tuple[Report, list[Slice]],
) -> None:
    report, slices = plain
    newer = _result(report, "point-query", NEWER)
    kept = dict(newer.compared)
    newer.compared["server_cpu_us"] = Ratio(0.951, low=0.93, high=0.97, verdict="less")
    newer.compared["p95_us"] = Ratio(1.2, low=0.9, high=1.6, verdict="unsure")
    page = html.render(report, slices)
    newer.compared = kept

    test = re.search(r'id="test-point-query-c1".*?</details>', page, re.DOTALL)
    assert test
    less = '<td class="number">0.95x <span class="word">less</span><small>[0.93, 0.97]</small>'
    assert less in test[0]
    unsure = "<small>\N{MULTIPLICATION SIGN}1.20 unsure</small><small>[0.90, 1.60]</small>"
    assert re.search('<td class="number not-sure">[^<]*' + re.escape(unsure), test[0])


def test_slower_tests_start_open_and_others_closed(plain: tuple[Report, list[Slice]]) -> None:
    page = html.render(*plain)

    assert re.search(r'id="test-point-query-c1" open', page)
    assert re.search(r'id="test-scan-c1">', page)


def test_hostile_text_is_only_ever_text(troubled_page: str) -> None:
    outline = outline_of(troubled_page)

    assert "<script>alert" not in troubled_page
    assert "<i>" not in troubled_page
    assert "<b>worker" not in troubled_page
    assert HOSTILE in "".join(outline.text)


def test_a_failed_contender_is_shown_with_its_log(troubled_page: str) -> None:
    assert "postgres@9.6 failed" in troubled_page
    assert "FATAL: could not map &lt;shared&gt; memory" in troubled_page


def test_differing_plans_stand_side_by_side(troubled_page: str) -> None:
    assert troubled_page.count("<h4>Plans that differ</h4>") == 2  # one for each number of clients
    assert "<mark>Index Scan on sbtest1</mark>" in troubled_page
    assert "<mark>Bitmap Heap Scan on sbtest1</mark>" in troubled_page
    assert "sbtest1: index scan became a bitmap scan" in troubled_page
    assert "The plan of the base is unchanged on" in troubled_page


def test_the_schedule_of_an_open_loop_is_shown(troubled_page: str) -> None:
    assert "Schedule (open loop)" in troubled_page
    assert "3.50 ms" in troubled_page


def test_missing_probes_are_dashes_not_zeros(troubled_page: str) -> None:
    section = re.search(r'id="test-update-index-c1".*?</details>', troubled_page, re.DOTALL)
    assert section
    table = re.search(r"Hardware per operation.*?</table>", section[0], re.DOTALL)
    assert table
    body = re.search(r"<tbody>.*", table[0], re.DOTALL)
    assert body
    assert body[0].count("not measured") >= 3 * 6
    assert not re.search(r"<td[^>]*>0<", body[0])


def test_the_same_warning_of_all_contenders_is_said_once(
    troubled_page: str, snapshot: SnapshotAssertion
) -> None:
    section = re.search(r'id="test-point-query-c1".*?</details>', troubled_page, re.DOTALL)
    assert section
    [notes] = re.findall(r'<ul class="notes">.*?</ul>', section[0], re.DOTALL)
    assert words(notes) == snapshot


def test_settings_that_differ_come_first(troubled_page: str) -> None:
    differing, everything = (
        troubled_page.index('aria-label="Settings that differ"'),
        troubled_page.index('aria-label="All settings"'),
    )

    assert differing < troubled_page.index("io_method") < everything
    assert "(not set)" in troubled_page


@pytest.mark.parametrize(("names", "count"), [("a", 1), ("ab", 2)])
def test_it_is_said_how_many_settings_there_are(names: str, count: int) -> None:
    manifest, slices = synthetic_experiment(["a@1", "a@2"], ["scan"])
    for contender in manifest.contenders:
        contender.settings = dict.fromkeys(names, "on")

    page = html.render(analyse(manifest, slices), slices)

    assert f"All settings ({count})" in page


def test_settings_that_a_version_lacks_are_next_to_the_settings(
    snapshot: SnapshotAssertion,
) -> None:
    manifest, slices = synthetic_experiment(["a@1", "a@2"], ["scan"], blocks=2)
    manifest.contenders[0].skipped_settings = ["jit"]
    manifest.contenders[0].build.version = "1"
    report = analyse(manifest, slices)

    assert report.contender_info[0].skipped_settings == ["jit"]
    settings = _section(html.render(report, slices), "contenders").partition("Settings")[2]
    assert words(settings) == snapshot


def test_anchors_are_distinct_for_any_names() -> None:
    report, slices = plain_experiment()
    for result in report.results:
        if result.test == "scan":
            result.test = "POINT query"

    outline = outline_of(html.render(report, slices))

    assert {"test-point-query-c1", "test-point-query-c1-2"} <= set(outline.ids)


def test_an_experiment_without_slices_is_a_page() -> None:
    report, _ = plain_experiment()
    report.results = []
    report.tldr = []

    assert "No test has a result yet" in html.render(report, [])


def test_one_contender_alone_is_a_page() -> None:
    page = html.render(*sized_experiment(1, ["point-query"]))

    assert "alone" in page
    outline_of(page)


def test_many_contenders_get_a_forest_each() -> None:
    page = html.render(*sized_experiment(20, ["point-query", "scan"], blocks=1))

    assert page.count('class="plot forest"') == 19
    outline_of(page)


def test_a_slice_takes_few_bytes_of_a_page() -> None:
    sizes, counts = [], []
    for blocks in (2, 10):
        report, slices = sized_experiment(2, MICRO.suites["quick"], blocks=blocks)
        counts.append(len(slices))
        sizes.append(len(html.render(report, slices).encode()))

    # So that ten thousand slices stay below 8 MB.
    assert (sizes[1] - sizes[0]) / (counts[1] - counts[0]) < 200
    assert sizes[0] < 1e6


def _section(page: str, name: str) -> str:
    """A part of the page that has a heading of its own, up to the next one's."""
    return page[page.index(f'<section id="{name}">') :].split("</h2>", 2)[1]


def test_levels_of_clients_have_a_chart_a_table_and_a_sentence(
    snapshot: SnapshotAssertion,
) -> None:
    page = html.render(*sweep_experiment())
    outline_of(page)
    section = _section(page, "concurrency")

    assert section.count('class="plot clients"') == 3
    point = section[section.index('id="clients-point-query"') :]
    assert re.findall(r"<li>([^<]*)</li>", point.partition("</section>")[0]) == snapshot
    assert (
        len(re.findall(r'<th scope="row" class="number"><a href="#test-point-query-c', point)) == 7
    )
    assert 'href="#concurrency"' in page


def test_one_level_of_clients_has_no_view_of_its_own(plain: tuple[Report, list[Slice]]) -> None:
    page = html.render(*plain)

    assert 'id="concurrency"' not in page
    assert 'id="memory"' not in page


def test_slap_shows_response_times_next_to_rates() -> None:
    report, slices = slap_experiment()
    page = html.render(report, slices)
    outline_of(page)

    time = _result(report, "update-same-indexed", "mysql@9.7.4").response_time
    assert time is not None
    row = row_of(page, "update-same-indexed")
    assert f"\N{MULTIPLICATION SIGN}{value_of(time.relative):.2f}" in row
    assert "rel slower" in row


def test_an_open_loop_is_coloured_by_its_response_time() -> None:
    report, slices = slap_experiment()
    for result in report.results:
        result.typical = result.ratio = None

    assert "rel slower" in row_of(html.render(report, slices), "update-same-indexed")


def test_notes_stand_above_the_summary(snapshot: SnapshotAssertion) -> None:
    page = html.render(*slap_experiment())

    above = page.partition('id="results"')[0]
    notes = re.findall(r'<section class="note.*?</section>', above, re.DOTALL)
    assert [words(each) for each in notes] == snapshot


def test_memory_is_shown_where_contenders_allocate_differently(snapshot: SnapshotAssertion) -> None:
    page = html.render(*matrix_experiment())
    outline_of(page)
    section = _section(page, "memory")

    assert section.count("<tr>") == 1 + 12
    assert words(section) == snapshot
    contenders = _section(page, "contenders")
    assert re.search(r"engine</th><th[^>]*>environment</th>", contenders)
    assert "tcmalloc" in contenders


def test_many_contenders_of_a_matrix_are_lines_named_by_what_varies() -> None:
    page = html.render(*matrix_experiment())

    overview = re.search(r'aria-label="Contenders by tests">.*?</table>', page, re.DOTALL)
    assert overview
    assert overview[0].count("<tr>") == 1 + 12
    assert "mysql@9.7.4" not in overview[0]
    assert '<span class="point">doublewrite=detect_only</span>' in overview[0]
    settings = re.search(r'aria-label="Settings that differ">.*?</table>', page, re.DOTALL)
    assert settings
    assert settings[0].count("<tr>") == 1 + 12
