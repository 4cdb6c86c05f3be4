"""What an import says of whole groups of tests, not line by line."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.archive.sysbench import joined_counters, slices, table_slices
from slowdust.archive.sysbench.scan_choice import ScanChoices
from slowdust.formats.sysbench.rates import SCAN, ScanRule, is_relative
from slowdust.formats.text import beginning
from slowdust.store.slice import Slice
from slowdust.wording import counted

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


def of_scan(records: Sequence[Slice], choices: ScanChoices) -> list[str]:
    """By which rules its rates were published, and in what they are here."""
    scans = [record for record in records if record.place.test.startswith(f"{SCAN}.")]
    absolute = [record for record in scans if not is_relative(record.unit)]
    if not absolute:
        return []
    runs = list(
        dict.fromkeys(one.archived.classic.run for one in absolute if one.archived is not None)
    )
    by_rule: dict[ScanRule, list[str]] = {}
    for run in runs:
        by_rule.setdefault(choices.rule(run), []).append(run)
    told = []
    for rule, some in by_rule.items():
        of_runs = f" of {beginning(some, _MOST_LISTED)}" if len(by_rule) > 1 else ""
        why = max((choices.of(run) for run in some), key=lambda choice: choice.sure).why
        told.append(f"published rates{of_runs} are of {rule.value}, {why}")
    units = sorted({record.unit for record in absolute})
    return [f"scan: {'; '.join(told)}; here in {' and '.join(units)}"]


def of_flags(records: Sequence[Slice]) -> list[str]:
    """Why results are not what they could be: those of each flag, and what they are of."""
    notes = []
    for flag in _FLAGS:
        tests = [
            record.place.test
            for record in records
            if record.archived and flag in record.archived.notes
        ]
        if tests:
            shown = beginning(sorted(set(tests)), _MOST_LISTED)
            notes.append(f"{flag}: {counted(len(tests), 'result')}, {shown}")
    return notes
