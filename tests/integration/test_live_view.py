"""The live view in a terminal, and Ctrl-C in it."""

import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.integration.conftest import GetBuild
from tests.integration.slowdust_command import COMMAND, Workplace

PATIENCE_S = 90.0


@pytest.fixture
def workplace(open_dir: Path, postgres_builds: GetBuild) -> Workplace:
    postgres_builds("17.6")
    return Workplace(open_dir)


def test_a_terminal_shows_how_the_test_stands(workplace: Workplace) -> None:
    arguments = ["compare", "postgres@17.6", "postgres@17.6", "--tests", "point-query", "--rows",
                 "10000", "--slice", "50ms", "--budget", "60s", "--name", "live",
                 "--count", "off", "--yes"]  # fmt: skip
    main, side = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *arguments],
        cwd=workplace.folder,
        env={**workplace.environment, "TERM": "xterm-256color"},
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
    )
    os.close(side)
    try:
        shown = read_until(main, b"1 client  ")
        assert b"point-query" in shown
        # The headline may have come whole in what was read for its start.
        shown += read_until(main, b"postgres@17.6#2: ")
        assert b"left" in shown
    finally:
        process.send_signal(signal.SIGINT)
        drain(main)
        os.close(main)
        process.wait(60)
    assert process.returncode == 1
    assert workplace.nothing_is_left()


def read_until(terminal: int, text: bytes) -> bytes:
    deadline = time.monotonic() + PATIENCE_S
    shown = b""
    while text not in shown:
        assert time.monotonic() < deadline, shown[-2000:]
        shown += os.read(terminal, 4096)
    return shown


def drain(terminal: int) -> None:
    """Take what is still written, until the other side closes."""
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        return
