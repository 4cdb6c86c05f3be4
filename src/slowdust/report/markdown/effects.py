"""The main effects of a matrix in Markdown."""

from __future__ import annotations

from slowdust.analysis.model import Report
from slowdust.analysis.results.main_effects import main_effects
from slowdust.ratios import ratio
from slowdust.report.markdown.table import table

ABOUT = (
    "What each value of an axis does to the rate: the geometric mean over all tests and over all "
    "combinations of the other axes, then the tests with the lowest and the highest ratio. "
    "These means have no interval and no verdict."
)


def effects(report: Report) -> list[str]:
    """Return a row for each value of an axis beside the axis's first."""
    rows = [
        [
            f"{effect.axis}={effect.value}",
            effect.first,
            ratio(effect.ratio),
            ratio(effect.lowest),
            ratio(effect.highest),
            str(effect.combinations),
        ]
        for effect in main_effects(report)
    ]
    header = ["value", "relative to", "mean", "lowest", "highest", "combinations"]
    return ["## Main effects", "", ABOUT, "", *table(header, rows, left=2)] if rows else []
