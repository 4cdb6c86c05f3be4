"""The report as one JSON object; docs/report.schema.json describes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from slowdust.analysis.metrics import METRICS
from slowdust.analysis.model import Report

SCHEMA_ID = "slowdust-report-1"


def render(report: Report) -> str:
    """The report as JSON, indented, with a newline at its end; what is None is absent."""
    return encoded(report)


def schema() -> str:
    """The JSON Schema of what `render` writes, in the same layout."""
    return schema_of(Report, SCHEMA_ID, "The report of one experiment", _with_metrics)


def encoded(value: msgspec.Struct) -> str:
    """Any such object as JSON, laid out in the same way."""
    return _pretty(msgspec.json.encode(_measured(value)))


def schema_of(
    kind: type[msgspec.Struct],
    identifier: str,
    title: str,
    complete: Callable[[dict[str, Any]], None] = lambda described: None,
) -> str:
    """Return the JSON Schema of what `encoded` writes of objects of a kind.

    `complete` adds to the schema what types do not tell.
    """
    described = {name: _without_null(part) for name, part in msgspec.json.schema(kind).items()}
    complete(described)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": identifier,
        "title": title,
    }
    return _pretty(msgspec.json.encode(head | described, order="deterministic"))


def _with_metrics(described: dict[str, Any]) -> None:
    """Describe the values per operation, one for each row of the table of metrics."""
    for field, relative in (("per_op", ""), ("per_op_relative", ", relative to the base's")):
        described["$defs"]["Result"]["properties"][field]["properties"] = {
            metric.key: {
                "type": "number",
                "description": f"{metric.meaning_per('operation')}{relative}"
                + (f" ({metric.unit})" if metric.unit and not relative else ""),
            }
            for metric in METRICS
        }


def _without_null(part: object) -> object:
    """The same schema for values that are absent instead of null."""
    match part:
        case [*items]:
            return [_without_null(item) for item in items if item != {"type": "null"}]
        case {"anyOf": [dict() as only, {"type": "null"}], **rest}:
            return _without_null({**only, **{key: rest[key] for key in rest if key != "default"}})
        case {**named}:
            return {name: _without_null(item) for name, item in named.items()}
    return part


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
