"""What an import says of whole groups of tests, not line by line."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.phrases import counted
from slowdust.archive import joined_counters, slices, table_slices
from slowdust.archive.rates import SCAN, is_relative
from slowdust.archive.scan_choice import ScanChoice
from slowdust.archive.text import beginning
from slowdust.store.records import Slice

_MOST_LISTED = 4
_FLAGS = (
    slices.FROM_MET,
    slices.FROM_RATE,
    table_slices.FROM_TABLE,
    table_slices.FROM_RELATIVE,
    joined_counters.FROM_JOINED,
    joined_counters.RELATIVE,
    slices.RATE_OF_ONE_THREAD,
    slices.COUNTERS_OF_ALL_THREADS,
)


def of_scan(records: Sequence[Slice], choice: ScanChoice) -> list[str]:
    """By which rule its rates were published, and in what they are here."""
    scans = [record.unit for record in records if record.test.startswith(f"{SCAN}.")]
    units = sorted({unit for unit in scans if not is_relative(unit)})
    if not units:
        return []
    return [
        f"scan: published rates are of {choice.rule.value}, {choice.why}; here in "
        f"{' and '.join(units)}"
    ]


def of_flags(records: Sequence[Slice]) -> list[str]:
    """Why results are not what they could be: those of each flag, and what they are of."""
    notes = []
    for flag in _FLAGS:
        tests = [record.test for record in records if flag in record.flags]
        if tests:
            shown = beginning(sorted(set(tests)), _MOST_LISTED)
            notes.append(f"{flag}: {counted(len(tests), 'result')}, {shown}")
    return notes
