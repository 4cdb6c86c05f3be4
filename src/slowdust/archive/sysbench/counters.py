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
_NAMES = (
    "cycles", "GHz", "bus-cycles", "instructions", "ipc", "branches", "branch-misses",
    "branch-miss-pct", "cache-references", "cache-misses", "cache-miss-pct",
    "stalled-cycles-backend", "stalled-cycles-frontend", "L1-dcache-loads",
    "L1-dcache-load-misses", "L1-dcache-load-miss-pct", "L1-dcache-stores", "dTLB-loads",
    "dTLB-load-misses", "dTLB-load-miss-pct", "dTLB-stores", "dTLB-store-misses", "iTLB-loads",
    "iTLB-load-misses", "iTLB-load-miss-pct", "L1-icache-loads-misses", "L1-icache-load-miss-pct",
    "L1-icache-loads", "LLC-loads", "LLC-load-misses", "LLC-stores", "LLC-store-misses",
    "LLC-prefetches", "alignment-faults", "context-switches", "migratons", "major-faults",
    "minor-faults", "faults",
)  # fmt: skip
"""Names in the extraction, in its order and with its spellings."""
_RATIOS = {
    "GHz": "cycles",
    "ipc": "instructions",
    "branch-miss-pct": "branch-misses",
    "cache-miss-pct": "cache-misses",
    "L1-dcache-load-miss-pct": "L1-dcache-load-misses",
    "dTLB-load-miss-pct": "dTLB-load-misses",
    "iTLB-load-miss-pct": "iTLB-load-misses",
    "L1-icache-load-miss-pct": "L1-icache-loads-misses",
}
"""Ratios by themselves, whatever the rate -> event in whose remark they are."""
_EVENTS = {"migratons": "migrations", **_RATIOS}
_VALUE, _REMARK = 0, 3
"""Fields of the line of an event."""


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
    for name in _NAMES:
        row = lines_of_events.get(_EVENTS.get(name, name), [])
        field = _REMARK if name in _RATIOS else _VALUE
        if len(row) > field:
            values[name] = row[field].replace(",", "").rstrip("%")
    return values


def counters(values: Mapping[str, str]) -> dict[str, float]:
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
    return "".join(f"{name}\t{value}\n" for name, value in values.items())


def sorted_(values: Mapping[str, str]) -> str:
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
