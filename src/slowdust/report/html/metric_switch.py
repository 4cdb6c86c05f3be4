"""The metrics that the results table can show in place of the rate, as data for the script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowdust.analysis.metrics import COMPARED, Percentile
from slowdust.analysis.model import MetricComparison
from slowdust.report.html import cells
from slowdust.report.html.rows import Row

OFFERED = ("server_cpu_us", "p50_us", "p99_us", "read_kb", "write_kb")
"""The keys of the metrics that can be chosen beside work, in their order."""

Shown = tuple[str, str, str]
"""A ratio, its interval and its verdict: less, more, same or unsure."""


@dataclass(frozen=True)
class SwitchedMetric:
    """A metric with a comparison in some row; its cells by row and contender beside the base."""

    key: str
    label: str
    cells: Mapping[str, tuple[Shown | None, ...]]
    """Anchor of a row -> its cells; None where the metric was not compared."""


@dataclass(frozen=True)
class MetricSwitch:
    """All metrics that can be chosen; none where only rates are known."""

    metrics: tuple[SwitchedMetric, ...]

    @property
    def as_json(self) -> Markup:
        """The cells of each metric by its key, fit to stand in a script element."""
        data = {metric.key: metric.cells for metric in self.metrics}
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
        return Markup(text.replace("<", "\\u003c"))


def metric_switch(rows: Sequence[Row]) -> MetricSwitch:
    """Return the metrics of which any row has a ratio, work by instructions first."""
    work = SwitchedMetric("work", "work", {row.anchor: _works(row) for row in rows})
    known = {metric.key: metric for metric in COMPARED}
    offered = [known[key] for key in OFFERED]
    others = (
        SwitchedMetric(
            metric.key,
            metric.field if isinstance(metric, Percentile) else metric.label,
            {row.anchor: _comparisons(row, metric.key) for row in rows},
        )
        for metric in offered
    )
    return MetricSwitch(tuple(m for m in (work, *others) if any(map(any, m.cells.values()))))


def _works(row: Row) -> tuple[Shown | None, ...]:
    return tuple(
        (
            cells.work_ratio(work.ratio),
            str(cells.work_interval(work)),
            work.verdict or "",
        )
        if cell is not None and (work := cell.work) is not None and work.ratio is not None
        else None
        for cell in row.cells
    )


def _comparisons(row: Row, key: str) -> tuple[Shown | None, ...]:
    return tuple(
        _shown(cell.compared[key]) if cell is not None and key in cell.compared else None
        for cell in row.cells
    )


def _shown(compared: MetricComparison) -> Shown:
    interval = cells.interval(compared.low, compared.high)
    return (str(cells.ratio(compared.ratio)), str(interval), compared.verdict)
