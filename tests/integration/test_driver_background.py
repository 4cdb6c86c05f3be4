"""Sessions that run concurrently with another one, on a real server."""

from __future__ import annotations

import pytest

from tests.integration.driver_process import Driver, Event, Target
from tests.integration.servers import POSTGRES, SharedServers

SECONDS = 0.4


@pytest.fixture
def target(shared_servers: SharedServers, driver: Driver) -> Target:
    target = shared_servers(POSTGRES).target()
    driver.load(target)
    return target


def run_beside(driver: Driver, main: str, beside: dict[str, object], **stop: object) -> Event:
    return driver.expect(
        "ran", "run", session=main, stop={"seconds": SECONDS, **stop}, beside=[beside]
    )


@pytest.mark.parametrize("clients", [1, 40])
def test_a_background_session_ends_with_the_main_one(
    target: Target, driver: Driver, clients: int
) -> None:
    """Threads with many clients each stop with the slice, too, although nothing wakes them."""
    main = driver.open(target, "point-query", 2)
    beside = driver.open(target, "update-index", clients)
    # A tenth of the rate that is possible.
    (alone,) = run_beside(driver, main, {"session": beside})["beside"]
    possible = alone["qps"]
    rate = {"per_second": possible / 10, "arrivals": "uniform"}
    ran = run_beside(driver, main, {"session": beside, "rate": rate})
    (writes,) = ran["beside"]
    assert ran["operations"] > 0 and not ran["errors"] and not writes["errors"]
    assert writes["session"] == beside
    assert writes["seconds"] == pytest.approx(ran["seconds"], rel=0.25)
    passed = sum(writes["positions"]) - sum(alone["positions"])
    assert passed == sum(writes["latency"]["counts"])
    assert 0 <= passed - writes["operations"] <= clients
    assert writes["operations"] == pytest.approx(possible / 10 * writes["seconds"], rel=0.5)
    assert writes["qps"] == pytest.approx(writes["operations"] / writes["seconds"])
    assert writes["schedule"]["rate"] == pytest.approx(possible / 10)
    # Due every ten minutes: a client that waited would stop long after the slice.
    slow = {"per_second": 1 / 600, "arrivals": "uniform"}
    ran = run_beside(driver, main, {"session": beside, "rate": slow})
    assert ran["beside"][0]["seconds"] == pytest.approx(ran["seconds"], rel=0.25)
    assert ran["beside"][0]["operations"] <= 1


def test_a_closed_loop_in_the_background_stops_at_its_positions(
    target: Target, driver: Driver
) -> None:
    main = driver.open(target, "point-query")
    beside = driver.open(target, "update-index", 2)
    ran = run_beside(driver, main, {"session": beside, "positions": [3, 5]})
    assert ran["beside"][0]["positions"] == [3, 5]
    assert ran["seconds"] >= SECONDS, "the main session goes on"
    ran = run_beside(driver, main, {"session": beside})
    assert sum(ran["beside"][0]["positions"]) > 8, "it goes on"
    assert "schedule" not in ran["beside"][0] or ran["beside"][0]["schedule"] is None
    # The background session can catch up alone, as the main one of a slice.
    furthest = [position + 10 for position in ran["beside"][0]["positions"]]
    caught_up = driver.expect("ran", "run", session=beside, stop={"positions": furthest})
    assert caught_up["positions"] == furthest
    assert caught_up["beside"] == []


def test_slices_begin_at_given_positions(target: Target, driver: Driver) -> None:
    main = driver.open(target, "point-query")
    beside = driver.open(target, "update-index", 2)
    ran = run_beside(driver, main, {"session": beside, "begin": [7, 9], "positions": [8, 9]})
    assert ran["beside"][0]["positions"] == [8, 9] and ran["beside"][0]["operations"] == 1
    done = ran["positions"][0]
    for _ in range(2):
        stop = {"positions": [done + 3]}
        ran = driver.expect("ran", "run", session=main, stop=stop, begin=[done])
        assert (ran["positions"], ran["operations"]) == ([done + 3], 3), "the same ones again"
    event = driver.expect("error", "run", session=beside, stop={"seconds": 0.1}, begin=[1])
    assert "begin" in event["message"]


def test_background_sessions_have_to_be_open_and_distinct(target: Target, driver: Driver) -> None:
    main = driver.open(target, "point-query")
    stop = {"seconds": 0.1}
    for beside, message in [
        ([{"session": "nobody"}], '"nobody"'),
        ([{"session": main}], "once"),
    ]:
        event = driver.expect("error", "run", session=main, stop=stop, beside=beside)
        assert event["kind"] == "usage"
        assert message in event["message"]
    other = driver.open(target, "update-index")
    event = driver.expect(
        "error", "run", session=main, stop=stop, beside=[{"session": other, "positions": [1, 2]}]
    )
    assert "end" in event["message"]
    assert driver.run(main)["operations"] > 0, "the sessions are as good as before"
