"""Words of a ratio: a percentage near 1, a factor far from it, in both directions."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from slowdust import ratios
from slowdust.ratios import Keys, Ratio, Rounding
from slowdust.report.json import flat, keys_of


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.3, ("up 30%", "30% faster", "30% more throughput than")),
        (0.96, ("down 4%", "4% slower", "4% less throughput than")),
        (1.004, ("flat", "0.4% faster", "0.4% more throughput than")),
        (1.49, ("up 49%", "49% faster", "49% more throughput than")),
        (0.68, ("down 32%", "32% slower", "32% less throughput than")),
        (0.625, ("down 1.6X", "1.6X slower", "1.6X less throughput than")),
        (2.14, ("up 2.1X", "2.1X faster", "2.1X more throughput than")),
        (0.07, ("down 14X", "14X slower", "14X less throughput than")),
        (99.94, ("up 100X", "100X faster", "100X more throughput than")),
        (3104.2, ("up 3,100X", "3,100X faster", "3,100X more throughput than")),
        (0.00062, ("down 1,600X", "1,600X slower", "1,600X less throughput than")),
        (0.0, ("down to 0", "\u221eX slower", "\u221eX less throughput than")),
    ],
)
def test_small_differences_are_percentages_and_large_ones_factors(
    value: float, words: tuple[str, str, str]
) -> None:
    assert (ratios.change(value), ratios.speed(value), ratios.throughput(value)) == words


@pytest.mark.parametrize("rounding", Rounding)
def test_no_percentage_is_beyond_the_first_factor(rounding: Rounding) -> None:
    for step in range(1, 2000):
        words = ratios.distance(step / 1000, rounding)
        assert words.endswith("X") or float(words.removesuffix("%")) <= 50


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (1.031, "at least 3.1%"),
        (0.969, "at least 3.1%"),
        (0.9961, "at least 0.3%"),
        (1.0004, "at least 0.04%"),
        (1.129, "at least 12%"),
        (2.29, "at least 2.2X"),
        (0.62, "at least 1.6X"),
        (1 / 1690, "at least 1,600X"),
        (9.99, "at least 9.9X"),
    ],
)
def test_a_bound_claims_no_more_than_its_interval(bound: float, words: str) -> None:
    assert ratios.at_least(bound) == words


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (0.9692, "3.1% slower"),
        (1.111, "12% faster"),
        (2.31, "2.4X faster"),
        (0.62, "1.7X slower"),
        (9.97, "10X faster"),
        (1 / 1610, "1,700X slower"),
    ],
)
def test_a_bound_admits_no_less_than_its_interval(bound: float, words: str) -> None:
    assert ratios.at_most(bound) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.954, "4.6% less work"),
        (1.02, "2% more work"),
        (1.312, "31% more work"),
        (1.517, "1.52X more work"),
        (0.48, "2.08X less work"),
        (1537.0, "1,500X more work"),
    ],
)
def test_counts_have_a_digit_more(value: float, words: str) -> None:
    assert ratios.work_in_words(value) == words


def test_an_interval_of_tiny_ratios_keeps_its_digits() -> None:
    assert ratios.with_interval(Ratio(0.00062, 0.00058, 0.00066)) == "0.00062 [0.00058, 0.00066]"
    assert ratios.with_interval(Ratio(0.93, 0.9, 0.96)) == "0.93 [0.90, 0.96]"
    assert ratios.with_interval(Ratio(1.08, 1.004, 1.161)) == "1.08 [1.004, 1.161]"
    assert ratios.with_interval(Ratio(1.0)) == "1.00"
    assert ratios.with_interval(Ratio(1640.2, 1502.0, 1790.9)) == "1,640 [1,502, 1,791]"
    assert ratios.work_ratio(0.00062) == "0.00062"


def test_words_go_before_their_bound() -> None:
    assert ratios.with_bound("7% slower", 0.961) == "7% slower, at least 3.9%"
    assert ratios.with_bound("7% slower", None) == "7% slower"


@pytest.mark.parametrize(
    ("low", "high", "bound"),
    [(0.90, 0.95, 0.95), (0.99, 1.02, None), (1.05, 1.20, 1.05), (None, None, None)],
)
def test_a_ratio_has_the_bound_nearer_1(
    low: float | None, high: float | None, bound: float | None
) -> None:
    assert Ratio(1.0, low, high).bound == bound


def test_the_inverse_has_the_bounds_of_the_other_side_and_the_same_width() -> None:
    ratio = Ratio(0.8, 0.5, 1.25, "unsure", 0.03)
    back = ratio.inverse()
    assert (back.value, back.interval) == (1.25, (0.8, 2.0))
    assert (back.verdict, back.margin) == ("unsure", 0.03)
    assert back.half_width == pytest.approx(ratio.half_width)


class Record(msgspec.Struct):
    """A record with a ratio among its fields, one in an object of its own, and a plain one."""

    name: str
    rate: Annotated[Ratio | None, Keys("rqps", low="low", verdict="verdict")] = None
    total: Annotated[Ratio | None, Keys("rqps", nested=True)] = None
    plain: Ratio | None = None


def test_a_record_has_the_parts_of_its_ratios_among_its_other_fields() -> None:
    full = Record("a", Ratio(0.9, 0.8, 1.0, "slower", 0.03), Ratio(2.0), Ratio(3.0))
    assert flat(full) == {
        "name": "a",
        **{"rqps": 0.9, "low": 0.8, "verdict": "slower"},
        "total": {"rqps": 2.0},
        "plain": Ratio(3.0),
    }
    assert keys_of(Record) == list(flat(full)) == list(flat(Record("b")))
    assert flat(Ratio(3.0)) == {"ratio": 3.0, "low": None, "high": None, "verdict": None}
