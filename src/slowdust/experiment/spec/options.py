"""A specification from the options of `slowdust compare`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from slowdust.benchmarks.insert import INSERT
from slowdust.dbms.settings import setting_name
from slowdust.errors import UsageError
from slowdust.experiment.spec.spec import Spec, parse_spec

_PLAIN = ("suite", "benchmark", "tables", "budget", "slice", "incarnations", "seed", "name")
_OF_INSERT = ("workload", "seconds", "partitions", "long_transaction", "statements")
_LISTS_OF_INSERT = ("rates", "rows_per_commit")


def spec_from_options(contenders: Sequence[str], options: Mapping[str, object]) -> Spec:
    """The specification that the options of `compare` mean; options that are None are defaults.

    Raises:
        UsageError: naming the option that is wrong.
    """
    data: dict[str, object] = {"name": _name(contenders), "contenders": list(contenders)}
    data |= {key: options[key] for key in _PLAIN if options.get(key) is not None}
    if (tests := options.get("tests")) is not None:
        data["tests"] = _tests(str(tests), options.get("suite"))
    if (clients := options.get("clients")) is not None:
        data["clients"] = _clients(str(clients))
    if margin := options.get("margin"):
        data["margin"] = _margin(str(margin))
    if (rows := options.get("rows")) is not None and data.get("benchmark") != INSERT.name:
        data["rows"] = _number("--rows", str(rows))
    if insert := _insert_options(options):
        data["insert"] = insert
    if (rate := options.get("rate")) is not None:
        data["rate"] = {"per_second": rate, "arrivals": options.get("arrivals") or "poisson"}
    elif options.get("arrivals"):
        raise UsageError("--arrivals is of an open loop: give --rate too")
    settings = options.get("settings")
    if isinstance(settings, Sequence):
        data |= _settings([_setting(str(pair)) for pair in settings])
    return parse_spec(data)


def _name(contenders: Sequence[str]) -> str:
    parts = [re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-._") for name in contenders]
    shown = "-vs-".join(dict.fromkeys(part for part in parts[:3] if part)) or "experiment"
    return f"{shown[:80]}-{datetime.now():%Y%m%d-%H%M%S}"


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _tests(text: str, suite: object) -> list[str]:
    if suite is not None:
        raise UsageError("--tests and --suite both say what to run: give one of them")
    tests = _parts(text)
    if not tests:
        raise UsageError(f"--tests {text}: name a test, see `slowdust tests`")
    return tests


def _insert_options(options: Mapping[str, object]) -> dict[str, object]:
    """The table `[insert]` that the options mean; empty where they say nothing of it."""
    is_insert = options.get("benchmark") == INSERT.name
    table = {key: options[key] for key in _OF_INSERT if options.get(key) is not None}
    if options.get("shared_table"):
        table["table"] = "shared"
    for key in (*_LISTS_OF_INSERT, *(["rows"] if is_insert else [])):
        if (text := options.get(key)) is not None:
            table[key] = _numbers(f"--{key.replace('_', '-')}", str(text))
    if table and not is_insert:
        wrong = next(iter(table)).replace("_", "-").replace("table", "shared-table")
        raise UsageError(f"--{wrong} is of the Insert Benchmark: give --benchmark insert too")
    return table


def _numbers(option: str, text: str) -> list[int]:
    return [_number(option, part) for part in _parts(text)]


def _number(option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{option} {text}: write a whole number") from None


def _clients(text: str) -> list[int]:
    try:
        clients = [int(part) for part in _parts(text)]
    except ValueError:
        raise UsageError(f"--clients {text}: write numbers, such as 1 or 1,8,64") from None
    if not clients or min(clients) < 1:
        raise UsageError(f"--clients {text}: at least one client is needed")
    return clients


def _margin(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise UsageError(f"--margin {text}: write a percentage, such as 3%") from None
    return value / 100


def _settings(pairs: Sequence[tuple[str, str]]) -> dict[str, object]:
    """What is set for all; a setting with several values is an axis of the matrix."""
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(setting_name(key), []).append(value)
    return {
        "set": {key: given[0] for key, given in values.items() if len(given) == 1},
        "matrix": {key: given for key, given in values.items() if len(given) > 1},
    }


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"--set {text}: write KEY=VALUE")
    return key.strip(), value.strip()
