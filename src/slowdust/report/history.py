"""The history as one JSON object; docs/history.schema.json describes it."""

from __future__ import annotations

from slowdust.analysis.history.model import History
from slowdust.report.json import encoded, schema_of

SCHEMA_ID = "slowdust-history-1"


def render(history: History) -> str:
    """The history as JSON, indented, with a newline at its end; what is None is absent."""
    return encoded(history)


def schema() -> str:
    """The JSON Schema of what `render` writes, in the same layout."""
    return schema_of(History, SCHEMA_ID, "Throughput from version to version")
