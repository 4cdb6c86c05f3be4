"""Every format of the lists is a module that renders its description."""

import pytest

from slowdust.analysis.history.history import history_of
from slowdust.report.formats import HISTORIES, REPORTS, render_as
from tests.unit.report.sample import profiled_experiment
from tests.unit.synthetic_history import choice, experiments, measured

BEGINNINGS = {
    "html": "<!doctype html>",
    "md": "# ",
    "csv": "experiment,date,host,base,",
    "json": "{",
    "junit": "<?xml ",
}


@pytest.mark.parametrize("name", [form.name for form in REPORTS])
def test_a_report_is_rendered_in_every_format(name: str) -> None:
    assert render_as(name, REPORTS, *profiled_experiment()).startswith(BEGINNINGS[name])


@pytest.mark.parametrize("name", [form.name for form in HISTORIES])
def test_a_history_is_rendered_in_every_format(name: str) -> None:
    history = history_of(experiments(measured("all", {"5.6.51": 1.0, "8.0.28": 0.5})), choice())

    assert render_as(name, HISTORIES, history).startswith(BEGINNINGS[name])
