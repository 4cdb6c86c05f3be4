"""The reference page has the help of all commands."""

from __future__ import annotations

from tests.reference import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "`make golden` renews it"
