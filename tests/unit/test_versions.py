from __future__ import annotations

import pytest

from slowdust.errors import SlowdustError
from slowdust.versions import version_numbers


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("5.6.24", (5, 6, 24)),
        ("10.11.18-MariaDB", (10, 11, 18)),
        ("7.0.14-8", (7, 0, 14)),
        ("9.7", (9, 7)),
        ("18beta1", (18,)),
        ("19devel", (19,)),
    ],
)
def test_version_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert version_numbers(version) == numbers


def test_a_version_without_numbers_is_refused() -> None:
    with pytest.raises(SlowdustError, match="devel"):
        version_numbers("devel")
