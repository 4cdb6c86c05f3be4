"""Waits of one window, from the server's answers."""

from types import SimpleNamespace
from typing import Any, Literal

import pytest

from slowdust.dbms.mysqld.waits import WAITS
from slowdust.dbms.stages import SessionSample
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Failed
from slowdust.experiment.passes.waits import (
    Observer,
    PlannedWindow,
    seen_in_samples,
    waits_between,
)
from slowdust.store.count import WindowPlace
from slowdust.store.waits import Wait, WaitKind, WaitWindow


def total(event: str, us: float, times: int) -> Wait:
    return Wait(event=event, kind="latch", us=us, times=times)


def session(
    process: int, event: str | None, kind: WaitKind | None = None, *blockers: int
) -> SessionSample:
    return SessionSample(at=1.0, process=process, event=event, kind=kind, blockers=blockers)


def test_totals_match_the_window() -> None:
    before = [total("a", 10.0, 1), total("b", 5.0, 1)]
    after = [total("a", 30.0, 5), total("b", 5.0, 1), total("new", 2.0, 1)]
    assert waits_between(before, after) == [total("a", 20.0, 4), total("new", 2.0, 1)]


def test_a_share_of_the_samples_is_one_of_the_time() -> None:
    samples = [
        [session(1, "Lock/tuple", "lock"), session(2, None), session(9, "Lock/tuple", "lock")],
        [session(1, "IO/WalSync", "sync"), session(2, "Lock/tuple", "lock")],
    ]
    seen = seen_in_samples("pg_stat_activity", samples, [1, 2], 0.5)
    assert seen.samples == 4
    # Two sessions have a second together in half a second.
    assert {wait.event: wait.us for wait in seen.waits} == {
        "Lock/tuple": pytest.approx(0.5e6),
        "IO/WalSync": pytest.approx(0.25e6),
    }


def test_all_sessions_count_where_it_is_unknown_who_serves() -> None:
    samples = [[session(9, "Lock/tuple", "lock")]]
    seen = seen_in_samples("pg_stat_activity", samples, [], 1.0)
    assert seen.waits == [Wait(event="Lock/tuple", kind="lock", us=1e6)]


def test_the_head_of_a_queue_is_who_holds_up_the_others() -> None:
    sample = [
        session(1, "IO/WalSync", "sync"),
        session(2, "Lock/transactionid", "lock", 1),
        session(3, "Lock/tuple", "lock", 2),
        session(4, "Lock/tuple", "lock", 99),  # of whom the sample knows nothing
        session(5, "Lock/relation", "lock", 6),
        session(6, "Lock/relation", "lock", 5),  # a deadlock, which the server will end
    ]
    seen = seen_in_samples("pg_stat_activity", [sample], [1, 2, 3, 4, 5, 6], 1.0)
    assert seen.blockers == {"IO/WalSync": 2, "Lock/relation": 2, "not seen": 1}


def test_no_sample_is_not_no_wait() -> None:
    seen = seen_in_samples("pg_stat_activity", [], [1], 1.0)
    assert (seen.samples, seen.waits) == (0, [])


class Refusing:
    """A driver whose server answers each question with an error."""

    def __init__(self, kind: Literal["server", "connection"]) -> None:
        self._failed = Failed(kind=kind, message="no such table")

    def sql(self, *question: object) -> object:
        raise TargetError(self._failed)


def observe_by(driver: Refusing, warnings: list[str]) -> WaitWindow:
    family = SimpleNamespace(waits=lambda site: [WAITS])
    server = SimpleNamespace(site=None, syncs=None)
    contender: Any = SimpleNamespace(
        name="c",
        target=None,
        family=family,
        server=server,
        instance=server,
        refuse_fatal_errors=lambda *_: None,
    )
    place = WindowPlace(
        benchmark="micro", test="scan", clients=1, contender="c", incarnation=1, repeat=0
    )
    ran: Any = SimpleNamespace(operations=7, seconds=0.5, errors={})
    both: Any = driver
    observer = Observer(both, both, warnings.append)
    return observer.observe(PlannedWindow(place, contender, [], 0.5), lambda stop: ran)


def test_a_server_that_does_not_know_the_question_is_warned_of() -> None:
    warnings: list[str] = []
    window = observe_by(Refusing("server"), warnings)
    assert (window.operations, window.sources, window.waits) == (7, [], [])
    assert (window.syncs, window.sessions) == (None, None)
    [warning] = set(warnings)
    assert warning.startswith("c ")
    assert warning.endswith("no such table")


def test_a_server_that_is_gone_is_not() -> None:
    with pytest.raises(TargetError):
        observe_by(Refusing("connection"), [])
