"""The templates' environment, which every page shares."""

from __future__ import annotations

from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from slowdust import wording
from slowdust.analysis.story.reasons import amounts_of
from slowdust.analysis.story.unsure import what_decides
from slowdust.report import evidence
from slowdust.report.answer import finding_in_words
from slowdust.report.evidence import basis_of, cost_per_operation
from slowdust.report.html import cells, numbers

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
        cost_per_operation=cost_per_operation,
        basis_of=basis_of,
        amount=cells.amount,
        share=cells.share,
        signed_amount=cells.signed_amount,
        ratio=cells.ratio,
        value=cells.value,
        measured=cells.measured,
        with_relative=cells.with_relative,
        comparison=cells.comparison,
        band=cells.band,
        band_of=cells.band_of,
        sureness=cells.sureness,
        rate_and_outlook=cells.rate_and_outlook,
        what_decides=what_decides,
        amount_class=cells.amount_class,
        work_band=cells.work_band,
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
        finding_in_words=finding_in_words,
        count=cells.count,
        counted=wording.counted,
        change=cells.change,
        change_of_wait=cells.change_of_wait,
        facts_of_waits=evidence.facts_of_waits,
        amounts_of=amounts_of,
        duration=numbers.duration,
        interval=cells.interval,
        spread=numbers.interval,
        judged_interval=cells.judged_interval,
        percent=cells.percent,
        response_time=cells.response_time,
        size=cells.size,
        clock=numbers.clock,
        seconds=cells.seconds,
        sla_failure=cells.sla_failure,
        under_target=cells.under_target,
        with_code=cells.with_code,
    )
    return templates


def shipped(*names: str) -> Markup:
    """Return files of this package, to stand in the page as they are."""
    folder = resources.files(__package__)
    return Markup("").join(
        Markup(folder.joinpath(name).read_text(encoding="utf-8")) for name in names
    )


def chart_library() -> Markup:
    """Return uPlot, with its license, which asks to stand beside every copy."""
    return Markup("/*\n") + shipped("uplot/LICENSE") + Markup("*/\n") + shipped(_LIBRARY)
