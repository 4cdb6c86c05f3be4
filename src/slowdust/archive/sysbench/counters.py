"""The output of `perf stat` during a test (sb.perf.hw): groups of counters, 10 s each.

A counter that the machine lacks is -1 in the classic files, and absent here. The values are for
10 s; divide them by the rate to get values per query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from slowdust.archive.runs import parse_run
from slowdust.store.measured import Counters
from slowdust.text import collation, is_number

NOT_SUPPORTED = "-1"
_INFINITE = "INF"
"""The relative value if the base is 0."""
LAST = "faults"
"""The event that ends a complete iteration."""
_SECONDS = 10
"""Seconds for which each group of counters counted."""
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
RATIOS = {
    "GHz": "cycles",
    "ipc": "instructions",
    "branch-miss-pct": "branch-misses",
    "cache-miss-pct": "cache-misses",
    "L1-dcache-load-miss-pct": "L1-dcache-load-misses",
    "dTLB-load-miss-pct": "dTLB-load-misses",
    "iTLB-load-miss-pct": "iTLB-load-misses",
    "L1-icache-load-miss-pct": "L1-icache-loads-misses",
}
"""Ratios that are independent of the rate -> event whose remark has the ratio."""
_EVENTS = {"migratons": "migrations", **RATIOS}
_VALUE, _REMARK = 0, 3
"""Fields of the line of an event."""
_ONE_PROCESS = frozenset({"postgres", "orioledb"})
"""DBMS with a process for each connection; perf observed one process."""
Extraction = Mapping[str, str]
"""Counter -> value as printed."""


def extract(lines: Sequence[str]) -> dict[str, str]:
    """Return the counters as text, in the order of the extraction (.raw), including
    `NOT_SUPPORTED`.

    Only the first line of an event is used; an event without a line is absent.
    """
    lines_of_events: dict[str, list[str]] = {}
    for line in lines:
        row = line.replace("<not supported>", NOT_SUPPORTED, 1).split()
        if len(row) > 1 and not line.rstrip().endswith("seconds time elapsed"):
            # The event's name follows the unit, which only a clock has.
            name = row[2] if row[1] in ("msec", "nsec") and len(row) > 2 else row[1]
            lines_of_events.setdefault(name, row)
    values = {}
    for name in _NAMES:
        row = lines_of_events.get(_EVENTS.get(name, name), [])
        field = _REMARK if name in RATIOS else _VALUE
        if len(row) > field:
            values[name] = row[field].replace(",", "").rstrip("%")
    return values


def convert_counters(values: Extraction, rate: float, run: str) -> Counters:
    """Return the supported events per operation, and the ratios."""
    numbers = {
        name: float(value)
        for name, value in values.items()
        if value != NOT_SUPPORTED and is_number(value)
    }
    name = parse_run(run)
    return Counters(
        per_operation={
            counter: value / _SECONDS / rate
            for counter, value in numbers.items()
            if counter not in RATIOS
        },
        ratios={counter: value for counter, value in numbers.items() if counter in RATIOS},
        of_one_process=name is not None and name.dbms in _ONE_PROCESS,
    )


def raw(values: Extraction) -> str:
    return "".join(f"{name}\t{value}\n" for name, value in values.items())


def sorted_(values: Extraction) -> str:
    return raw({name: values[name] for name in sorted(values, key=collation)})


def joined(contenders: Sequence[Extraction]) -> tuple[str, str]:
    """Write the files join.abs and join.rel: a line for each counter that all contenders have.

    join.rel has each value / the first contender's. If both are missing on the machine, it is
    1.000.
    """
    base, *others = contenders
    common = [name for name in base if all(is_number(each.get(name, "")) for each in contenders)]
    columns = [relative(values, base) for values in others]
    absolute, ratios = "", ""
    for name in sorted(common, key=collation):
        absolute += f"{name} {' '.join(values[name] for values in contenders)}\n"
        cells = (column.get(name, _INFINITE) for column in columns)
        ratios += "\t".join([*cells, name]) + "\n"
    return absolute, ratios


def relative(values: Extraction, base: Extraction) -> dict[str, str]:
    """Return each value / the base's, as published; absent if the base's is 0."""
    return {
        name: f"{float(value) / float(base[name]):.3f}"
        for name, value in values.items()
        if is_number(value) and is_number(base.get(name, "")) and float(base[name])
    }


def read_joined(lines: Sequence[str], *, name_at: int) -> tuple[list[dict[str, str]], list[str]]:
    """Read the counters of each column of a joined table, and the lines outside of the table.

    The name is in the first cell of a line of join.abs, and in the last (-1) of join.rel. Most
    lines have a value for each column. `INF`, for a base of 0, is skipped.
    """
    split = [(line, line.split()) for line in lines if line.strip()]
    names = [cells.pop(name_at) for _, cells in split]
    width = Counter(len(cells) for _, cells in split).most_common(1)[0][0] if split else 0
    columns: list[dict[str, str]] = [{} for _ in range(width)]
    strange = []
    for name, (line, values) in zip(names, split, strict=True):
        good = all(is_number(value) or value == _INFINITE for value in values)
        if name not in _NAMES or len(values) != width or not good:
            strange.append(line)
            continue
        for column, value in zip(columns, values, strict=True):
            if value != _INFINITE:
                column[name] = value
    return (columns if any(columns) else []), strange


def read_raw(lines: Sequence[str]) -> dict[str, str]:
    """Read the counters of a file .raw or .sorted, in the order of the extraction.

    Raises:
        ValueError: a line is not a counter.
    """
    values = {}
    for line in lines:
        name, tab, value = line.partition("\t")
        if not tab or name not in _NAMES or not is_number(value):
            raise ValueError(f"not a counter: {line[:40]!r}")
        values[name] = value
    return {name: values[name] for name in _NAMES if name in values}
