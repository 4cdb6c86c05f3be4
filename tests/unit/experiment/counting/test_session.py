"""Events of windows, from what callgrind writes."""

from __future__ import annotations

import pytest

from slowdust.errors import UsageError
from slowdust.experiment.counting.session import events_of
from slowdust.experiment.run import counting_of
from slowdust.experiment.spec.spec import parse_spec

HEADER = "version: 1\ncreator: callgrind-3.19.0\npid: 7\nthread: 1\n"
SIMULATED = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim sysCount sysTime"


def test_what_was_not_simulated_is_absent() -> None:
    text = f"{HEADER}events: Ir sysCount sysTime\nsummary: 100 3 9\n"
    assert events_of(text) == {"instructions": 100, "system_calls": 3}


def test_misses_are_those_of_reads_and_writes() -> None:
    text = f"{HEADER}events: {SIMULATED}\nsummary: 100 9 9 1 2 3 4 5 6 9 7 9 8 3 9\n"
    assert events_of(text) == {
        "instructions": 100,
        "system_calls": 3,
        "simulated_i1_misses": 1,
        "simulated_d1_misses": 5,
        "simulated_ll_misses": 15,
        "simulated_branch_misses": 15,
    }


def test_caches_are_not_simulated_without_valgrind() -> None:
    spec = parse_spec(
        {"name": "x", "contenders": ["mysql@9.7.4"], "count": "off", "simulate": True}
    )
    with pytest.raises(UsageError, match="not with --count off"):
        counting_of(spec)
