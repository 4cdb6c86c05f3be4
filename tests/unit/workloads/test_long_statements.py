"""Statements of hundreds of kilobytes are parsed once per dialect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import Token, Tokenizer

from slowdust.errors import UsageError
from slowdust.workloads import sql
from tests.unit.workloads.files import FIND, TABLES, TEST, workload

_KINDS = 3
"""Kinds of SQL that sqlglot distinguishes: MariaDB's is read as MySQL's."""


@pytest.fixture
def read() -> Iterator[list[int]]:
    """The lengths of the texts that were cut into tokens."""
    lengths: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        real = Tokenizer.tokenize

        def tokenize(self: Tokenizer, text: str) -> list[Token]:
            lengths.append(len(text))
            return real(self, text)

        patch.setattr(Tokenizer, "tokenize", tokenize)
        yield lengths


def listing(numbers: int) -> str:
    return f"SELECT title FROM books WHERE id IN ({', '.join(map(str, range(numbers)))})"


def test_a_long_statement_is_read_once_for_each_kind_of_sql(
    read: list[int], tmp_path: Path
) -> None:
    text = listing(12_000)
    find = FIND.replace("SELECT title FROM books WHERE id = :id", f"{text} OR id = :id")
    made = workload(tmp_path, TABLES + find + TEST)
    assert made.dialects == ["postgres", "mysql", "mariadb", "sqlite"]
    assert len([length for length in read if length >= len(text)]) == _KINDS


def test_the_columns_of_a_very_long_one_are_the_servers_to_check(tmp_path: Path) -> None:
    wrong = TABLES + FIND.replace("SELECT title", "SELECT titel") + TEST
    with pytest.raises(UsageError, match="no column of books 'titel'"):
        workload(tmp_path, wrong)
    workload(tmp_path, wrong.replace("= :id", f"= :id OR id IN ({', '.join(['1'] * 20_000)})"))


def test_one_that_is_absurd_is_refused_at_once(read: list[int], tmp_path: Path) -> None:
    find = FIND.replace("SELECT title", f"SELECT {'title, ' * 150_000} title")
    with pytest.raises(UsageError, match=r"sql.*: it has 1,05\d,\d{3} characters.*at most 1,000,0"):
        workload(tmp_path, TABLES + find + TEST)
    assert read == []


@pytest.mark.parametrize("part", ["/* $1 ", "$a{}$ ", "e'$1 ", '"$1 ', ":id /*?*/, "])
def test_no_part_of_a_text_is_searched_again_and_again(part: str) -> None:
    """Each of these once took a time that grows with the square of the length."""
    text = "SELECT " + "".join(part.format(number) for number in range(30_000)) + "1"
    try:
        sql.parse_statement(text, "postgres")
    except ValueError as error:
        assert "is not SQL of postgres" in str(error)
