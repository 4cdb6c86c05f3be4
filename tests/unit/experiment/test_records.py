"""Records of slices, made from the driver's answers."""

from __future__ import annotations

import msgspec
import pytest

from slowdust.experiment.driver.protocol import Ran
from slowdust.experiment.journal import make_slice
from slowdust.probes.probe import WindowUse
from slowdust.store.slice import Place, Slice

LATENCY = {"values_ns": [], "counts": [], "max_ns": 0, "mean_ns": 0.0}
FAILED = {"started": 1.0, "statements": 0, "rows": 0, "qps": 0.0, "unit": "operations/s"}
"""The driver's answer for a slice whose operations all failed, without its time and errors."""


@pytest.mark.parametrize(("completed", "recorded"), [(0.0, None), (0.05, 0.05)])
def test_a_slice_without_any_completed_operation_has_no_time_of_its_own(
    completed: float, recorded: float | None
) -> None:
    answer = FAILED | {
        "event": "ran", "id": 1, "session": "s", "seconds": completed, "operations": 0,
        "latency": LATENCY, "per_second": [], "errors": {"mongodb/1": 7}, "retries": 0,
        "positions": [7],
    }  # fmt: skip
    ran = msgspec.convert(answer, Ran)
    place = Place(benchmark="micro", test="scan", clients=1, contender="a")
    record = make_slice(place, ran, ran, WindowUse(uses={}, seconds=0.25, skipped=[]))
    # What cannot be read again would make the whole experiment unreadable.
    read = msgspec.json.decode(msgspec.json.encode(record), type=Slice)
    assert (read.measured.seconds, read.measured.probe_seconds) == (recorded, 0.25)
    assert read.measured.errors == {"mongodb/1": 7}
