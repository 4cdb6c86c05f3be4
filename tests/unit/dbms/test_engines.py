from __future__ import annotations

from slowdust.dbms.mysqld.engines import HistoryLength


def looks(lengths: list[int]) -> list[bool]:
    history = HistoryLength()
    return [history.has_settled([[None, f"History list length {length}"]]) for length in lengths]


def test_a_history_that_stays_as_long_as_it_is_has_been_purged() -> None:
    assert not any(looks([900, 700, *[400] * 15]))
    assert looks([900, 700, *[400] * 16])[-1]


def test_a_short_history_is_done_with() -> None:
    assert looks([900, 100]) == [False, True]
