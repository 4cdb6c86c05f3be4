"""Waits of contenders compared with the base's, on records whose true times are known."""

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.waits import Moment, difference, waits_of
from slowdust.store.waits import Wait, WaitWindow
from tests.unit.synthetic_waits import RUN_US, synthetic_waits

OLD, NEW = "postgres@15.8", "postgres@17.6"


def test_a_slower_disk_is_named_with_the_time_of_one_call(snapshot: SnapshotAssertion) -> None:
    windows = synthetic_waits(
        {OLD: {"IO/WalSync": 100.0}, NEW: {"IO/WalSync": 2100.0}},
        sync_us={OLD: 90.0, NEW: 2090.0},
    )
    old, new = waits_of(windows, OLD, [OLD, NEW])
    assert (old.contender, old.time_beside, old.words_of_change) == (OLD, None, "")
    assert old.time_us == pytest.approx(RUN_US + 100, rel=0.05)
    assert new.time_us == pytest.approx(RUN_US + 2100, rel=0.05)
    (cost,) = new.waits
    assert cost.beside is not None
    assert cost.beside.low < 2000 < cost.beside.high
    assert cost.times is None, "it was sampled"
    assert new.syncs is not None
    assert new.syncs.per_operation == pytest.approx(1.0)
    assert new.words_of_change == snapshot


def test_of_several_causes_each_has_its_share(snapshot: SnapshotAssertion) -> None:
    events = {"Lock/transactionid": 1000.0, "LWLock/WALWrite": 400.0, "IO/DataFileRead": 5.0}
    longer = {"Lock/transactionid": 1800.0, "LWLock/WALWrite": 600.0, "IO/DataFileRead": 5.0}
    windows = synthetic_waits({OLD: events, NEW: longer}, noise=0.01, clients=16)
    _, new = waits_of(windows, OLD, [OLD, NEW])
    assert [cost.event for cost in new.waits] == list(events)
    assert new.words_of_change == snapshot
    assert new.words == snapshot


def test_equal_waits_seldom_look_different() -> None:
    random = np.random.default_rng(5)
    events = {"Lock/transactionid": 1000.0, "IO/WalSync": 50.0, "LWLock/BufferMapping": 3.0}
    trials = 150
    certain = dict.fromkeys(events, 0)
    for _ in range(trials):
        windows = synthetic_waits({OLD: events, NEW: events}, seed=random)
        _, new = waits_of(windows, OLD, [OLD, NEW])
        for cost in new.waits:
            certain[cost.event] += cost.beside is not None and cost.beside.is_certain
    # One in a hundred is expected; 8 or more of 150 would be chance in three of ten thousand.
    assert all(number < 8 for number in certain.values()), certain


def test_a_small_difference_is_found_in_time() -> None:
    windows = synthetic_waits(
        {OLD: {"IO/WalSync": 100.0}, NEW: {"IO/WalSync": 130.0}}, clients=16, noise=0.03
    )
    _, new = waits_of(windows, OLD, [OLD, NEW])
    assert new.waits[0].beside is not None
    assert new.waits[0].beside.is_certain


def test_an_event_that_the_base_lacks_was_measured_there_as_none() -> None:
    windows = synthetic_waits({OLD: {}, NEW: {"Lock/tuple": 500.0}})
    _, new = waits_of(windows, OLD, [OLD, NEW])
    assert new.waits[0].beside is not None
    assert new.waits[0].beside.base == 0


def test_an_event_that_the_base_cannot_report_was_not_measured_there() -> None:
    stage = "stage/sql/waiting for handler commit"
    windows = synthetic_waits({OLD: {"Lock/tuple": 10.0}, NEW: {"Lock/tuple": 10.0, stage: 500.0}})
    for window in windows:
        if not window.place.repeat:
            window.known = ["Lock/tuple"] + [stage] * (window.place.contender == NEW)
    _, new = waits_of(windows, OLD, [OLD, NEW])
    beside = {cost.event: cost.beside for cost in new.waits}
    assert beside[stage] is None
    assert beside["Lock/tuple"] is not None
    kind = next(cost.kind for cost in new.waits if cost.event == stage)
    assert kind not in new.kinds_beside
    assert "lock" in new.kinds_beside


def test_events_of_other_servers_are_not_compared() -> None:
    windows = synthetic_waits({OLD: {"Lock/tuple": 500.0}, "mysql@9.7.4": {"Lock/tuple": 500.0}})
    for window in windows:
        if window.place.contender != OLD:
            window.sources = ["performance_schema"]
    _, other = waits_of(windows, OLD, [OLD, "mysql@9.7.4"])
    assert other.time_beside is not None
    assert other.waits[0].beside is None
    assert other.kinds_beside == {}


def test_without_any_source_there_are_still_syncs_and_states() -> None:
    windows = synthetic_waits({OLD: {"IO/WalSync": 100.0}}, sync_us={OLD: 90.0})
    for window in windows:
        window.sources, window.waits, window.samples = [], [], None
    (old,) = waits_of(windows, OLD, [OLD])
    assert (old.waits, old.kinds, old.samples) == ([], {}, None)
    assert old.syncs is not None
    assert old.sessions is not None
    assert old.sessions.asleep_us == {"epoll_wait": pytest.approx(0.9 * old.time_us, rel=0.01)}


def test_uncounted_values_are_absent() -> None:
    (old,) = waits_of(synthetic_waits({OLD: {"IO/WalSync": 100.0}}), OLD, [OLD])
    assert old.syncs is None


def test_two_windows_have_no_interval() -> None:
    values = {Moment(1, 0): 1.0, Moment(1, 1): 2.0}
    assert difference(values, values) is None


def test_windows_are_paired_by_their_numbers() -> None:
    base = {Moment(1, repeat): 100.0 * repeat for repeat in range(4)}
    contender = {Moment(1, repeat): 100.0 * repeat + 7 for repeat in range(1, 5)}
    beside = difference(base, contender)
    assert beside is not None
    # Windows drift far more than the contenders differ: neighbours do not.
    assert beside.change == pytest.approx(7)
    assert beside.base == pytest.approx(200.0), "the windows 1 to 3, which both have"
    assert beside.is_certain


def test_settings_inside_a_commit_are_not_added_to_it(snapshot: SnapshotAssertion) -> None:
    windows = synthetic_waits({OLD: {"LWLock/WALWrite": 900.0, "Lock/tuple": 50.0}}, noise=0.01)
    for window in windows:
        commit = next(wait for wait in window.waits if wait.kind == "commit")
        window.waits.append(Wait(event="IO/WalWrite", kind="io", us=0.8 * commit.us))
    (old,) = waits_of(windows, OLD, [OLD])
    assert old.words == snapshot
    assert "files" not in old.words


def test_a_system_call_is_named_where_the_server_reports_little(
    snapshot: SnapshotAssertion,
) -> None:
    windows = synthetic_waits({OLD: {"IO/DataFileRead": 10.0}, NEW: {"IO/DataFileRead": 10.0}})
    for window in windows:
        assert window.sessions is not None
        slower = window.place.contender == NEW
        window.operations //= 4 if slower else 1
        window.sessions.states = {"running": 20, "pread64": 75 if slower else 0, "epoll_wait": 5}
        window.sessions.samples = 100 if slower else 25
        window.waits = []
    _, new = waits_of(windows, OLD, [OLD, NEW])
    assert new.words == snapshot
    assert new.words_of_change == snapshot


def test_a_stall_in_one_window_changes_little() -> None:
    windows = synthetic_waits(
        {OLD: {"IO/WalSync": 100.0}, NEW: {"IO/WalSync": 2100.0}},
        sync_us={OLD: 90.0, NEW: 2090.0},
    )
    stalled = windows[6].syncs
    assert stalled is not None
    stalled["fdatasync"].us *= 500
    _, new = waits_of(windows, OLD, [OLD, NEW])
    assert new.syncs is not None
    assert new.syncs.us_beside is not None
    assert new.syncs.us_beside.is_certain
    assert new.syncs.us_beside.change == pytest.approx(2000, rel=0.1)


def queued(slower_queue: float) -> list[WaitWindow]:
    """Return windows of waits for the disk, with a longer time in the queue on the newer server."""
    windows = synthetic_waits(
        {OLD: {"IO/WalSync": 100.0}, NEW: {"IO/WalSync": 2100.0}},
        sync_us={OLD: 90.0, NEW: 2090.0},
    )
    for number, window in enumerate(windows):
        assert window.sessions is not None
        us = slower_queue if window.place.contender == NEW else 20.0
        window.sessions.queue_us = (us + number % 3) * window.operations
    return windows


def test_a_longer_queue_for_a_cpu_is_named_next_to_the_waits_that_contain_it(
    snapshot: SnapshotAssertion,
) -> None:
    _, new = waits_of(queued(1020.0), OLD, [OLD, NEW])
    assert new.sessions is not None
    assert new.sessions.queue_beside is not None
    assert new.sessions.queue_beside.change == pytest.approx(1000, rel=0.01)
    # The operation takes 2 ms more: half of that is the queue.
    assert new.words_of_change == snapshot
    assert new.words == snapshot


def test_a_queue_that_is_no_longer_than_the_base_s_is_no_part_of_a_change() -> None:
    _, new = waits_of(queued(20.0), OLD, [OLD, NEW])
    assert "for a CPU" not in new.words_of_change
    assert "for a CPU" not in new.words


def test_amounts_and_their_change_agree() -> None:
    windows = queued(1020.0)
    random = np.random.default_rng(3)
    for window in windows:
        assert window.sessions is not None
        assert window.syncs is not None
        stall = random.lognormal(0.0, 1.0)
        window.syncs["fdatasync"].us *= stall
        window.sessions.queue_us = (window.sessions.queue_us or 0.0) * stall
        for wait in window.waits:
            wait.us *= stall
    old, new = waits_of(windows, OLD, [OLD, NEW])
    assert old.sessions is not None
    assert new.sessions is not None
    assert old.syncs is not None
    assert new.syncs is not None
    for before, after, beside in (
        (old.waits[0].us, new.waits[0].us, new.waits[0].beside),
        (old.kinds["sync"], new.kinds["sync"], new.kinds_beside["sync"]),
        (old.syncs.us, new.syncs.us, new.syncs.us_beside),
        (old.sessions.queue_us, new.sessions.queue_us, new.sessions.queue_beside),
    ):
        assert beside is not None
        assert beside.base == pytest.approx(before)
        assert beside.base + beside.change == pytest.approx(after)


def test_files_of_the_performance_schema_include_fsync(snapshot: SnapshotAssertion) -> None:
    windows = synthetic_waits({OLD: {"IO/DataFileRead": 100.0}, NEW: {"IO/DataFileRead": 900.0}})
    _, sampled = waits_of(windows, OLD, [OLD, NEW])
    assert "fsync" not in sampled.words + sampled.words_of_change
    for window in windows:
        window.sources = ["performance_schema"]
    _, totalled = waits_of(windows, OLD, [OLD, NEW])
    assert totalled.words == snapshot
    assert totalled.words_of_change == snapshot
