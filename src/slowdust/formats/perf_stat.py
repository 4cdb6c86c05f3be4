"""The output of `perf stat -x,`: one line for each event.

A line has the count, its unit, the event, the time that the counter ran in nanoseconds, and the
share of the window that this is (perf-stat(1), section "CSV FORMAT"). Hybrid processors have a line
for each kind of core (`cpu_core/instructions/u`), which are added up.
"""

from __future__ import annotations

import re

from slowdust.text import is_number

SEPARATOR = ","
_VALUE, _EVENT, _SHARE = 0, 2, 4
_WHOLE_WINDOW = 99.5
"""Percentage of the window from which on a counter ran all of it, but for rounding. perf scales
what it counted in a smaller part of the window: that is an estimate, not a count."""
_HYBRID = re.compile(r"cpu_\w+/([^/]+?)(?::(\w+))?/(\w*)")


def read_events(text: str) -> dict[str, float]:
    """Return event -> count, clocks in milliseconds; events as they were asked for, modifiers too.

    What the processor does not have, what did not run, and what ran for a part of the window is
    absent. Lines of another form, such as messages of perf, are skipped.
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
    event, inside, behind = hybrid.groups()
    modifier = inside or behind
    return f"{event}:{modifier}" if modifier else str(event)
