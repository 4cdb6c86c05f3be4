"""The templates' environment, which every page shares."""

from __future__ import annotations

from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from slowdust import wording
from slowdust.report import numbers
from slowdust.report.html import cells
from slowdust.report.sections.measured import sla_failure, work_band

_LIBRARY = "uplot/uPlot.iife.min.js"


@cache
def environment() -> Environment:
    templates = Environment(
        loader=PackageLoader("slowdust.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        amount=cells.amount,
        ratio=cells.ratio,
        value=cells.value,
        measured=cells.measured,
        band=numbers.band,
        band_of=cells.band_of,
        sureness=cells.sureness,
        rate_and_outlook=cells.rate_and_outlook,
        amount_class=cells.amount_class,
        work_band=work_band,
        work_sureness=cells.work_sureness,
        work_icon=cells.work_icon,
        work_ratio=cells.work_ratio,
        work_interval=cells.work_interval,
        instructions_in_words=cells.instructions_in_words,
        relative_time=cells.relative_time,
        icon=cells.icon,
        contender_name=cells.contender_name,
        short_hashes=wording.short_hashes,
        clients=wording.clients,
        counted=wording.counted,
        duration=numbers.duration,
        judged_interval=cells.judged_interval,
        percent=cells.percent,
        response_time=cells.response_time,
        sla_failure=sla_failure,
    )
    return templates


def shipped(*names: str) -> Markup:
    """Return files of this package, to stand in the page as they are."""
    folder = resources.files(__package__)
    return Markup("").join(
        Markup(folder.joinpath(name).read_text(encoding="utf-8")) for name in names
    )


def chart_library() -> Markup:
    """Return uPlot with its license, which every copy has to include."""
    return Markup("/*\n") + shipped("uplot/LICENSE") + Markup("*/\n") + shipped(_LIBRARY)
