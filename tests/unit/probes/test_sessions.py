import threading
import time
from pathlib import Path

import pytest

from slowdust.probes.server.sessions import SessionSampler, parse_state
from tests.waiting import wait_until

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
    assert parse_state(text) == state


def syscall_of(thread: threading.Thread) -> bytes:
    return Path(f"/proc/self/task/{thread.native_id}/syscall").read_bytes()


def test_a_thread_that_sleeps_and_one_that_works() -> None:
    ended = threading.Event()
    begun = threading.Event()

    def work() -> None:
        begun.set()
        while not ended.is_set():
            pass

    sleeper, worker = threading.Thread(target=ended.wait), threading.Thread(target=work)
    sleeper.start()
    # The worker begins when the sleeper needs this interpreter no more.
    wait_until(lambda: parse_state(syscall_of(sleeper)) == "futex")
    worker.start()
    begun.wait()
    threads = [sleeper, worker]
    assert sleeper.native_id is not None and worker.native_id is not None
    sleeping, working = SessionSampler([sleeper.native_id]), SessionSampler([worker.native_id])
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


def test_a_thread_that_has_ended_reports_nothing() -> None:
    sampler = SessionSampler([NO_SUCH_THREAD])
    with sampler:
        time.sleep(0.03)
    assert sampler.time() is None
