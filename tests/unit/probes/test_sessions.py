import threading
import time

import pytest

from slowdust.probes.server.sessions import SessionSampler, state_of

NO_SUCH_THREAD = 2**22 + 1  # more than the kernel gives


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (b"running\n", "running"),
        (b"-1 0x7ffc 0x7f1e\n", "page fault"),
        (b"75 0x5 0x0 0x7ffc 0x7f1e\n", "fdatasync"),
        (b"9999 0x5 0x0\n", "system call 9999"),
    ],
)
def test_states(text: bytes, state: str) -> None:
    assert state_of(text) == state


def test_a_thread_that_sleeps_and_one_that_works() -> None:
    ended = threading.Event()
    begun = threading.Barrier(3)
    ids: dict[str, int] = {}

    def sleep() -> None:
        ids["sleeps"] = threading.get_native_id()
        begun.wait()
        ended.wait()

    def work() -> None:
        ids["works"] = threading.get_native_id()
        begun.wait()
        while not ended.is_set():
            pass

    threads = [threading.Thread(target=target) for target in (sleep, work)]
    for thread in threads:
        thread.start()
    begun.wait()
    sleeping, working = (SessionSampler([ids[name]]) for name in ("sleeps", "works"))
    with sleeping, working:
        time.sleep(0.5)
    ended.set()
    for thread in threads:
        thread.join()
    asleep, at_work = sleeping.time(), working.time()
    assert asleep is not None
    assert at_work is not None
    assert set(asleep.states) == {"futex"}
    assert asleep.samples > 5
    assert asleep.run_us is not None
    assert at_work.run_us is not None
    assert at_work.queue_us is not None
    assert asleep.run_us < 1e5 < at_work.run_us + at_work.queue_us


def test_a_thread_that_has_ended_tells_nothing() -> None:
    sampler = SessionSampler([NO_SUCH_THREAD])
    with sampler:
        time.sleep(0.03)
    assert sampler.time() is None
