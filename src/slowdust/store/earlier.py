"""Records of earlier schemas, read as those of today."""

from __future__ import annotations

from typing import Any

import msgspec

from slowdust.store.slice import Place, Slice

_PLACE = Place.__struct_fields__
_PROBES = ("server", "host", "client")

Record = dict[str, Any]


def slice_of_schema_1(line: bytes) -> Slice:
    """Read a record that was flat: place, measurements and archived numbers side by side.

    Raises:
        MsgspecError: it is not such a record.
    """
    try:
        return _converted(msgspec.json.decode(line, type=dict[str, Any]))
    except (AttributeError, KeyError, TypeError) as error:
        raise msgspec.ValidationError(f"no record of a slice ({error!r})") from error


def _converted(record: Record) -> Slice:
    slice_: Record = {"place": _take(record, _PLACE), **_take(record, ("qps", "unit"))}
    if (archived := record.pop("archived", None)) is not None:
        slice_["archived"] = {
            "classic": archived,
            **_take_renamed(record, {"per_op": "per_operation", "flags": "notes"}),
            **_take(record, ("counters",)),
            **_take_response(record),
        }
    if (step := record.pop("step", None)) is not None:
        for role in step["roles"].values():
            if "rate" in role:
                buckets = _take(role.get("response", {}), ("buckets",))
                role["archived"] = _take(role, ("rate",)) | buckets | _take_response(role)
        for sample in step.get("samples", ()):
            sample["uses"] = _take(sample, _PROBES)
        slice_["step"] = step
    idle = {f"idle.{name}": {"cpu_s": cpu} for name, cpu in record.pop("idle_cpu_s", {}).items()}
    slice_["measured"] = record | {"uses": _take(record, _PROBES) | idle}
    return msgspec.convert(slice_, Slice)


def _take(record: Record, keys: tuple[str, ...]) -> Record:
    return {key: record.pop(key) for key in keys if key in record}


def _take_renamed(record: Record, names: dict[str, str]) -> Record:
    return {new: record.pop(old) for old, new in names.items() if old in record}


def _take_response(record: Record) -> Record:
    """Take the response times that an archived run printed."""
    if (times := record.pop("response", None)) is None:
        return {}
    return {"response": {key.removesuffix("_us"): value for key, value in times.items()}}
