"""Orders to an unresponsive server under callgrind; no server is started."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slowdust.accounts import server_account
from slowdust.instances import callgrind
from slowdust.instances.callgrind import Callgrind, CallgrindError
from slowdust.instances.programs import InstanceError
from tests.tiers.selection import needs

pytestmark = needs("valgrind")


def instrument(folder: Path, check_alive: Callable[[], None]) -> Callgrind:
    return Callgrind(
        folder / "counts",
        server_account(),
        follow_children=False,
        options=(),
        check_alive=check_alive,
    )


def test_a_server_that_has_ended_is_not_waited_for(tmp_path: Path) -> None:
    def check_alive() -> None:
        raise InstanceError("it has ended")

    begun = time.monotonic()
    with pytest.raises(InstanceError, match="it has ended"):
        instrument(tmp_path, check_alive).start(lambda: None)
    assert time.monotonic() - begun < 10


def test_a_server_that_never_took_an_order_reads_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callgrind, "ANSWER_LIMIT", 0.02)
    with pytest.raises(CallgrindError, match="recv"):
        instrument(tmp_path, lambda: None).start(lambda: None)


def test_a_server_that_took_orders_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callgrind, "ANSWER_LIMIT", 0.02)
    server = instrument(tmp_path, lambda: None)

    def carry_out() -> None:
        orders = os.open(tmp_path / "counts" / "orders", os.O_WRONLY)
        os.pwrite(orders, struct.pack("=2Q", 1, 4711), 16)
        os.close(orders)

    server.start(carry_out)
    with pytest.raises(CallgrindError, match=r"\b1\b.* hangs"):
        server.stop(lambda: None)
