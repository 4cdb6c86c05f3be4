"""Maintenance runs stage by stage, on a driver that records statements."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from slowdust.dbms.access import Target
from slowdust.dbms.stages import Statements, WithSettings
from slowdust.errors import SlowdustError
from slowdust.experiment.contenders import carry_out
from slowdust.experiment.driver.process import Driver, Patience
from slowdust.experiment.driver.protocol import ResultSet

TARGET = Target(dbms="mysql", host=None, socket="/s", port=1, user="u", password=None, database="d")
STAGE = WithSettings(
    {"low": "0", "high": "9"},
    lambda name: f"read {name}",
    lambda name, value: f"write {name} {value}",
    (Statements(("work",)),),
)


class WritesDown(Driver):
    """Takes the place of a driver; what is read is its name with a star."""

    def __init__(self, *, knows_values: bool = True) -> None:
        self.statements: list[str] = []
        self.limits: list[float] = []
        self.patience = Patience()
        self._knows_values = knows_values

    def sql(
        self,
        target: Target,
        statements: Sequence[str],
        parallel: int = 1,
        limit: float | None = None,
    ) -> list[ResultSet]:
        del target, parallel
        self.limits.append(limit or 0.0)
        self.statements += statements
        return [ResultSet(columns=["v"], rows=[[self._value(text)]]) for text in statements]

    def _value(self, statement: str) -> str | None:
        return f"{statement.rsplit(maxsplit=1)[-1]}*" if self._knows_values else None


def test_previous_values_are_restored_in_reverse_order() -> None:
    driver = WritesDown()
    carry_out(driver, TARGET, [STAGE], 1000, lambda _: None)
    assert driver.statements == [
        "read low",
        "read high",
        "write low 0",
        "write high 9",
        "work",
        "write high high*",
        "write low low*",
    ]


def test_nothing_is_changed_that_could_not_be_restored() -> None:
    driver = WritesDown(knows_values=False)
    with pytest.raises(SlowdustError, match=r"mysql .*low"):
        carry_out(driver, TARGET, [STAGE], 1000, lambda _: None)
    assert driver.statements == ["read low", "read high"]


def test_patience_with_statements_goes_by_the_rows() -> None:
    limits = []
    for rows in (1000, 200_000_000):
        driver = WritesDown()
        carry_out(driver, TARGET, [Statements(("work",))], rows, lambda _: None)
        limits += driver.limits
    assert limits == [3600.0, 100_000.0]
