"""Two processes need the same folder of the cache: one waits and names the other."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from slowdust.builds import cache


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "POLL_EVERY", 0.02)


def test_the_holder_of_the_lock_and_its_progress_are_reported_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "17.6-o2"
    told: list[str] = []
    heard = threading.Condition()

    def hear(text: str) -> None:
        with heard:
            told.append(text)
            heard.notify()

    def wait() -> None:
        with cache.lock(folder, hear) as report:
            report("it is mine")

    def expect(text: str) -> None:
        with heard:
            assert heard.wait_for(lambda: any(text in line for line in told), timeout=60), told

    with cache.lock(folder) as report:
        waiting = threading.Thread(target=wait)
        waiting.start()
        expect("waiting for process ")
        report("compiling 45%")
        expect("(compiling 45%) to fill 17.6-o2; ")
    waiting.join()
    assert told[-1] == "it is mine"
    assert [path.name for path in folder.parent.iterdir()] == [".17.6-o2.lock"]


def test_it_is_said_again_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "REPEAT_EVERY", 0.0)
    folder = tmp_path / "folder"
    told: list[str] = []
    enough = threading.Event()

    def hear(text: str) -> None:
        told.append(text)
        if len(told) == 3:
            enough.set()

    def wait() -> None:
        with cache.lock(folder, hear):
            pass

    with cache.lock(folder):
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert enough.wait(60)
    waiting.join()
    assert "so far" not in told[0]
    assert all("so far" in text for text in told[1:])


def test_a_free_lock_is_not_reported(tmp_path: Path) -> None:
    told: list[str] = []
    with cache.lock(tmp_path / "folder", told.append) as report:
        report("unpacking")
    assert told == ["unpacking"]
