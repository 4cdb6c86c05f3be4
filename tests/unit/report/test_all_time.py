"""A verdict about all time: every format prints its ratio and interval."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.comparison import judge
from slowdust.analysis.model import Report, Result
from slowdust.analysis.stored import analyse
from slowdust.experiment.live import describe
from slowdust.experiment.view import InterimVerdict
from slowdust.ratios import Ratio
from slowdust.report import html
from slowdust.report.markdown import report as markdown
from slowdust.report.numbers import TO
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.ratios import interval_of, value_of
from tests.unit.report.media import printed
from tests.unit.synthetic import QUIET, synthetic_experiment

OLD, NEW = "postgres@15.8", "postgres@17.6"


def stalled_experiment() -> tuple[Manifest, list[Slice]]:
    """Two contenders, equal but for the stalls that every tenth slice of the second one has."""
    manifest, slices = synthetic_experiment(
        [OLD, NEW], ["point-query"], clients=(1, 8), noise=QUIET, incarnations=3, blocks=20
    )
    for record in [record for record in slices if record.place.contender == NEW][::10]:
        record.qps /= 10
        assert record.measured.seconds is not None
        record.measured.seconds *= 10
    return manifest, slices


def stalled_report() -> tuple[Report, list[Slice]]:
    manifest, slices = stalled_experiment()
    return analyse(manifest, slices), slices


def stalled_result(report: Report) -> Result:
    result = next(r for r in report.results if r.contender == NEW)
    assert (result.verdict, result.basis) == ("slower", "all time")
    assert value_of(result.ratio) == pytest.approx(0.526, abs=0.01)
    assert result.typical_beside == pytest.approx(1.0, abs=0.01)
    return result


def test_markdown_has_both_ratios(snapshot: SnapshotAssertion) -> None:
    report, _ = stalled_report()
    result = stalled_result(report)
    low, high = interval_of(result.ratio)
    text = markdown.render(report)

    cell = f"{value_of(result.ratio):.2f} [{low:.2f}, {high:.2f}] slower, typical 1.00"
    assert text.count(cell) == 4  # all tests, and by clients
    assert " ".join(text.split()) == snapshot


def test_the_page_has_both_ratios_wherever_it_has_one() -> None:
    report, slices = stalled_report()
    result = stalled_result(report)
    low, high = interval_of(result.ratio)
    page = html.render(report, slices)
    _, table = page.split('<table class="results" id="results-table">')
    table = table.partition("</table>")[0]

    assert f'data-value="{value_of(result.ratio)}"' in table
    assert f"{low:.2f}{TO}{high:.2f}" in table
    assert table.count('class="number rel slower"') == 2
    assert table.count("<small>typical 1.00</small>") == 2
    assert page.count("<small>typical 1.00</small>") == 4  # the table, the tests
    assert page.count("slower, typical 1.00") == 2  # by clients
    assert page.count('class="number rel between"') == 0
    forest = page.partition('id="intervals"')[2].partition("</section>")[0]
    assert f"{value_of(result.ratio):.2f} ({low:.2f}{TO}{high:.2f}), slower" in forest
    assert "<dt>typical, all time</dt>" in page


def test_the_terminal_has_both_ratios(snapshot: SnapshotAssertion) -> None:
    report, _ = stalled_report()

    assert " ".join(printed(report).split()) == snapshot


def test_a_line_of_the_live_view_has_both_ratios(snapshot: SnapshotAssertion) -> None:
    verdict = InterimVerdict(
        contender=NEW, ratio=Ratio(0.91, 0.86, 0.96, "slower"), settled=False, typical=1.0
    )

    assert describe(verdict) == snapshot


def test_pairs_compared_with_another_base_are_judged_by_it_too() -> None:
    _, slices = stalled_experiment()

    for judgement in judge(slices, [OLD, NEW], 0.03, base=NEW):
        assert (judgement.verdict, judgement.basis) == ("faster", "all time")
