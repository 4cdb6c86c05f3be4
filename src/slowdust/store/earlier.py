"""Converts records of earlier schemas to today's."""

from __future__ import annotations

from typing import Any

import msgspec

from slowdust.store.manifest import Manifest
from slowdust.store.slice import Place, Slice
from slowdust.store.step import name_with_hold, split_hold
from slowdust.units import Second

_PLACE = Place.__struct_fields__
_PROBES = ("server", "host", "client")

Record = dict[str, Any]


def with_todays_keys(content: bytes) -> bytes:
    """Return the JSON of a manifest, or of a slice with a place, with today's keys.

    Before schema 4 the printed values of runs, and the names of runs, had the key `archived`.
    Raises MsgspecError if it is neither.
    """
    if b'"archived"' not in content:
        return content
    record = msgspec.json.decode(content, type=dict[str, Any])
    try:
        for contender in record.get("contenders", ()):
            contender.update(_take_renamed(contender, {"archived": "run"}))
        for part in (record, *record.get("step", {}).get("roles", {}).values()):
            part.update(_take_renamed(part, {"archived": "printed"}))
    except (AttributeError, TypeError) as error:
        raise msgspec.ValidationError(f"not a record ({error!r})") from error
    return msgspec.json.encode(record)


def slice_of_schema_1(line: bytes) -> Slice:
    """Read a flat record, with place, measurements and printed numbers in one table.

    Raises MsgspecError if it is not such a record.
    """
    try:
        record = msgspec.json.decode(line, type=dict[str, Any])
        slice_: Record = {"place": _take(record, _PLACE), **_take(record, ("qps", "unit"))}
        if (archived := record.pop("archived", None)) is not None:
            slice_["printed"] = {
                "classic": archived,
                **_take_renamed(record, {"per_op": "per_operation", "flags": "notes"}),
                **_take(record, ("counters",)),
                **_take_response(record),
            }
        if (step := record.pop("step", None)) is not None:
            for role in step["roles"].values():
                if "rate" in role:
                    buckets = _take(role.get("response", {}), ("buckets",))
                    role["printed"] = _take(role, ("rate",)) | buckets | _take_response(role)
            for sample in step.get("samples", ()):
                sample["uses"] = _take(sample, _PROBES)
            slice_["step"] = step
        idle = {
            f"idle.{name}": {"cpu_s": cpu} for name, cpu in record.pop("idle_cpu_s", {}).items()
        }
        slice_["measured"] = record | {"uses": _take(record, _PROBES) | idle}
        return msgspec.convert(slice_, Slice)
    except (AttributeError, KeyError, TypeError) as error:
        raise msgspec.ValidationError(f"not a record of a slice ({error!r})") from error


def name_holds(manifest: Manifest) -> None:
    """Add the hold to the names of steps in a manifest of an earlier version."""
    method = manifest.method.steps
    if method is None or method.long_transaction_s is None or method.holds_s:
        return
    hold = method.long_transaction_s
    method.holds_s = [hold]
    manifest.tests = [name_with_hold(test, hold) for test in manifest.tests]
    for plan in manifest.plans:
        plan.test = name_with_hold(plan.test, hold)
    for failure in manifest.failed_steps:
        failure.test = name_with_hold(failure.test, hold)
    manifest.settled = [_key_with_hold(key, hold) for key in manifest.settled]
    manifest.turns_done = {
        _key_with_hold(key, hold): turns for key, turns in manifest.turns_done.items()
    }


def _key_with_hold(key: str, hold: Second) -> str:
    step, _, clients = key.rpartition("@")
    return f"{name_with_hold(step, hold)}@{clients}"


def name_hold(record: Slice, hold: Second) -> None:
    """Add the hold of the experiment to the step's name in a record, if it is missing."""
    if not split_hold(record.place.test)[1]:
        record.place.test = name_with_hold(record.place.test, hold)


def _take(record: Record, keys: tuple[str, ...]) -> Record:
    return {key: record.pop(key) for key in keys if key in record}


def _take_renamed(record: Record, names: dict[str, str]) -> Record:
    return {new: record.pop(old) for old, new in names.items() if old in record}


def _take_response(record: Record) -> Record:
    if (times := record.pop("response", None)) is None:
        return {}
    return {"response": {key.removesuffix("_us"): value for key, value in times.items()}}
