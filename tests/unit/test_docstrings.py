"""The check of docstrings finds the ones without their noun, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lint.docstrings import main, offenders

OFFENDERS = '''"""Of modules."""
class Contender:
    """As it is started."""

    name: str
    """Its name in reports."""
    titles = ()
    """
    Those of its columns.
    """

    def stop(self) -> None:
        """With all of its processes."""

    async def runs(self) -> bool:
        """Whether it runs."""
'''
GOOD = '''"""Offices of modules."""
class Contender:
    """A contender as it is started."""

    name: str
    """The name by which reports call it."""
    title: str = "Of nothing"
    found = False
    """Whether it was found."""

    def stop(self) -> None:
        """Stop it with all of its processes."""
        print("in a call")
        "As a string that documents nothing"

    @cached_property
    def runs(self) -> bool:
        """Whether it runs."""
'''


def test_each_kind_of_docstring_is_checked() -> None:
    assert list(offenders(OFFENDERS)) == [
        (1, "Of modules."),
        (3, "As it is started."),
        (6, "Its name in reports."),
        (8, "Those of its columns."),
        (13, "With all of its processes."),
        (16, "Whether it runs."),
    ]


def test_docstrings_with_a_noun_or_a_verb_pass() -> None:
    assert list(offenders(GOOD)) == []


def test_offenders_are_printed_with_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""
    (tmp_path / "room").mkdir()
    (tmp_path / "room/bad.py").write_text('"""From here."""\n')
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{tmp_path}/room/bad.py:1: From here.\n"
