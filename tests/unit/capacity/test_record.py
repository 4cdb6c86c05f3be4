"""Trials are stored one by one, and are long enough for the percentiles of their SLA."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.passes.trials import shortest_trial, summarize_times
from slowdust.store.folder import TRIALS_FILE, Folder
from slowdust.store.latency import Histogram
from slowdust.store.storage import append_records
from slowdust.store.trial import Trial
from slowdust.studies.capacity.sla import parse_sla


def trial(turn: int) -> Trial:
    return Trial(
        contender="A", start=1, turn=turn, rate=100.0, seconds=1.0, took=1.0, operations=100,
        times={"p99": 0.001},
    )  # fmt: skip


def test_a_torn_last_line_is_ignored_and_replaced(tmp_path: Path) -> None:
    assert Folder(tmp_path).read_trials() == []
    append_records(tmp_path / TRIALS_FILE, [trial(0)])
    with (tmp_path / TRIALS_FILE).open("a") as file:
        file.write('{"contender":"A","sta')
    assert Folder(tmp_path).read_trials() == [trial(0)]
    append_records(tmp_path / TRIALS_FILE, [trial(1), trial(2)])
    assert Folder(tmp_path).read_trials() == [trial(0), trial(1), trial(2)]


def test_a_damaged_line_names_the_file(tmp_path: Path) -> None:
    (tmp_path / TRIALS_FILE).write_text("{}\n")
    with pytest.raises(SlowdustError, match=r"trials\.ndjson is damaged"):
        Folder(tmp_path).read_trials()


def test_a_trial_is_as_long_as_its_percentiles_need() -> None:
    p99 = parse_sla("p99<5ms").operations
    assert shortest_trial(p99, 0.5, 40_000.0, 60.0) == 0.5
    assert shortest_trial(p99, 0.5, 4_000.0, 60.0) == pytest.approx(1.0)
    with pytest.raises(UsageError, match=r"needs 2,000 operations .* take 40s at half"):
        shortest_trial(p99, 0.5, 100.0, 60.0)


def test_percentiles_of_no_operations_are_absent() -> None:
    assert summarize_times(Histogram(values_ns=[], counts=[], max_ns=0, mean_ns=0.0)) == {}
    times = summarize_times(
        Histogram(values_ns=[1000, 9000], counts=[99, 1], max_ns=9000, mean_ns=1080.0)
    )
    assert times["max"] == pytest.approx(9e-6)
    assert times["p50"] == pytest.approx(1e-6, rel=0.01)
