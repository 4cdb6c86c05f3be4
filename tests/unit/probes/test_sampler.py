"""One sample a second of a server that changes, logs and exits."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slowdust.probes import sampler as module
from slowdust.probes.host.use import HostProbe, HostReadings
from slowdust.probes.sampler import LogReader, Sampler

if TYPE_CHECKING:
    from tests.unit.probes.conftest import FakeProc

MS = 1_000_000


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY", 0.2)


class CountedProbe(HostProbe):
    """Knows how often it was read: once at the beginning, and once for each sample."""

    reads = 0

    def read(self) -> HostReadings:
        self.reads += 1
        return super().read()


@pytest.mark.usefixtures("quick")
def test_each_second_has_what_was_used_and_logged(fake_proc: FakeProc, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("from before\n")
    fake_proc.put(10)
    host = CountedProbe(tmp_path)
    with Sampler([fake_proc.probe(10), host], log) as sampler:
        with log.open("a") as file:
            file.write("checkpoint starting\n")
        fake_proc.put(10, cpu_ns=50 * MS)
        while host.reads < 4:
            time.sleep(0.01)
    samples = sampler.samples(sampler.began)
    assert samples[0].start == 0.0
    for sample, following in pairwise(samples):
        assert sample.seconds > 0.19
        assert following.start == pytest.approx(sample.start + sample.seconds)
    assert [line for sample in samples for line in sample.log] == ["checkpoint starting"]
    used = [sample.uses["server"] for sample in samples]
    assert sum(use["cpu_s"] for use in used) == pytest.approx(0.05)
    assert {use["seen_switches"] for use in used} == {0}
    assert all("host" in sample.uses for sample in samples)


@pytest.mark.usefixtures("quick")
def test_a_server_that_ended_leaves_gaps_and_no_zeros(fake_proc: FakeProc, tmp_path: Path) -> None:
    fake_proc.put(10)
    probe = fake_proc.probe(10)
    with Sampler([probe, HostProbe(tmp_path)], tmp_path / "no.log") as sampler:
        fake_proc.end(10)
        time.sleep(0.3)
    samples = sampler.samples(time.time())
    assert samples
    assert all(sample.uses.keys() == {"host"} for sample in samples)


@pytest.mark.usefixtures("quick")
def test_a_log_out_of_reach_leaves_no_lines(tmp_path: Path) -> None:
    with Sampler([HostProbe(tmp_path)], None) as sampler:
        time.sleep(0.3)
    samples = sampler.samples(time.time())
    assert samples
    assert all(sample.log == [] for sample in samples)


def test_the_first_new_lines_of_a_log_are_read(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    reader = LogReader(log)
    log.write_bytes(b"\xff strange\n\n" + b"".join(b"%d\n" % n for n in range(9)))
    assert reader.new_lines() == ["\ufffd strange", "0", "1", "2", "3"]
    assert reader.new_lines() == []
