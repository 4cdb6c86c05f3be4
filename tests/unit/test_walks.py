"""The walks of ARCHITECTURE.md: few stations, each of which exists and is passed once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
STATION = re.compile(r"^\| \d+ \| `([^`]+)` \|", re.MULTILINE)
WALKS = [walk for part in PAGE.split("| --: | --- | --- |")[1:] if (walk := part.split("\n\n")[0])]
MOST_STATIONS = 15


def test_there_are_walks_of_a_slice_a_bisection_and_an_archive() -> None:
    ends = [STATION.findall(walk)[0] for walk in WALKS]
    assert ends == [
        "driver/src/wire/frames.rs",
        "studies/bisect/strategy.py",
        "archive/files.py",
    ]


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_passes_few_stations_and_returns_to_none(walk: str) -> None:
    stations = STATION.findall(walk)
    assert 5 <= len(stations) <= MOST_STATIONS
    assert len(set(stations)) == len(stations)
    for station in stations:
        folder = ROOT if station.startswith("driver/") else ROOT / "src" / "slowdust"
        assert (folder / station).is_file(), station
