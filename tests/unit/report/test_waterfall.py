from __future__ import annotations

import math
import re

import pytest

from slowdust.analysis.model import Explanation, Part
from slowdust.report import html
from slowdust.report.charts.waterfall import waterfall
from tests.unit.synthetic_parts import BASE, OTHER, Spent, explained, parts_experiment

EXPLANATION = Explanation(
    base_us=100.0,
    us=150.0,
    change=math.log(1.5),
    low=math.log(1.4),
    high=math.log(1.6),
    parts=[
        Part(name="instructions", change=math.log(2.0), low=math.log(1.9), high=math.log(2.1)),
        Part(name="waiting", change=math.log(0.75)),
    ],
)


def bars(chart: str) -> list[tuple[float, float, str]]:
    """Return left end, right end and class of each bar, in percent."""
    drawn = re.findall(r'<rect x="([\d.]+)%" width="([\d.]+)%"[^>]*class="part (\w+)"', chart)
    return [(float(x), float(x) + float(width), side) for x, width, side in drawn]


def test_each_part_begins_where_the_one_above_it_ends() -> None:
    instructions, waiting, whole = bars(waterfall(EXPLANATION, "operation"))

    assert [side for *_, side in (instructions, waiting, whole)] == ["slower", "faster", "slower"]
    assert waiting[1] == pytest.approx(instructions[1], abs=0.02)
    assert whole[:2] == pytest.approx((instructions[0], waiting[0]), abs=0.02)


def test_factors_and_intervals_are_next_to_the_bars() -> None:
    chart = waterfall(EXPLANATION, "query")

    interval = "2.00X [1.90\N{EN DASH}2.10]"
    for words in ("instructions", interval, "0.75X", "time per query", "1.50X"):
        assert f">{words}" in chart
    assert chart.count('class="whisker"') == 2


def test_the_page_has_a_waterfall_of_what_changed_only() -> None:
    changed = parts_experiment({BASE: Spent(), OTHER: Spent(user=75.0)}, blocks=8)
    equal = parts_experiment({BASE: Spent(), OTHER: Spent()}, blocks=8)

    pages = [
        html.render(explained(manifest, slices)[0], slices) for manifest, slices in (changed, equal)
    ]

    assert ['class="plot waterfall"' in page for page in pages] == [True, False]
    assert "server user CPU per operation is up " in pages[0]
