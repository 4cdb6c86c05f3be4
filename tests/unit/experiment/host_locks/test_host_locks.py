"""The locks of an experiment, and waiting for them."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from slowdust.errors import SlowdustError
from slowdust.experiment.cpus import usable_cpus
from slowdust.experiment.host_locks import WhenBusy, find_disk, locked, writes
from slowdust.experiment.live import PlainView
from slowdust.experiment.spec.spec import Spec, parse_spec
from tests.unit.experiment.host_locks.holding import another_process_holds

LAST = usable_cpus()[-1]


@pytest.fixture(autouse=True)
def data(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root of the test's own."""
    monkeypatch.setenv("SLOWDUST_DATA", str(open_dir / "data"))
    (open_dir / "data").mkdir()
    return open_dir / "data"


def spec(**keys: object) -> Spec:
    """Return the specification of an experiment that only reads."""
    plain = {"name": "mine", "contenders": ["postgres@17.6"], "tests": ["point-query"]}
    return parse_spec({**plain, **keys})


class HolderThatEnds(PlainView):
    """A view that stops the holder as soon as another process waits for it."""

    def __init__(self, holder: subprocess.Popen[str]) -> None:
        super().__init__()
        self._holder = holder
        self.waits: list[tuple[str, float]] = []

    def waiting(self, why: str, so_far: float) -> None:
        super().waiting(why, so_far)
        self.waits.append((why, so_far))
        if len(self.waits) == 2:
            self._holder.kill()
            self._holder.wait()


def test_second_experiment_waits_and_says_for_whom(
    claims: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with another_process_holds(claims, f"cpu-{LAST}") as other:
        view = HolderThatEnds(other)
        begun = time.monotonic()
        with locked(spec(cpus=[LAST]), WhenBusy.WAIT, view):
            assert usable_cpus() == [LAST]
        (first, none), (_, later) = view.waits
        assert 0 <= none < later < time.monotonic() - begun
        assert first.startswith(f"waiting: theirs (process {other.pid} of ")
        assert first.endswith(f"measures on CPU {LAST}")
    shown = capsys.readouterr().err
    assert shown.count("waiting") == 1, "a line each minute, not each look"
    assert "Ctrl-C" in shown
    assert LAST in usable_cpus()


def test_no_wait_fails_and_says_for_whom(claims: Path) -> None:
    with another_process_holds(claims, f"cpu-{LAST}") as other:
        message = rf"not started: theirs \(process {other.pid} of .* measures on CPU {LAST}$"
        with (
            pytest.raises(SlowdustError, match=message) as error,
            locked(spec(), WhenBusy.FAIL, PlainView()),
        ):
            pass
    assert error.value.exit_code == 1


def test_other_cpus_are_free(claims: Path) -> None:
    with (
        another_process_holds(claims, f"cpu-{LAST + 1}"),
        locked(spec(cpus=[LAST]), WhenBusy.FAIL, PlainView()) as locks,
    ):
        assert len(locks) == 1
        assert usable_cpus() == [LAST]


def test_disk_is_claimed_by_experiments_that_write(claims: Path, data: Path) -> None:
    disk = find_disk(data)
    if disk is None:
        pytest.skip("the data root lies in memory")
    with another_process_holds(claims, f"disk-{disk}"):
        with locked(spec(), WhenBusy.FAIL, PlainView()):
            pass
        writing = spec(tests=["update-index"])
        with (
            pytest.raises(SlowdustError, match=f"measures on disk {disk}$"),
            locked(writing, WhenBusy.FAIL, PlainView()),
        ):
            pass


def test_tests_that_write_are_known() -> None:
    assert not writes(spec())
    assert writes(spec(tests=["point-query", "update-index"]))
    assert writes(parse_spec({"name": "x", "contenders": ["postgres@17"], "benchmark": "insert"}))


def test_disk_in_memory_is_none() -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir():
        pytest.skip("this host has no /dev/shm")
    assert find_disk(memory) is None


def test_cpus_of_a_file_may_be_a_text_and_are_kept_in_order() -> None:
    assert spec(cpus="2-3,0").cpus == [0, 2, 3]
    assert spec(cpus=[3, 2, 3]).cpus == [2, 3]
    assert spec().cpus is None
    with pytest.raises(SlowdustError, match="cpus"):
        spec(cpus=[])
