from __future__ import annotations

import pytest

from slowdust.ratios import ratio
from slowdust.report import numbers
from slowdust.report.html import cells


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (81234.5, "81,234"),
        (123.4, "123"),
        (12.34, "12.3"),
        (9.9, "9.90"),
        (0.01234, "0.0123"),
        (-1234.5, "-1,234"),
        (0.000123, "0.000123"),
        (0.000000053, "5.3e-08"),
        (-0.0000531729, "-5.32e-05"),
    ],
)
def test_significant_keeps_three_digits_however_small_a_value_is(value: float, text: str) -> None:
    assert numbers.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.00"),
        (0.876, "0.88"),
        (0.0123, "0.012"),
        (0.000000053, "5.3e-08"),
        (12.34, "12.3"),
        (1234.0, "1,234"),
    ],
)
def test_ratio(value: float, text: str) -> None:
    assert ratio(value) == text


def test_a_narrow_interval_gets_a_third_decimal() -> None:
    assert numbers.interval(0.9962, 1.0041) == "0.996\N{EN DASH}1.004"
    assert numbers.interval(0.95, 1.02) == "0.95\N{EN DASH}1.02"


@pytest.mark.parametrize(
    ("share", "text"), [(0.03, "3%"), (0.025, "2.5%"), (0.456, "46%"), (0.0, "0%"), (1.2, "120%")]
)
def test_percent(share: float, text: str) -> None:
    assert numbers.percent(share) == text


def test_the_unit_of_a_column_fits_its_smallest_value() -> None:
    assert numbers.time_unit([12.0, 900_000.0]) is numbers.MICROSECONDS
    assert numbers.time_unit([1_500.0, 90_000.0]) is numbers.MILLISECONDS
    assert numbers.time_unit([2e6]) is numbers.SECONDS
    assert numbers.response_time(1_500.0, numbers.MILLISECONDS) == "1.50"
    assert numbers.response_time(1_500.0) == "1.50 ms"


@pytest.mark.parametrize(
    ("size", "text"),
    [(999, "999 B"), (1_500_000, "1.50 MB"), (83_886_080, "83.9 MB"), (5e15, "5,000 TB")],
)
def test_size(size: float, text: str) -> None:
    assert numbers.size(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "0.250 s"), (12.5, "12.5 s"), (200, "3 min 20 s"), (180, "3 min"), (7500, "2 h 5 min")],
)
def test_duration(seconds: float, text: str) -> None:
    assert numbers.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(7, "0:07"), (13.24, "0:13.2"), (59.97, "1:00"), (754, "12:34"), (3723, "1:02:03")],
)
def test_clock(seconds: float, text: str) -> None:
    assert numbers.clock(seconds) == text


@pytest.mark.parametrize(
    ("rqps", "band"),
    [
        (0.95, "slower"),
        (0.9549, "slower"),
        (0.9551, "between"),
        (1.0, "between"),
        (1.0449, "between"),
        (1.0451, "faster"),
        (1.05, "faster"),
        (None, "between"),
    ],
)
def test_classic_bands(rqps: float | None, band: str) -> None:
    assert numbers.band(rqps) == band


def test_unmeasured_values_are_dashes_and_zero_is_zero() -> None:
    for form in (cells.count, cells.measured, cells.ratio, cells.percent):
        assert "not measured" in form(None)
        assert "not measured" not in form(0.0)
        assert "0" in form(0.0)
    assert "not measured" in cells.interval(None)
    assert "not measured" in cells.response_time(None)


def test_a_long_name_may_break_only_where_its_parts_meet() -> None:
    assert "<wbr>" not in cells.contender_name("postgres@17.6")
    long = cells.contender_name("mariadb@11.4.5/rocksdb:small+jemalloc")
    assert "mariadb@<wbr>11.4.5/<wbr>rocksdb:<wbr>small+<wbr>jemalloc" in long
    assert "<script" not in cells.contender_name("<script>" + "x" * 30)
