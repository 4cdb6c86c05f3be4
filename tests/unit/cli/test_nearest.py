"""A misspelled name gets the nearest name as a suggestion."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.command import Slowdust


@pytest.mark.parametrize(
    ("words", "close"),
    [
        ("reprot", "report"),
        ("import sysbnch x", "sysbench"),
        ("builds lst", "list"),
        ("report --htlm x", "--html"),
        ("show micor", "micro"),
        ("report micro --base postgres@17.5", "postgres@17.6"),
        ("more micro --tests point-qury", "point-query"),
        ("tests --benchmark slpa", "slap"),
        ("history --benchmark insrt", "insert"),
        ("history --test point-qury", "point-query"),
        ("compare postgres@17.6 --tests point-qury", "point-query"),
        ("compare postgres@17.6 --suite quik", "quick"),
        ("compare postgres@17.6 --benchmark insrt", "insert"),
        ("compare postgres@17.6+jemaloc", "jemalloc"),
        ("compare postgrs@17.6", "postgres"),
    ],
)
def test_the_nearest_word_is_named(
    slowdust: Slowdust, results: Path, words: str, close: str
) -> None:
    assert results.is_dir()
    outcome = slowdust(*words.split())
    assert (outcome.code, outcome.out) == (2, "")
    last = outcome.err.splitlines()[-1]
    assert close in last.partition("id you mean")[2], last
