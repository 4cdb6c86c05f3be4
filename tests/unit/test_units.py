import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.units import (
    format_duration,
    parse_count,
    parse_duration,
    parse_number,
    parse_percentage,
    parse_size,
    parse_span,
)

GB = 1 << 30


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("250ms", 0.25),
        ("30s", 30.0),
        ("5", 5.0),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("5m", 300.0),
        ("5min", 300.0),
        ("5 min", 300.0),
        ("10m", 600.0),
        ("1h30m", 5400.0),
        ("1h 30min", 5400.0),
        ("1.5s", 1.5),
        ("1d", 86_400.0),
    ],
)
def test_reads_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["banana", "", "5 minutes", "-3s", "0s", "0", "3m banana", "5M"])
def test_refuses_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"30s.* 5m"):
        parse_duration(text)


def test_a_span_may_be_zero() -> None:
    assert parse_span("0") == parse_span("0s") == 0.0


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *(("5", 5), ("100000", 100_000), ("100_000", 100_000), ("100k", 100_000)),
        *(("1M", 1_000_000), ("1e6", 1_000_000), ("1.5M", 1_500_000), ("2G", 2_000_000_000)),
        ("9007199254740993", 9_007_199_254_740_993),
    ],
)
def test_reads_counts(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "many", "1.5", "1m", "-1", "1MB", "1e", "inf", "1e999"])
def test_refuses_what_is_no_count(text: str) -> None:
    with pytest.raises(ValueError, match="5000, 20k, 1M or 1e6"):
        parse_count(text)


def test_reads_numbers() -> None:
    assert [parse_number(text) for text in ("0.5", "20k", "1e3")] == [0.5, 20_000.0, 1000.0]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("1", 1), ("64kB", 64 << 10), ("128MB", 128 << 20), ("8 GB", 8 * GB), ("1TB", 1 << 40)),
        *(("1.5GB", 3 * GB // 2), ("128MiB", 128 << 20), ("16M", 16 << 20), ("512k", 512 << 10)),
        ("1e6", 1_000_000),
    ],
)
def test_reads_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-1MB", "1 XB", "0.3B", "much"])
def test_refuses_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="64kB, 256MB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "share"), [("3%", 0.03), ("3", 0.03), ("0.5%", 0.005), ("12.5 %", 0.125), ("0", 0.0)]
)
def test_reads_percentages(text: str, share: float) -> None:
    assert parse_percentage(text) == pytest.approx(share)


@pytest.mark.parametrize(
    "text",
    [
        "wide",
        "-3%",
        "0.03",
    ],
)
def test_refuses_what_is_no_percentage_or_two(text: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as error:
        parse_percentage(text)
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.25, "0.25s"), (42.4, "42s"), (185, "3m05s"), (3720, "1h02m")]
)
def test_writes_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
