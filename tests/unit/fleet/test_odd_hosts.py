"""What a host sends that cannot be used stops nobody but that host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from slowdust.experiment.journal import StartMode
from slowdust.fleet.model import Message
from slowdust.fleet.model import Part as PartOfFile
from slowdust.fleet.record import State
from slowdust.store.folder import SLICES_FILE
from slowdust.store.of_fleet import fleet_folder
from tests.unit.fleet.laboratory import (
    DyingHead,
    KilledError,
    Laboratory,
)
from tests.unit.synthetic_fleet import SimulatedFleet, SimulatedHost


class OddHosts(SimulatedFleet):
    """A fleet in which a host sends something odd after its first slices, and no files then."""

    def __init__(self, hosts: dict[str, SimulatedHost], host: str, odd: PartOfFile) -> None:
        super().__init__(hosts)
        self._host = host
        self._odd: PartOfFile | None = odd

    def messages(self, within: float) -> Sequence[tuple[str, Message]]:
        said: list[tuple[str, Message]] = []
        for host, message in super().messages(within):
            part = message if isinstance(message, PartOfFile) and host == self._host else None
            if part is None or self._odd is not None:
                said.append((host, message))
            if part is not None and part.file == SLICES_FILE and self._odd is not None:
                said.append((host, self._odd))
                self._odd = None
        return said


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (PartOfFile(file="../x", content=b""), "no file of an experiment"),
        (PartOfFile(file=f"perf/{'x' * 300}.json.gz", content=b""), "no file of an experiment"),
        (
            PartOfFile(file=SLICES_FILE, content=b"x\n", offset=10**9),
            "leaves a gap in slices.ndjson",
        ),
        (PartOfFile(file=SLICES_FILE, content=b"{}\n" * 3, offset=0), "is damaged: line 1"),
        (PartOfFile(file="manifest.json", content=b"{"), "manifest.json is damaged"),
        (PartOfFile(file="perf/x.json.gz", content=b"{"), "x.json.gz is damaged"),
    ],
)
@pytest.mark.parametrize("dies", [None, 15.0])
def test_a_host_that_sends_what_cannot_be_used_is_left_out_and_others_go_on(
    tmp_path: Path, odd: PartOfFile, reason: str, dies: float | None
) -> None:
    hosts = {name: SimulatedHost() for name in "ab"} | {"odd": SimulatedHost(dies=dies)}
    laboratory = Laboratory(tmp_path, OddHosts(hosts, "odd", odd))
    laboratory.run()
    laboratory.check_complete()
    assert reason in laboratory.record.left_out["odd"]
    assert any(
        f"odd is left out: {laboratory.record.left_out['odd']}" == text
        for text in laboratory.view.warnings
    )
    [placement] = [each for each in laboratory.record.placements if each.host == "odd"]
    assert placement.state is State.LOST
    assert {p.name for p in fleet_folder(tmp_path, "night").iterdir()} == {
        "fleet.json",
        "fleet.toml",
        "hosts",
    }


def test_what_was_damaged_after_it_was_received_is_measured_again(tmp_path: Path) -> None:
    fleet = DyingHead({"a": SimulatedHost(), "b": SimulatedHost()}, 60.0)
    laboratory = Laboratory(tmp_path, fleet)
    with pytest.raises(KilledError):
        laboratory.run()
    fleet.forget_head()
    [damaged, *_] = laboratory.record.placements
    slices = fleet_folder(tmp_path, "night") / "hosts" / damaged.host / damaged.folder / SLICES_FILE
    slices.write_bytes(b"damaged\n" + slices.read_bytes())
    laboratory.run(StartMode.RESUME)
    laboratory.check_complete()
    assert damaged.host in laboratory.record.left_out
    [first, *again] = laboratory.record.of(damaged.shard)
    assert (first.state, first.unreadable) == (State.LOST, True)
    assert again
