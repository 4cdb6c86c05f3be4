"""Main effects of a matrix, from known ratios."""

from __future__ import annotations

import pytest

from slowdust.analysis.results.main_effects import main_effects
from slowdust.analysis.stored import analyse
from slowdust.report.sections.results import effects
from tests.unit.report.media import tables_in
from tests.unit.synthetic import Noise, synthetic_experiment

QUIET = Noise(slice=0.001, stolen_share=0.0, drift=0.0, restart=0.0)
TESTS = ["point-query", "scan"]


def test_effects_of_two_axes_are_distinguished() -> None:
    names = [f"mysql@9.7.4 fsync={fsync} jit={jit}" for fsync in ("off", "on") for jit in "ab"]
    shifts = {names[1]: 1.1, names[2]: 0.5, names[3]: 0.55}
    report = analyse(*synthetic_experiment(names, TESTS, shifts=shifts, noise=QUIET))

    fsync, jit = main_effects(report)

    assert (fsync.axis, fsync.value, fsync.first) == ("fsync", "on", "off")
    assert fsync.ratio == pytest.approx(0.5, rel=0.01)
    assert jit.ratio == pytest.approx(1.1, rel=0.01)
    assert (jit.combinations, jit.tests) == (2, 2)
    ((_, *rows),) = tables_in(effects(report))
    assert any(row[0] == "fsync=on" and "0.50" in row for row in rows)


def test_builds_that_are_crossed_are_an_axis() -> None:
    names = [f"postgres@{v} fsync={fsync}" for v in ("16.1", "17.1") for fsync in ("off", "on")]
    shifts = {names[1]: 0.5, names[2]: 1.1, names[3]: 0.55}
    report = analyse(*synthetic_experiment(names, TESTS, shifts=shifts, noise=QUIET))

    build, fsync = main_effects(report)

    assert (build.axis, build.value, build.first) == ("build", "17.1", "16.1")
    assert build.ratio == pytest.approx(1.1, rel=0.01)
    assert fsync.ratio == pytest.approx(0.5, rel=0.01)


def test_a_value_without_partner_has_no_effect() -> None:
    names = ["mysql@9.7.4 fsync=off jit=a", "mysql@9.7.4 fsync=on jit=b"]

    assert main_effects(analyse(*synthetic_experiment(names, TESTS, noise=QUIET))) == []


def test_contenders_of_no_matrix_have_no_effects() -> None:
    names = ["mysql@9.7.4", "mysql@8.4.0"]

    assert main_effects(analyse(*synthetic_experiment(names, TESTS, noise=QUIET))) == []
