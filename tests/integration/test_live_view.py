"""The live view in a terminal, and Ctrl-C in it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time

import pytest

from tests.integration.slowdust_command import COMMAND, LONG, Workplace

CONTENDER = "sqlite@3.50.2"
PATIENCE_S = 90.0


pytestmark = pytest.mark.builds(CONTENDER)


def test_a_terminal_shows_how_the_test_stands(workplace: Workplace) -> None:
    contenders = (CONTENDER, CONTENDER)
    file = workplace.write_experiment("live", contenders, "point-query", budget=LONG)
    main, side = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "run", file, "--yes"],
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
        shown += read_until(main, f"{CONTENDER}#2: ".encode())
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
