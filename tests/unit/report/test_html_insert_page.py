"""The page of an Insert Benchmark."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.report import html
from slowdust.store.slice import Slice
from tests.unit.report.outline import outline_of, row_of, words
from tests.unit.report.sample import BASE, NEWER, long_experiment, plain_experiment
from tests.unit.synthetic_steps import STEPS, Break, Overload, insert_experiment


@pytest.fixture(scope="module")
def measured() -> tuple[Report, list[Slice]]:
    return long_experiment()


@pytest.fixture(scope="module")
def page(measured: tuple[Report, list[Slice]]) -> str:
    return html.render(*measured)


SIZES = "Sizes at the end of each step"


def _table(page: str, label: str) -> str:
    match = re.search(rf'aria-label="{re.escape(label)}">.*?</table>', page, re.DOTALL)
    assert match, label
    return match[0]


def _section(page: str, test: str) -> str:
    start = page.index(f'<details class="test" id="test-{test}-c1"')
    end = page.find('<details class="test"', start + 1)
    return page[start : end if end > 0 else page.index('<section id="contenders">')]


def test_it_is_one_well_formed_file_whose_links_lead_somewhere(page: str) -> None:
    outline = outline_of(page)

    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.targets) <= set(outline.ids)
    assert outline.loads == ["data:,"]


def test_three_tables_have_contenders_by_steps_and_say_the_units(page: str) -> None:
    rates, relative, writers = (
        _table(page, title)
        for title in ("Rates", "Relative to the first row", "Insert rate during the queries")
    )

    for step in STEPS:
        assert f">{step}</a></th>" in rates
        assert f">{step}</a></th>" in relative
    about = page.partition('<section id="summary">')[2].partition("<table")[0]
    assert "l.i0, l.i1 and l.i2: inserts/s; l.x: indexed rows/s; " in about
    assert "target 100 100 500 500 1,000 1,000" in words(writers)


def test_the_tables_have_the_classic_colours_and_grey_what_missed_its_sla(
    page: str, snapshot: SnapshotAssertion
) -> None:
    rates, relative, writers = (
        _table(page, title)
        for title in ("Rates", "Relative to the first row", "Insert rate during the queries")
    )

    assert rates.count("missed-sla") == 2
    assert re.search(r'faster">[\d,]+\+', rates)
    assert re.search(r'slower">0\.[78]', relative)
    assert re.search(r'faster">1\.3', relative)
    assert re.search(r'slower">600', writers), "the classic red, not grey"
    assert words(writers) == snapshot


def test_marks_are_reported_in_words(page: str, snapshot: SnapshotAssertion) -> None:
    legends = re.findall(r'<p class="lead">(Marks: .*?)</p>', page)
    assert len(legends) == 3
    assert legends == snapshot


def test_steps_keep_their_order_in_table_and_sections(page: str) -> None:
    assert re.findall(r'<tr class="row"[^>]*data-name="([^"]*)"', page) == list(STEPS)
    assert re.findall(r'<details class="test" id="test-([^"]*)-c1"', page) == list(STEPS)


def test_a_failed_sla_is_reported_in_numbers_and_greyed_instead_of_compared(
    page: str, snapshot: SnapshotAssertion
) -> None:
    row = row_of(page, "qp1000")

    assert words(row) == snapshot
    assert row.count("missed-sla") == 1
    assert "rel " not in row
    base = row_of(page, "qr1000")
    assert words(base) == snapshot
    section = _section(page, "qp1000")
    assert words(section.partition("</summary>")[0]) == snapshot
    assert 'class="bar missed k1"' in section
    assert section.startswith('<details class="test" id="test-qp1000-c1" open>')


def test_a_failed_step_is_reported_with_its_log_and_a_long_one_is_folded(
    page: str, snapshot: SnapshotAssertion
) -> None:
    section = page.partition('<section id="failed-steps">')[2].partition("</section>")[0]

    assert "FATAL:  &lt;out&gt; of memory" in section
    assert words(section) == snapshot
    logs = re.findall(r'<details class="panel"( open)?>', section)
    assert "" in logs
    assert " open" in logs
    assert words(row_of(page, "qp500")) == snapshot
    assert words(row_of(page, "qr500")) == snapshot
    assert _section(page, "qp500").startswith('<details class="test" id="test-qp500-c1" open>')


def test_a_step_without_results_is_reported_without_a_section() -> None:
    breaks = [Break(name, "l.x", 1, "no space left") for name in (BASE, NEWER)]
    manifest, slices = insert_experiment([BASE, NEWER], incarnations=1, broken=breaks)

    page = html.render(analyse(manifest, slices), slices)

    outline = outline_of(page)
    assert "test-l.x-c1" not in outline.ids
    assert set(outline.targets) <= set(outline.ids)
    assert "Steps that failed" in page
    assert "no space left" in page


def test_a_step_shows_every_second_of_all_contenders_and_no_slices(
    page: str, snapshot: SnapshotAssertion
) -> None:
    section = _section(page, "qr100")

    captions = re.findall(r"<figcaption>([^<]*)</figcaption>", section)
    assert captions == snapshot
    assert section.count('class="course k0 round"') == 8
    assert section.count('class="course k1 round later"') == 8
    assert section.count('class="target"') == 2
    assert "Slices in pairs" not in page


@pytest.mark.parametrize("test", ["qp1000", "qr1000"])
def test_writers_that_fell_behind_have_lateness_and_backlog(
    page: str, test: str, snapshot: SnapshotAssertion
) -> None:
    drawn, kept_up = (
        re.findall(r"<figcaption>([^<]*)</figcaption>", _section(page, each))
        for each in (test, "qr100")
    )
    assert set(drawn) - set(kept_up)
    assert drawn == snapshot


def test_an_index_has_what_the_server_used_but_no_rate_by_the_second(
    page: str, snapshot: SnapshotAssertion
) -> None:
    captions = re.findall(r"<figcaption>([^<]*)</figcaption>", _section(page, "l.x"))

    assert captions[1:] == snapshot


def test_stalls_are_listed_with_what_the_probes_saw_and_lead_to_the_graphs(
    page: str, snapshot: SnapshotAssertion
) -> None:
    stalls = _table(_section(page, "qr100"), "Stalls")

    assert stalls.count("data-zoom=") == 2  # one in each incarnation
    assert '<a href="#test-qr100-c1-seconds" data-zoom="2,20">12</a>' in stalls
    assert words(stalls) == snapshot
    assert "Stalls" not in _section(page, "qp100")


def test_response_times_are_counted_in_classic_buckets(
    page: str, measured: tuple[Report, list[Slice]]
) -> None:
    table = _table(page, "Response times of query in qp100")
    report, _ = measured

    runs = [run for run in report.step_runs if (run.test, run.contender) == ("qp100", BASE)]
    counts = [(run.roles[0].buckets or [])[0] for run in runs]
    assert [run.roles[0].role for run in runs] == ["query", "query"]
    assert f"≤ 256 µs {sum(counts):,}" in words(table)
    assert "%" in table


@pytest.mark.parametrize("step", ["l.i0", "l.i1", "l.x", "qr100", "qp100"])
def test_headings_say_what_an_operation_and_a_response_time_is(
    page: str, step: str, snapshot: SnapshotAssertion
) -> None:
    assert re.findall(r"<h4>([^<]*)</h4>", _section(page, step)) == snapshot


def test_a_wrong_count_of_rows_stands_out() -> None:
    manifest, slices = insert_experiment([BASE, NEWER], ["l.i0", "l.i1"], incarnations=2)
    detail = slices[0].step
    assert detail is not None
    detail.rows_counted = 499_999

    page = html.render(analyse(manifest, slices), slices)
    table = _table(_section(page, "l.i0"), SIZES)

    assert table.count("<tr>") == 1 + 2
    assert len(re.findall(r'class="number bad">([^<]*)<', table)) == 1


def test_a_step_of_a_moment_has_no_graphs(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr("tests.unit.synthetic_steps.SECONDS", 1)
    manifest, slices = insert_experiment([BASE, NEWER], ["l.i0"], incarnations=1)

    page = html.render(analyse(manifest, slices), slices)

    section = _section(page, "l.i0")
    assert 'class="graphs"' not in section
    assert re.findall(r"<p[^>]*>([^<]*)</p>", section) == snapshot


def test_two_seconds_are_a_course(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.unit.synthetic_steps.SECONDS", 2)
    manifest, slices = insert_experiment([BASE, NEWER], ["l.i0"], incarnations=1)

    section = _section(html.render(analyse(manifest, slices), slices), "l.i0")

    assert 'class="graphs"' in section
    assert re.search(r'class="course [^"]*" d="M0 \d+l1', section)


def test_a_base_that_missed_its_sla_is_compared_with_nothing() -> None:
    overload = Overload(BASE, "qr500", inserts=0.5)
    manifest, slices = insert_experiment([BASE, NEWER], ["qr500"], overloaded=[overload])

    table = _table(
        html.render(analyse(manifest, slices), slices), "Rate and response time of qr500"
    )

    assert table.count(">not compared<") == 2
    assert 'class="number">1<' not in table


def test_the_glossary_speaks_of_steps_where_there_are_no_slices(
    page: str, snapshot: SnapshotAssertion
) -> None:
    glossaries = [
        words(each.partition('<section id="reading">')[2].partition("</section>")[0])
        for each in (page, html.render(*plain_experiment()))
    ]

    assert ["slice" in glossary for glossary in glossaries] == [False, True]
    assert glossaries == snapshot


def test_unmeasured_values_are_dashes() -> None:
    manifest, slices = insert_experiment([BASE, NEWER], ["l.i0"], incarnations=1)
    for record in slices:
        assert record.step is not None
        record.step.samples = []
        record.step.data_bytes = record.step.rows_counted = record.step.settled_s = None

    page = html.render(analyse(manifest, slices), slices)

    assert "CPUs used by the server" not in page
    assert _table(_section(page, "l.i0"), SIZES).count("not measured") >= 2 * 3
    outline_of(page)


def test_one_start_is_a_page() -> None:
    manifest, slices = insert_experiment([BASE], ["l.i0", "qr100"], incarnations=1)

    page = html.render(analyse(manifest, slices), slices)

    outline_of(page)
    assert "Paler" not in page
    assert "Inc." not in page


def test_several_numbers_of_clients_have_tables_of_their_own() -> None:
    manifest, slices = insert_experiment([BASE, NEWER], ["l.i0", "qr100"], clients=(1, 4))

    page = html.render(analyse(manifest, slices), slices)

    outline = outline_of(page)
    assert set(outline.targets) <= set(outline.ids)
    assert len(re.findall(r"<h2>[^<]*, (?:1 client|4 clients)</h2>", page)) == 2 * 3


def test_each_hold_has_tables_and_shows_what_it_left() -> None:
    manifest, slices = insert_experiment([BASE, NEWER], ["l.i1", "l.i1.hold60"], incarnations=1)
    for record in slices:
        assert record.step is not None
        record.step.dead_rows = 5_432 if record.place.test == "l.i1.hold60" else None

    page = html.render(analyse(manifest, slices), slices)

    outline = outline_of(page)
    assert set(outline.targets) <= set(outline.ids)
    assert len(re.findall(r"<h2>[^<]*, no hold</h2>", page)) == 2
    assert len(re.findall(r"<h2>[^<]*, hold 60 s</h2>", page)) == 3
    assert _table(_section(page, "l.i1.hold60"), SIZES).count("5,432") == 2
    assert "dead rows" not in _table(_section(page, "l.i1"), SIZES)


def test_half_an_hour_of_every_step_stays_a_page_below_4_mb(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.unit.synthetic_steps.SECONDS", 1800)
    manifest, slices = insert_experiment([BASE, NEWER], incarnations=2)

    page = html.render(analyse(manifest, slices), slices)

    assert len(page.encode()) < 4e6


def test_a_page_of_slices_says_nothing_of_steps() -> None:
    page = html.render(*plain_experiment())

    assert 'id="summary"' not in page
    assert '-seconds"' not in page
    assert "<dt>SLA</dt>" not in page
