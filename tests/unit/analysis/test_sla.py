from __future__ import annotations

import pytest

from slowdust.analysis.model import Writers
from slowdust.analysis.sla import meets_sla, writers_of
from slowdust.store.slice import Slice
from tests.unit.synthetic_steps import SECONDS, Overload, insert_experiment


def steps(*, inserts: float = 1.0, deletes: float = 1.0, test: str = "qr1000") -> list[Slice]:
    overload = Overload("a", test, inserts=inserts, deletes=deletes)
    _, slices = insert_experiment(["a"], [test], overloaded=[overload], incarnations=2)
    return slices


def kept(slices: list[Slice]) -> Writers:
    writers = writers_of(slices)
    assert writers is not None
    return writers


@pytest.mark.parametrize(
    ("inserts", "deletes", "met"),
    [
        (1.0, 1.0, True),
        (0.95, 1.0, True),
        (0.949, 1.0, False),
        (1.0, 0.94, False),
        (0.5, 0.5, False),
        (1.0, 0.0, False),
    ],
)
def test_the_sla_is_95_percent_of_both_rates(inserts: float, deletes: float, *, met: bool) -> None:
    slices = steps(inserts=inserts, deletes=deletes)

    assert kept(slices).sla_met is met
    assert meets_sla(slices[0]) is met


def test_rates_backlog_and_lag_are_reported() -> None:
    writers = kept(steps(inserts=0.7))

    assert writers.target == 1000
    assert writers.inserts == pytest.approx(700, rel=0.01)
    assert writers.deletes == pytest.approx(1000)
    assert writers.insert_backlog == pytest.approx(0.3 * 1000 * SECONDS, rel=0.01)
    assert writers.delete_backlog == 0
    assert writers.max_lag_s == pytest.approx(0.3 * SECONDS)


def test_the_worst_start_counts() -> None:
    slices = [*steps()[:1], *steps(inserts=0.6)[1:]]

    assert [meets_sla(record) for record in slices] == [True, False]
    assert not kept(slices).sla_met
    assert kept(slices).inserts == pytest.approx(600, rel=0.01)


def test_a_query_that_outlasts_the_window_does_not_make_the_writers_late() -> None:
    slices = steps()
    for record in slices:
        record.measured.seconds = (record.measured.seconds or 0.0) + 5.0

    assert kept(slices).sla_met
    assert kept(slices).inserts == pytest.approx(1000)


def test_writers_that_kept_the_schedule_kept_the_rate_however_it_falls_into_the_window() -> None:
    """A window of 1.9 s ends before the third statement of two in a second is due."""
    slices = steps(test="qr100")
    for record in slices:
        assert record.step is not None
        record.measured.seconds = 1.9
        for role in record.step.roles.values():
            if role.schedule is not None:
                role.rows, role.schedule.due, role.schedule.backlog = 150, 150, 0

    assert kept(slices).sla_met


def test_steps_without_paced_writers_have_no_sla() -> None:
    _, slices = insert_experiment(["a"], ["l.i0", "l.x", "l.i1"])

    assert writers_of(slices) is None
    assert all(meets_sla(record) for record in slices)


def test_a_writer_that_is_missing_wrote_nothing() -> None:
    slices = steps()
    for record in slices:
        assert record.step is not None
        del record.step.roles["delete"]

    assert kept(slices).deletes == 0
    assert not kept(slices).sla_met
