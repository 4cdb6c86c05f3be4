"""A report, a history, or another of the command line's answers, as one JSON object.

docs/report.schema.json, docs/history.schema.json, docs/diff.schema.json, docs/explain.schema.json,
docs/blame.schema.json and docs/capacity.schema.json describe them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec

from slowdust.analysis.blame import Blame
from slowdust.analysis.diff import Diff
from slowdust.analysis.explanation.one_result import Explained
from slowdust.analysis.history.model import History
from slowdust.analysis.metrics import COMPARED, METRICS
from slowdust.analysis.model import Report
from slowdust.ratios import PLAIN, Keys, Ratio
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice

_MEANINGS = {
    "rqps": "Relative throughput of typical slices; outliers, among them stalls, are excluded",
    "low": "Lower bound of the 95% interval of rqps",
    "high": "Upper bound of the 95% interval of rqps",
    "all_time": "All operations over all time, silent slices included, relative to the base's",
    "basis": "The ratio that the verdict is about: 'typical' for rqps, 'all time' for "
    "all_time if stalls make the two differ significantly by more than the margin, or too "
    "few slices are typical",
    "verdict": "Verdict on the ratio named by basis",
}
"""Descriptions of fields of a result that belong together."""


def render(
    content: msgspec.Struct, _slices: Sequence[Slice] = (), _profiles: Sequence[Profile] = ()
) -> str:
    """Return one of them as indented JSON, without missing fields and without its path."""
    if isinstance(content, Report):
        content = msgspec.structs.replace(content, typed=None)
    return _pretty(msgspec.json.encode(_without_none(content)))


@cache
def _keys(kind: type[msgspec.Struct]) -> dict[str, Keys]:
    """Return field -> the keys of its ratio, of the fields that are ratios."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: each
        for name, hint in hints.items()
        for each in getattr(hint, "__metadata__", ())
        if isinstance(each, Keys)
    }


def keys_of(kind: type[msgspec.Struct]) -> list[str]:
    """Return the keys of a record in JSON and CSV: `flat` has them in the same order."""
    if kind is Ratio:
        return list(PLAIN.named(None))
    keyed = _keys(kind)
    return [
        key
        for name in kind.__struct_fields__
        for key in (keyed[name].named(None) if name in keyed and not keyed[name].nested else [name])
    ]


def flat(record: msgspec.Struct) -> dict[str, Any]:
    """Return key -> value of a record, with the parts of its ratios among its other fields."""
    if isinstance(record, Ratio):
        return dict(PLAIN.named(record))
    keyed = _keys(type(record))
    values: dict[str, Any] = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if name not in keyed:
            values[name] = value
        elif keyed[name].nested:
            values[name] = value and keyed[name].named(value)
        else:
            values |= keyed[name].named(value)
    return values


def report_schema() -> str:
    described = _described(Report)
    for field, meaning in _MEANINGS.items():
        described["$defs"]["Result"]["properties"][field]["description"] = meaning
    for field, relative in (("per_op", ""), ("per_op_relative", ", relative to the base's")):
        described["$defs"]["Result"]["properties"][field]["properties"] = {
            metric.key: {
                "type": "number",
                "description": f"{metric.meaning_per('operation')}{relative}"
                + (f" ({metric.unit})" if metric.unit and not relative else ""),
            }
            for metric in METRICS
        }
    compared = described["$defs"]["Result"]["properties"]["compared"]
    compared["properties"] = {
        quantity.key: {
            **compared["additionalProperties"],
            "description": f"{quantity.meaning}, relative to the base's",
        }
        for quantity in COMPARED
    }
    return _schema("slowdust-report-2", "The report of one experiment", described)


def history_schema() -> str:
    described = _described(History)
    return _schema("slowdust-history-1", "Throughput from version to version", described)


def diff_schema() -> str:
    described = _described(Diff)
    return _schema("slowdust-diff-1", "Changes from one experiment to another", described)


def explain_schema() -> str:
    described = _described(Explained)
    return _schema("slowdust-explain-1", "One test of an experiment, explained", described)


def blame_schema() -> str:
    return _schema("slowdust-blame-1", "The cost of each release", _described(Blame))


def schema_of(content: type[msgspec.Struct], identifier: str, title: str) -> str:
    """Return the JSON schema of what `render` writes of other content."""
    return _schema(identifier, title, _described(content))


def _described(content: type[msgspec.Struct]) -> dict[str, Any]:
    schema = msgspec.json.schema(content)
    described: dict[str, Any] = {name: _without_null(part) for name, part in schema.items()}
    for kind in _records_in(content):
        record = described["$defs"][kind.__name__]
        if kind is Ratio:
            record |= {"properties": _parts_of(PLAIN), "required": ["ratio"]}
        for field, keys in _keys(kind).items():
            parts = _parts_of(keys)
            if keys.nested:
                own = {"type": "object", "properties": parts, "required": [keys.value]}
                record["properties"][field] = own
                continue
            del record["properties"][field]
            record["properties"] |= parts
            record["required"] = [
                keys.value if name == field else name for name in record["required"]
            ]
    if "#/$defs/Ratio" not in str(described):  # all of them are parts of their records
        described["$defs"].pop("Ratio", None)
    return described


def _parts_of(keys: Keys) -> dict[str, Any]:
    """Return the schemas of a ratio's parts."""
    verdict = {"enum": sorted(get_args(keys.verdicts))}
    return {key: verdict if key == keys.verdict else {"type": "number"} for key in keys.named(None)}


def _records_in(kind: object) -> set[type[msgspec.Struct]]:
    """Return all types of records that a type has in it."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return set().union(*map(_records_in, get_args(kind)))
    return {kind}.union(*map(_records_in, get_type_hints(kind).values()))


def _schema(identifier: str, title: str, described: dict[str, Any]) -> str:
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": identifier,
        "title": title,
    }
    return _pretty(msgspec.json.encode(head | described, order="deterministic"))


def _without_null(part: object) -> object:
    """Return the schema of the same values where they are absent instead of null."""
    match part:
        case [*items]:
            return [_without_null(item) for item in items if item != {"type": "null"}]
        case {"anyOf": [dict() as only, {"type": "null"}], **rest}:
            return _without_null({**only, **{key: rest[key] for key in rest if key != "default"}})
        case {**named}:
            return {name: _without_null(item) for name, item in named.items()}
    return part


def _without_none(value: object) -> object:
    """Return the value without missing fields; a 0 or an empty one was measured and stays."""
    match value:
        case msgspec.Struct():
            fields = flat(value)
            return {key: _without_none(each) for key, each in fields.items() if each is not None}
        case [*items]:
            return [_without_none(item) for item in items]
        case {**named}:
            return {key: _without_none(item) for key, item in named.items()}
    return value


def _pretty(encoded: bytes) -> str:
    return msgspec.json.format(encoded, indent=2).decode() + "\n"
