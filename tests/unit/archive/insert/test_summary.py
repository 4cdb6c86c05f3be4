"""The classic summary tables: columns, cells, colours."""

from __future__ import annotations

import re
from collections.abc import Mapping

from slowdust.archive.insert.classic import render_summary, summary_columns
from slowdust.archive.insert.tables import merged_row
from tests.unit.archive.insert_files import row


def tables(steps: Mapping[str, Mapping[str, tuple[str, str]]], clients: int = 8) -> list[str]:
    """Return the rows of each table; given are ips and qps by step and tag."""
    rows = {
        step: {
            tag: merged_row(row(tag, step, {"ips": ips, "qps": qps}))
            for tag, (ips, qps) in cells.items()
        }
        for step, cells in steps.items()
    }
    tags = list(next(iter(rows.values())))
    page = render_summary(summary_columns(rows, clients), tags)
    return [re.sub("</?table.*?>\n?", "", result) for result in page.split("<table")[1:]]


def test_of_two_loops_the_second_is_shown() -> None:
    steps = {name: {"a": ("800", "9")} for name in ("q100.1", "q100.2")}
    [rates, _] = tables({"l.x": {"a": ("300", "0")}, **steps})
    assert "<tr><th>dbms</th><th>l.x</th><th>q100.2</th></tr>" in rates


def test_of_one_loop_it_is_that_one() -> None:
    [rates, *_] = tables({"q100.1": {"a": ("800", "9")}})
    assert "<th>q100.1</th>" in rates


def test_quarters_of_the_range_are_coloured() -> None:
    [rates, *_] = tables(
        {"l.i0": {"a": ("100", "0"), "b": ("150", "0"), "c": ("151", "0"), "d": ("250", "0"),
                  "e": ("300", "0")}}
    )  # fmt: skip
    assert re.findall(r"<td(?: id=\"(\w+)\")?>(\d+)<", rates) == [
        ("cmin", "100"), ("cmin", "150"), ("", "151"), ("cmax", "250"), ("cmax", "300"),
    ]  # fmt: skip


def test_close_columns_have_no_worst() -> None:
    [rates, *_] = tables({"l.i0": {"a": ("80", "0"), "b": ("100", "0")}})
    assert re.findall(r"<td(?: id=\"(\w+)\")?>(\d+)<", rates) == [("", "80"), ("cmax", "100")]


def test_cells_that_missed_the_sla_are_grey_and_never_the_best() -> None:
    [rates, _, inserts] = tables(
        {"qr100.L1": {"a": ("760", "1000"), "b": ("759", "2000"), "c": ("799", "900")}}
    )
    assert re.findall(r"<td(?: id=\"(\w+)\")?>(\d+)<", rates) == [
        ("cmax", "1000"), ("cgray", "2000"), ("", "900"),
    ]  # fmt: skip
    assert re.findall(r"<td(?: id=\"?(\w+)\"?)?>(\d+)<", inserts) == [
        ("", "760"), ("cmin", "759"), ("", "799"), ("cgray", "800"),
    ]  # fmt: skip


def test_relative_rates_are_coloured_beyond_five_percent() -> None:
    [_, relative] = tables(
        {"l.x": {"a": ("1000", "0"), "b": ("1054", "0"), "c": ("1056", "0"), "d": ("944", "0")}}
    )
    assert re.findall(r"<td(?: id=\"(\w+)\")?>([\d.]+)<", relative) == [
        ("", "1.00"), ("", "1.05"), ("chi", "1.06"), ("clo", "0.94"),
    ]  # fmt: skip
