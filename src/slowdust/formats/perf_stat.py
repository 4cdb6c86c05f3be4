"""The output of `perf stat -x,`: one line for each event.

A line has the count, its unit, the event, the time that the counter ran in nanoseconds, and this
time as a share of the window (perf-stat(1), section "CSV FORMAT"). Hybrid processors have a line
for each kind of core (`cpu_core/instructions/u`); these are added up.
"""

from __future__ import annotations

import re

from slowdust.text import is_number

SEPARATOR = ","
_VALUE, _EVENT, _SHARE = 0, 2, 4
_WHOLE_WINDOW = 99.5
"""Smallest percentage of the window, allowing for rounding, at which a counter ran throughout. For
less, perf scales the count, which makes it an estimate."""
_HYBRID = re.compile(r"cpu_\w+/([^/]+?)(?::(\w+))?/(\w*)")


def read_events(text: str) -> dict[str, float]:
    """Return event -> count, clocks in milliseconds; events are named as requested, with modifiers.

    Events that the processor lacks, that did not run, or that ran for a part of the window are
    skipped, and so are other lines, such as messages of perf.
    """
    events: dict[str, float] = {}
    for line in text.splitlines():
        cells = line.split(SEPARATOR)
        if len(cells) <= _SHARE or not is_number(cells[_VALUE]) or not is_number(cells[_SHARE]):
            continue
        if float(cells[_SHARE]) >= _WHOLE_WINDOW:
            name = _event(cells[_EVENT])
            events[name] = events.get(name, 0.0) + float(cells[_VALUE])
    return events


def _event(name: str) -> str:
    """Return an event's name without the kind of core that counted it."""
    hybrid = _HYBRID.fullmatch(name)
    if hybrid is None:
        return name
    event, inside, after = hybrid.groups()
    modifier = inside or after
    return f"{event}:{modifier}" if modifier else str(event)
