"""The report as one JSON object; docs/report.schema.json describes it."""

from __future__ import annotations

import msgspec

from slowdust.analysis.model import Report

SCHEMA_ID = "slowdust-report-1"


def render(report: Report) -> str:
    """The report as JSON, indented, with a newline at its end; what is None is absent."""
    return _pretty(msgspec.json.encode(_measured(report)))


def schema() -> str:
    """The JSON Schema of what `render` writes, in the same layout."""
    described = msgspec.json.schema(Report)
    return _pretty(
        msgspec.json.encode(
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$id": SCHEMA_ID,
                "title": "The report of one experiment",
                **described,
            },
            order="deterministic",
        )
    )


def _measured(value: object) -> object:
    """The same without what is None; what is 0 or empty stays: it was looked at."""
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        return {name: _measured(field) for name, field in fields.items() if field is not None}
    if isinstance(value, list):
        return [_measured(item) for item in value]
    return value


def _pretty(encoded: bytes) -> str:
    return msgspec.json.format(encoded, indent=2).decode() + "\n"
