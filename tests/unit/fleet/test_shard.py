"""A host hands on what grows, from where the head is; the head keeps nothing else."""

from __future__ import annotations

import errno
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slowdust.addresses import is_loopback
from slowdust.analysis.calibration.model import NeededTime
from slowdust.errors import SlowdustError
from slowdust.experiment import host_calibrations
from slowdust.experiment.host_calibrations import KeptTest
from slowdust.fleet.address import is_open, knock
from slowdust.fleet.cluster import connected, host_nodes
from slowdust.fleet.hosts import shard
from slowdust.fleet.model import End, Ended, Order, Part
from slowdust.fleet.receiving import receive, received
from slowdust.store.folder import MANIFEST_FILE, SLICES_FILE, Folder


def test_only_complete_lines_are_handed_on_and_only_once(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    lines = tmp_path / "host" / SLICES_FILE
    lines.write_bytes(b"one\ntw")
    (tmp_path / "host" / MANIFEST_FILE).write_bytes(b"{}")
    sent = shard.Sent(tmp_path / "host", {})
    head = Folder(tmp_path / "head")
    first = list(sent.changes())
    assert [part.file for part in first] == [MANIFEST_FILE, SLICES_FILE], "contenders come first"
    lines.write_bytes(b"one\ntwo\n")
    second = list(sent.changes())
    assert [(part.content, part.offset) for part in second] == [(b"two\n", 4)]
    for part in (*first, *second, *second):  # the last one comes twice
        receive(head, part)
    assert (head.path / SLICES_FILE).read_bytes() == b"one\ntwo\n"
    assert received(head) == {SLICES_FILE: 8}
    assert list(sent.changes()) == []


def test_a_head_that_was_cut_off_in_a_line_gets_it_again(tmp_path: Path) -> None:
    head = Folder(tmp_path)
    receive(head, Part(file=SLICES_FILE, content=b"one\ntwo\n", offset=0))
    (tmp_path / SLICES_FILE).write_bytes(b"one\nt")
    assert received(head) == {SLICES_FILE: 4}
    receive(head, Part(file=SLICES_FILE, content=b"two\n", offset=4))
    assert (tmp_path / SLICES_FILE).read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("file", ["../x", "/etc/passwd", "perf/../../x.json.gz", "report.html"])
def test_a_host_can_write_no_other_file(tmp_path: Path, file: str) -> None:
    with pytest.raises(SlowdustError, match="no file of an experiment"):
        receive(Folder(tmp_path / "head"), Part(file=file, content=b"x"))
    assert not (tmp_path / "head").exists()


def test_a_gap_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SlowdustError, match="leaves a gap"):
        receive(Folder(tmp_path), Part(file=SLICES_FILE, content=b"x\n", offset=10))


def test_a_shard_that_cannot_be_run_says_why(
    open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWDUST_DATA", str(open_dir))
    order = Order(experiment="e", folder="s001", spec='contenders = ["postgres@0.1"]')
    [ended] = shard.measured(order)
    assert isinstance(ended, Ended)
    assert ended.end is End.FAILED
    assert "s001.toml" in ended.reason
    gone = Order(experiment="e", folder="s001", spec="", started="yesterday")
    [ended] = shard.measured(gone)
    assert isinstance(ended, Ended)
    assert ended.end is End.GONE


def test_a_full_disk_is_told_from_other_failures() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    assert shard.failure(full).end is End.UNFIT
    assert shard.failure(SlowdustError("no such build")).end is End.FAILED


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
    named = host_nodes(nodes, {})
    assert list(named) == ["10-0-0-1", "10-0-0-1-222222", "x", "there"]
    names = {node: name for name, node in named.items()}
    joined = host_nodes([node(0, "10.0.0.1"), *nodes[1:]], names)
    assert joined["10-0-0-1-222222"] == "2" * 8, "a name is kept"
    assert joined["10-0-0-1"] == "0" * 8, "and free when its node is gone"
    both = host_nodes([node(0, "10.0.0.1"), *nodes], names)
    assert both["10-0-0-1"] == "1" * 8, "and not taken away by a node that joins"
    assert len(both) == 5


def test_addresses_are_checked_before_ray_is_asked() -> None:
    for address in ("nowhere", "127.0.0.1:0", "127.0.0.1:99999", "a b:1", "ray://x:1"):
        with pytest.raises(SlowdustError, match="write HOST:PORT"), connected(address):
            pass
    assert is_loopback("127.0.0.2")
    assert not is_loopback("10.0.0.1")


def test_what_is_no_cluster_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for answer, told in ((b"HTTP/1.1 400 Bad Request\r\n", "is not Ray"), (b"", "is not Ray")):
            with ThreadPoolExecutor(1) as pool:
                answered = pool.submit(_answer, server, answer)
                with pytest.raises(SlowdustError, match=told):
                    knock(address)
                answered.result()
        with ThreadPoolExecutor(1) as pool:
            answered = pool.submit(_answer, server, bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            knock(address)
            answered.result()
    with pytest.raises(SlowdustError, match="refused"):
        knock(address)


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


def test_facts_have_the_weights_of_calibrated_tests(
    open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWDUST_DATA", str(open_dir))
    assert shard.plain_facts().weights == []
    needed = NeededTime(
        test="scan",
        clients=4,
        half_width=0.1,
        seconds=200.0,
        shortest=1.0,
        furthest=4000.0,
        to_find={},
    )
    kept = KeptTest(
        date="2026-11-20",
        experiment="night",
        contender="postgres@17.6",
        dbms="postgres",
        rows=1000,
        measured=600.0,
        needed=needed,
    )
    monkeypatch.setattr(host_calibrations, "all_kept", lambda: [kept])
    monkeypatch.setattr(host_calibrations, "newest_sentence", lambda: "yesterday")
    [weight] = shard.plain_facts().weights
    assert weight.weight == pytest.approx(2.0)
    assert (weight.test, weight.clients, weight.dbms, weight.rows) == ("scan", 4, "postgres", 1000)


def test_a_host_is_examined_once_what_was_stopped_there_has_ended(
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
    monkeypatch.setattr(shard, "examine", lambda _host: [])
    monkeypatch.setattr(shard, "read_host", lambda _root: None)
    with folder.lock_file.open("w", encoding="utf-8") as held:
        folder.take(held)
        shard.host_facts()
    assert waited
