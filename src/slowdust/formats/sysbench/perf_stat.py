"""The output of `perf stat` beside a test (sb.perf.hw): groups of counters, 10 s each.

A counter that the machine does not have is -1 in the classic files, and absent here. What is read
is per 10 s; per query it has to be divided by the rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from slowdust.formats.text import collation, is_number

NOT_SUPPORTED = "-1"
INFINITE = "INF"
"""The relative value where the base is 0."""
LAST = "faults"
"""The event that ends an iteration that was completed."""
SECONDS = 10
"""Seconds that each group of counters counted."""
_ENDED = "seconds time elapsed"
_VALUE, _REMARK = 0, 3
_EXTRACTED: tuple[tuple[str, str, int], ...] = (
    ("cycles", "cycles", _VALUE),
    ("GHz", "cycles", _REMARK),
    ("bus-cycles", "bus-cycles", _VALUE),
    ("instructions", "instructions", _VALUE),
    ("ipc", "instructions", _REMARK),
    ("branches", "branches", _VALUE),
    ("branch-misses", "branch-misses", _VALUE),
    ("branch-miss-pct", "branch-misses", _REMARK),
    ("cache-references", "cache-references", _VALUE),
    ("cache-misses", "cache-misses", _VALUE),
    ("cache-miss-pct", "cache-misses", _REMARK),
    ("stalled-cycles-backend", "stalled-cycles-backend", _VALUE),
    ("stalled-cycles-frontend", "stalled-cycles-frontend", _VALUE),
    ("L1-dcache-loads", "L1-dcache-loads", _VALUE),
    ("L1-dcache-load-misses", "L1-dcache-load-misses", _VALUE),
    ("L1-dcache-load-miss-pct", "L1-dcache-load-misses", _REMARK),
    ("L1-dcache-stores", "L1-dcache-stores", _VALUE),
    ("dTLB-loads", "dTLB-loads", _VALUE),
    ("dTLB-load-misses", "dTLB-load-misses", _VALUE),
    ("dTLB-load-miss-pct", "dTLB-load-misses", _REMARK),
    ("dTLB-stores", "dTLB-stores", _VALUE),
    ("dTLB-store-misses", "dTLB-store-misses", _VALUE),
    ("iTLB-loads", "iTLB-loads", _VALUE),
    ("iTLB-load-misses", "iTLB-load-misses", _VALUE),
    ("iTLB-load-miss-pct", "iTLB-load-misses", _REMARK),
    ("L1-icache-loads-misses", "L1-icache-loads-misses", _VALUE),
    ("L1-icache-load-miss-pct", "L1-icache-loads-misses", _REMARK),
    ("L1-icache-loads", "L1-icache-loads", _VALUE),
    ("LLC-loads", "LLC-loads", _VALUE),
    ("LLC-load-misses", "LLC-load-misses", _VALUE),
    ("LLC-stores", "LLC-stores", _VALUE),
    ("LLC-store-misses", "LLC-store-misses", _VALUE),
    ("LLC-prefetches", "LLC-prefetches", _VALUE),
    ("alignment-faults", "alignment-faults", _VALUE),
    ("context-switches", "context-switches", _VALUE),
    ("migratons", "migrations", _VALUE),
    ("major-faults", "major-faults", _VALUE),
    ("minor-faults", "minor-faults", _VALUE),
    ("faults", "faults", _VALUE),
)
"""Name in the extraction, event, and field of the event's line, in the order of the extraction,
with its own spellings."""
_NAMES = dict.fromkeys(name for name, _, _ in _EXTRACTED)
_RATIOS = frozenset(name for name, _, field in _EXTRACTED if field == _REMARK)
"""Counters that are ratios by themselves, whatever the rate."""


def extract(lines: Sequence[str]) -> dict[str, str]:
    """Return the counters as text, in the order of the extraction (.raw); `NOT_SUPPORTED` stays.

    Only the first line of an event counts; an event without a line has no entry.
    """
    lines_of_events: dict[str, list[str]] = {}
    for line in lines:
        row = line.replace("<not supported>", NOT_SUPPORTED, 1).split()
        if len(row) > 1 and not line.rstrip().endswith(_ENDED):
            lines_of_events.setdefault(_event(row), row)
    values = {}
    for name, event, field in _EXTRACTED:
        row = lines_of_events.get(event, [])
        if len(row) > field:
            values[name] = row[field].replace(",", "").rstrip("%")
    return values


def counters(values: Mapping[str, str]) -> dict[str, float]:
    """Return the counters of an extraction that the machine has."""
    return {
        name: float(value)
        for name, value in values.items()
        if value != NOT_SUPPORTED and is_number(value)
    }


def ratios(values: Mapping[str, str]) -> dict[str, float]:
    """Return the counters that are ratios by themselves: GHz, ipc, percentages."""
    return {name: value for name, value in counters(values).items() if name in _RATIOS}


def events(values: Mapping[str, str]) -> dict[str, float]:
    """Return the counters that are events in `SECONDS`."""
    return {name: value for name, value in counters(values).items() if name not in _RATIOS}


def raw(values: Mapping[str, str]) -> str:
    """Write the file .raw."""
    return "".join(f"{name}\t{value}\n" for name, value in values.items())


def sorted_(values: Mapping[str, str]) -> str:
    """Write the file .sorted."""
    return raw({name: values[name] for name in sorted(values, key=collation)})


def joined(contenders: Sequence[Mapping[str, str]]) -> str:
    """Write the file join.abs: a line for each counter that all contenders have an entry of."""
    return "".join(
        f"{name} {' '.join(values[name] for values in contenders)}\n"
        for name in _common(contenders)
    )


def joined_relative(contenders: Sequence[Mapping[str, str]]) -> str:
    """Write the file join.rel: each value / the first contender's, as published.

    Two counters that are both missing are 1.000 there.
    """
    base, *others = contenders
    columns = [relative(values, base) for values in others]
    return "".join(
        "\t".join([*(column.get(name, INFINITE) for column in columns), name]) + "\n"
        for name in _common(contenders)
    )


def relative(values: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """Return each value / the base's, as published; where that is 0 there is none."""
    return {
        name: f"{float(value) / float(base[name]):.3f}"
        for name, value in values.items()
        if is_number(value) and is_number(base.get(name, "")) and float(base[name])
    }


def is_ratio(name: str) -> bool:
    """Return whether the counter is a ratio by itself, whatever the rate."""
    return name in _RATIOS


def read_joined(lines: Sequence[str]) -> tuple[list[dict[str, str]], list[str]]:
    """Read the counters of each column of join.abs, and the lines that are no part of it."""
    rows = [(line, line.split()) for line in lines if line.strip()]
    return _columns([(line, cells[0], cells[1:]) for line, cells in rows])


def read_joined_relative(lines: Sequence[str]) -> tuple[list[dict[str, str]], list[str]]:
    """Read the columns of join.rel the same way. `INF`, where the base had 0, is left out."""
    rows = [(line, line.split()) for line in lines if line.strip()]
    return _columns([(line, cells[-1], cells[:-1]) for line, cells in rows])


def _columns(
    rows: Sequence[tuple[str, str, Sequence[str]]],
) -> tuple[list[dict[str, str]], list[str]]:
    """Turn lines into columns; most lines have a value for each column."""
    widths = Counter(len(values) for _, _, values in rows)
    width = widths.most_common(1)[0][0] if widths else 0
    columns: list[dict[str, str]] = [{} for _ in range(width)]
    strange = []
    for line, name, values in rows:
        good = all(is_number(value) or value == INFINITE for value in values)
        if name not in _NAMES or len(values) != width or not good:
            strange.append(line)
            continue
        for column, value in zip(columns, values, strict=True):
            if value != INFINITE:
                column[name] = value
    return (columns if any(columns) else []), strange


def read_raw(lines: Sequence[str]) -> dict[str, str]:
    """Read the counters of a file .raw or .sorted, in the order of the extraction.

    Raises:
        ValueError: a line is none of such a file.
    """
    values = {}
    for line in lines:
        name, tab, value = line.partition("\t")
        if not tab or name not in _NAMES or not is_number(value):
            raise ValueError(f"no counter: {line[:40]!r}")
        values[name] = value
    return {name: values[name] for name in _NAMES if name in values}


def _event(row: Sequence[str]) -> str:
    """Return the event's name, which stands behind the unit that a clock has."""
    return row[2] if row[1] in ("msec", "nsec") and len(row) > 2 else row[1]


def _common(contenders: Sequence[Mapping[str, str]]) -> list[str]:
    first, *others = contenders
    return sorted(
        (
            name
            for name, value in first.items()
            if is_number(value) and all(is_number(values.get(name, "")) for values in others)
        ),
        key=collation,
    )
