"""A line of o.sum made of its sources: o.res, and the clients' output (o.ib).

A value that neither of them has is NA: microseconds of CPU per operation, since nothing there says
how many CPUs there were, and without o.res all of the hardware.
"""

from __future__ import annotations

from slowdust.archive.importing import Mode
from slowdust.archive.insert.archive import ArchivedStep
from slowdust.archive.insert.rates import outputs, rate
from slowdust.formats.insert import tables
from slowdust.formats.insert.names import main_role
from slowdust.formats.insert.result import StepResult
from slowdust.formats.insert.tables import Row
from slowdust.formats.text import number_of

_KB_PER_GB = 1 << 20
_US_PER_S = 1e6
_KEPT = {"p50": 50, "p99": 99}
_PER_OPERATION = {"rpq": ("r/q", "r/i"), "rkbpq": ("rKB/q", "rKB/i"), "cspq": ("cs/q", "cs/i")}
_PER_SECOND = {
    "rps": "r/s", "rmbps": "rMB/s", "wps": "w/s", "wmbps": "wMB/s", "csps": "cs/s",
    "cpups": "cpu/s",
}  # fmt: skip
_PER_INSERT = {"wpi": "w/i", "wkbpi": "wKB/i"}


def row_of(tag: str, name: str, step: ArchivedStep, mode: Mode) -> Row | None:
    """Return the line of a step; None where there is neither of its files."""
    if step.result is None and not outputs(step):
        return None
    main = main_role(name)
    role = "query" if main == "query" else "insert"
    values = {
        "ips": _rate(step, "index" if main == "index" else "insert", mode),
        "qps": _rate(step, "query", mode) if main == "query" else 0.0,
        "maxop": _longest(step, role),
        **{column: _kept(step, role, percent) for column, percent in _KEPT.items()},
    }
    if main == "index":
        values |= dict.fromkeys(_KEPT, None)
    hardware = {} if step.result is None else _hardware(step.result, role)
    return tables.row_of_values({**values, **hardware}, tag)


def _rate(step: ArchivedStep, role: str, mode: Mode) -> float | None:
    """Return the rate; the published one is that of o.res, cut."""
    known = rate(step, role, mode)
    cut = mode is Mode.COMPAT and step.result is not None
    return known if known is None or not cut else float(int(known))


def _longest(step: ArchivedStep, role: str) -> float | None:
    if step.result is not None and role in step.result.longest:
        return step.result.longest[role]
    longest = [output.roles[role].longest_us.max() for output in outputs(step)]
    return float(max(longest)) / _US_PER_S if longest else None


def _kept(step: ArchivedStep, role: str, percent: int) -> float | None:
    """Return the rate that the first client reached in so many of its seconds."""
    if step.result is not None and percent in (rates := step.result.exceeded.get(role, {})):
        return rates[percent]
    first = next(iter(outputs(step)), None)
    if first is None or not first.unbroken:
        return None
    rates_of_seconds = first.roles[role].done / first.lengths.clip(min=0.1)
    return tables.rate_kept(rates_of_seconds.tolist(), percent / 100)


def _hardware(result: StepResult, role: str) -> dict[str, float | str | None]:
    """Return the hardware in the columns of o.sum."""
    cells, of_inserts = (result.hardware.get(key, {}) for key in (role, "insert"))
    values: dict[str, float | str | None] = {
        "dbgb1": result.database_gb,
        "dbgb2": result.directory_gb,
        "rss": None if result.resident_kb is None else result.resident_kb / _KB_PER_GB,
    }
    for column, title in _PER_SECOND.items():
        values[column] = _cell(cells.get(title))
    for column, titles in _PER_OPERATION.items():
        values[column] = _cell(next((cells[title] for title in titles if title in cells), None))
    for column, title in _PER_INSERT.items():
        values[column] = _cell(of_inserts.get(title))
    return values


def _cell(printed: str | None) -> str | None:
    return printed if printed is not None and number_of(printed) is not None else None
