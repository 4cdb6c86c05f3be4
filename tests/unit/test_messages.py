"""All sentences for users in one golden file."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from tests.lint.messages import listing, sentences

SOURCE = '''
"""A docstring is not a message."""

def check(name: str, count: int) -> None:
    assert count, "an assertion is not one"
    execute("SELECT a FROM b")
    if count > 3:
        raise UsageError(
            f"'{name}' has {count:,} tests: "
            "choose fewer of them"
        )
'''


def test_only_sentences_are_listed() -> None:
    assert [*sentences(SOURCE)] == ["'{name}' has {count} tests: choose fewer of them"]


def test_the_wording_of_all_messages(snapshot: SnapshotAssertion) -> None:
    assert listing() == snapshot
