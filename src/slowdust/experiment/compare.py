"""A specification from the options of `slowdust compare`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from slowdust.errors import UsageError
from slowdust.experiment.spec import Spec, parse_spec

_PLAIN = ("suite", "benchmark", "rows", "tables", "budget", "slice", "incarnations", "seed", "name")


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
    if (rate := options.get("rate")) is not None:
        data["rate"] = {"per_second": rate, "arrivals": options.get("arrivals") or "poisson"}
    elif options.get("arrivals"):
        raise UsageError("--arrivals is of an open loop: give --rate too")
    settings = options.get("settings")
    if isinstance(settings, Sequence):
        data["set"] = dict(_setting(str(pair)) for pair in settings)
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


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"--set {text}: write KEY=VALUE")
    return key.strip(), value.strip()
