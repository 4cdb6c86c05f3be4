"""Foreign texts do not command a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowdust.text import visible, visible_in_json

ENCODERS: dict[str, Callable[[object], bytes]] = {
    "msgspec": msgspec.json.encode,
    "escaped": lambda value: json.dumps(value).encode(),
    "raw": lambda value: json.dumps(value, ensure_ascii=False).encode(),
}


@pytest.mark.parametrize("encoder", ENCODERS)
@given(
    text=st.text(st.sampled_from('\x1b[3\x00\x08\t\n\r\x7f\x9b\u202e\u2069\\ua"é0'), max_size=12)
)
def test_json_reads_as_the_visible_text(encoder: str, text: str) -> None:
    content = ENCODERS[encoder]({"name": text})
    assert json.loads(visible_in_json(content)) == {"name": visible(text)}


@given(text=st.text())
def test_visible_text_has_no_commands_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert all(letter in "\n\t" or not 0 <= ord(letter) < 32 for letter in shown)
    assert "\x9b" not in shown and "\x7f" not in shown and "\u202e" not in shown
    assert visible(shown) == shown


def test_an_escape_sequence_is_shown() -> None:
    assert visible("a\x1b[31mb\r\n") == "a\\x1b[31mb\\r\n"
    assert visible_in_json(b"\xff\\u001b") == b"\xff\\u001b"
