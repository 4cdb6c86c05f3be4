import pytest

from slowdust.units import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("30s", 30.0), ("10m", 600.0), ("1h30m", 5400.0), ("1.5s", 1.5)],
)
def test_reads_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["banana", "", "10", "5 minutes", "-3s", "0s", "3m banana"])
def test_refuses_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|no time"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.25, "0.25s"), (42.4, "42s"), (185, "3m05s"), (3720, "1h02m")]
)
def test_writes_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
