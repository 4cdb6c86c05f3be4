"""The outcome of a search in its formats."""

from __future__ import annotations

import shlex

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.ratios import Ratio, with_interval
from slowdust.report.html import blocks
from slowdust.studies.bisect.document import document
from slowdust.studies.bisect.outcome import Outcome, summarize_search
from slowdust.studies.bisect.posterior import Direct
from slowdust.studies.bisect.words import certainty, summary
from tests.unit.report.media import in_markdown
from tests.unit.synthetic_search import BELIEFS, COSTS, outcome_of_test, record_of


def test_the_answer_names_each_change_with_ratio_interval_and_certainty(
    snapshot: SnapshotAssertion,
) -> None:
    first, *changes = summary(outcome_of_test())
    assert first == snapshot
    assert changes[0] == (
        "0123456789ab Check *twice* before <b>every</b> row: 10% more work, "
        "1.100 [1.094, 1.106], more than 99% sure."
    )
    assert changes[1].startswith("one of c6 and c7: 4.9% less work, 0.951 [")


def test_uncertainty_is_reported(snapshot: SnapshotAssertion) -> None:
    sentences = certainty(outcome_of_test())
    assert "5 of 9 candidates were measured" in sentences[0]
    assert "79% sure" in sentences[0], "0.99 x 0.8"
    assert sentences[1] == "These intervals may have a change: c7 to c8."
    assert sentences[2] == snapshot


def test_no_change_is_an_answer() -> None:
    quiet = summarize_search(record_of(9), BELIEFS[:1], COSTS[:1], {}, {})
    (sentence,) = summary(quiet)
    assert "3%" in sentence and "from c0 to c8" in sentence


def test_costs_add_up_from_the_first() -> None:
    levels = outcome_of_test().levels
    assert [level.place for level in levels] == [0, 4, 5, 7, 8]
    assert abs(levels[2].cost.ratio.value - 1.1) < 1e-3
    assert (levels[3].cost.ratio.half_width or 0) > (levels[2].cost.ratio.half_width or 0)


def test_note_and_page_escape_what_others_wrote() -> None:
    note, page = (
        in_markdown(document, outcome_of_test()),
        blocks.render(document(outcome_of_test())),
    )
    assert "<b>every</b>" not in page
    assert "Check *twice*" in page
    assert "<script>" not in note.replace("\\<script>", "")
    assert "    slowdust bisect postgres@1..9 --test point-query --metric work" in note
    for text in (note, page):
        assert "1.100" in text
        assert "0123456789abcdef" in text


def test_the_outcome_survives_json() -> None:
    content = msgspec.json.encode(outcome_of_test())
    assert msgspec.json.decode(content, type=Outcome) == outcome_of_test()


def test_the_command_that_repeats_a_search_can_be_pasted_into_a_shell() -> None:
    record = record_of(9)
    options = {**record.question.options, "workload": "/my files/shop.toml", "settings": ["a=b c"]}
    question = msgspec.structs.replace(record.question, options=options)
    record = msgspec.structs.replace(record, question=question)
    words = shlex.split(summarize_search(record, BELIEFS, COSTS, {}, {}).command)
    assert words[words.index("--workload") + 1] == "/my files/shop.toml"
    assert words[-2:] == ["--set", "a=b c"]


def test_a_contradicted_change_is_none_of_the_changes(snapshot: SnapshotAssertion) -> None:
    direct = {5: Direct(0.01, 0.02)}
    outcome = summarize_search(record_of(9), BELIEFS, COSTS, {}, direct)
    assert [change.candidate.name for change in outcome.changes] == ["c7"]
    [sentence] = [line for line in certainty(outcome) if line.startswith("c5 ")]
    assert sentence == snapshot
    note, page = in_markdown(document, outcome), blocks.render(document(outcome))
    assert sentence in note.replace("\\", "")
    assert sentence in page
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome) == outcome


@pytest.mark.parametrize(
    ("ratio", "words"), [(1.0312, "1.031"), (2000.4, "2,000"), (0.000512, "0.000512")]
)
def test_ratios_have_significant_digits(ratio: float, words: str) -> None:
    assert with_interval(Ratio(ratio, ratio, ratio), decimals=3) == f"{words} [{words}, {words}]"
