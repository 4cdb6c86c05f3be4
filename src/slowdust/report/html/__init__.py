"""The report as one self-contained HTML page: readable without network and without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from slowdust.analysis.model import Report
from slowdust.report.html import cells, numbers, sla
from slowdust.report.html.page import page_of
from slowdust.report.html.step_view import STATEMENTS
from slowdust.store.records import Slice


def render(report: Report, slices: Sequence[Slice]) -> str:
    """The whole page: tables from `report`, charts from `slices` (those it was computed from)."""
    template = _environment().get_template("page.html")
    return template.render(
        page=page_of(report, slices),
        report=report,
        statements_of=STATEMENTS,
        style=_joined("page.css", "steps.css"),
        script=_joined("page.js", "zoom.js"),
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("slowdust.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        rate=cells.rate,
        ratio=cells.ratio,
        measured=cells.measured,
        with_relative=cells.with_relative,
        band=cells.band,
        band_of=cells.band_of,
        relative_time=cells.relative_time,
        icon=cells.icon,
        contender_name=cells.contender_name,
        count=cells.count,
        change=cells.change,
        duration=numbers.duration,
        interval=cells.interval,
        percent=cells.percent,
        response_time=cells.response_time,
        size=cells.size,
        clock=numbers.clock,
        seconds=cells.seconds,
        sla_failure=sla.sla_failure,
        under_target=sla.under_target,
    )
    return environment


def _joined(*names: str) -> Markup:
    """Files of this package, to stand in the page as they are."""
    folder = resources.files(__package__)
    return Markup("").join(
        Markup(folder.joinpath(name).read_text(encoding="utf-8")) for name in names
    )
