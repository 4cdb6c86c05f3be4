"""Parsing the terms of an SLA, and the errors of wrong ones."""

from __future__ import annotations

import math

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from slowdust.studies.capacity.sla import Term, format_time, missed, parse_sla


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("p99<5ms", [Term("p99", 0.005)]),
        (" P99.9 < 250us , errors=0", [Term("p999", 250e-6), Term("errors", 0.0)]),
        ("max<1.5s,errors<0.1%", [Term("max", 1.5), Term("errors", 0.001)]),
        ("p50<1ms,late<5%", [Term("p50", 0.001), Term("late", 0.05)]),
    ],
)
def test_terms_are_read(text: str, terms: list[Term]) -> None:
    sla = parse_sla(text)
    assert [term.name for term in sla.terms] == [term.name for term in terms]
    for read, wanted in zip(sla.terms, terms, strict=True):
        assert math.isclose(read.limit, wanted.limit)
    assert parse_sla(sla.written) == parse_sla(parse_sla(sla.written).written)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("p99<1234us", "p99<1.234ms"),
        ("p99<12345ms", "p99<12.345s"),
        ("p99<999.9us", "p99<999.9us"),
        ("p99<1000us", "p99<1ms"),
        ("p99<90s,errors<0.1234567%", "p99<90s,errors<0.1234567%"),
        ("p99<1ms,errors<0.00001%", "p99<1ms,errors<0.00001%"),
        ("p99<200000s", "p99<200000s"),
    ],
)
def test_limits_keep_all_their_digits(text: str, written: str) -> None:
    sla = parse_sla(text)
    assert sla.written == written
    for term, again in zip(sla.terms, parse_sla(written).terms, strict=True):
        assert math.isclose(term.limit, again.limit, rel_tol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p99",
        "p98<5ms",
        "p99>5ms",
        "p99<5",
        "p99<soon",
        "p99<0ms",
        "p99<5ms,p99<6ms",
        "errors=0",
        "p99<5ms,errors=3",
        "p99<5ms,errors<0.1",
        "p99<5ms,errors<100%",
    ],
)
def test_wrong_terms_are_named(text: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError, match="--sla") as error:
        parse_sla(text)
    assert str(error.value) == snapshot


def test_all_terms_have_to_hold() -> None:
    sla = parse_sla("p99<5ms,errors=0")
    assert missed(sla, {"p99": 0.0049, "errors": 0.0}) == []
    assert [term.name for term in missed(sla, {"p99": 0.005, "errors": 0.01})] == ["p99", "errors"]
    assert missed(sla, {"errors": 0.0}) == [sla.terms[0]], "nothing is known of it"


def test_operations_that_fail_miss_every_sla() -> None:
    sla = parse_sla("p99<5ms")
    assert missed(sla, {"p99": 0.001, "errors": 0.009}) == []
    assert [term.name for term in missed(sla, {"p99": 0.001, "errors": 0.01})] == ["errors"]
    own = parse_sla("p99<5ms,errors<5%")
    assert missed(own, {"p99": 0.001, "errors": 0.04}) == [], "as its user wants it"


def test_a_trial_needs_as_many_operations_as_the_highest_percentile() -> None:
    assert parse_sla("p50<1ms,p99<5ms").operations == 2000
    assert parse_sla("p999<5ms").operations == 20_000
    assert parse_sla("max<5ms").operations == 20


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(250e-6, "250us"), (0.005, "5ms"), (1.5, "1.5s"), (0.0, "0us"), (999.9e-6, "1ms")],
)
def test_times_are_written_with_their_unit(seconds: float, text: str) -> None:
    assert format_time(seconds) == text
