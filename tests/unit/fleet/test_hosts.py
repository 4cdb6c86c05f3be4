"""A host's part in a fleet, and how its cluster is reached."""

from __future__ import annotations

import errno
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from slowdust.addresses import is_loopback
from slowdust.errors import SlowdustError
from slowdust.fleet import hosts
from slowdust.fleet.cluster import End, ShardEnded, ShardOrder
from slowdust.fleet.ray import check_reachable, connected, is_open, name_hosts
from slowdust.store.folder import Folder


def test_a_shard_that_cannot_be_run_says_why(
    open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWDUST_DATA", str(open_dir))
    order = ShardOrder(experiment="e", folder="s001", spec='contenders = ["postgres@0.1"]')
    [ended] = hosts.measure(order)
    assert isinstance(ended, ShardEnded)
    assert ended.end is End.FAILED
    assert "s001.toml" in ended.reason
    gone = ShardOrder(experiment="e", folder="s001", spec="", started="yesterday")
    [ended] = hosts.measure(gone)
    assert isinstance(ended, ShardEnded)
    assert ended.end is End.GONE


def test_a_full_disk_is_distinguished_from_other_failures() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    assert hosts.failure(full).end is End.DISK_FULL
    assert hosts.failure(SlowdustError("no such build")).end is End.FAILED


def test_hosts_have_names_of_folders_that_no_other_has() -> None:
    def node(number: int, name: str, **more: object) -> dict[str, object]:
        common = {"NodeName": name, "NodeManagerHostname": "there", "Alive": True}
        return {"NodeID": f"{number}" * 8, "Resources": {"slowdust_host": 1.0}, **common, **more}

    nodes = [
        node(1, "10.0.0.1"),
        node(2, "10.0.0.1"),
        node(3, "../x"),
        node(4, "dead", Alive=False),
        node(5, "head", Resources={"CPU": 4.0}),
        node(6, ""),
    ]
    named = name_hosts(nodes, {})
    assert list(named) == ["10-0-0-1", "10-0-0-1-222222", "x", "there"]
    names = {node: name for name, node in named.items()}
    joined = name_hosts([node(0, "10.0.0.1"), *nodes[1:]], names)
    assert joined["10-0-0-1-222222"] == "2" * 8, "a name is kept"
    assert joined["10-0-0-1"] == "0" * 8, "and free when its node is gone"
    both = name_hosts([node(0, "10.0.0.1"), *nodes], names)
    assert both["10-0-0-1"] == "1" * 8, "and not taken away by a node that joins"
    assert len(both) == 5


def test_addresses_are_checked_before_ray_is_asked() -> None:
    for address in ("nowhere", "127.0.0.1:0", "127.0.0.1:99999", "a b:1", "ray://x:1"):
        with pytest.raises(SlowdustError, match="write HOST:PORT"), connected(address):
            pass
    assert is_loopback("127.0.0.2")
    assert not is_loopback("10.0.0.1")


def test_an_address_without_a_cluster_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for answer, told in ((b"HTTP/1.1 400 Bad Request\r\n", "is not Ray"), (b"", "is not Ray")):
            with ThreadPoolExecutor(1) as pool:
                answered = pool.submit(_answer, server, answer)
                with pytest.raises(SlowdustError, match=told):
                    check_reachable(address)
                answered.result()
        with ThreadPoolExecutor(1) as pool:
            answered = pool.submit(_answer, server, bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            check_reachable(address)
            answered.result()
    with pytest.raises(SlowdustError, match="refused"):
        check_reachable(address)


def _answer(server: socket.socket, answer: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(100)
        connection.sendall(answer)


def test_clusters_that_others_reach_without_a_token_are_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    assert is_open("10.0.0.1:6379")
    assert not is_open("127.0.0.1:6379")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    assert not is_open("10.0.0.1:6379")


def test_a_host_is_examined_after_a_shard_whose_head_was_killed_has_stopped(
    open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWDUST_DATA", str(open_dir))
    folder = Folder(open_dir / "fleet" / "e" / "s001")
    folder.path.mkdir(parents=True)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        held.close()

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(hosts, "examine", lambda _host: [])
    monkeypatch.setattr(hosts, "read_host", lambda _root: None)
    with ExitStack() as held:
        held.enter_context(folder.locked())
        hosts.host_facts()
    assert waited
