"""The specification of a calibration: a build beside itself, and beside itself slowed down."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from slowdust.benchmarks.options import read_number, read_numbers, split_list
from slowdust.errors import UsageError
from slowdust.experiment.engine.schedule import rounds
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.errors import Options
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.units import Second, parse_duration, parse_percentage

SUITE = "quick"
"""The suite of a calibration that names no tests: five minutes are little for more."""
BUDGET = "5m"
TRIAL = "60s"
"""The time that each contender is measured in each test of a trial, if the budget allows it."""
SLOWED = "3,5,10"
NOT_SLOWED = "none"


def calibration_specs(contenders: Sequence[str], options: Mapping[str, str | None]) -> list[Spec]:
    """Return the experiments that calibrate the host, one for each contender.

    Each has its share of the budget, and spends it on as many whole trials as it is enough for, on
    one at least. A trial has the incarnations that a comparison of that length has. `options` are
    those of `slowdust calibrate`, by name; None stands for a default.

    Raises:
        UsageError: naming the option that is wrong.
    """
    shares = [0.0, 0.0, *_shares(options.get("slowed") or SLOWED)]
    budget = _seconds("--budget", options.get("budget") or BUDGET) / len(contenders)
    trial = _seconds("--trial", options.get("trial") or TRIAL)
    data: dict[str, object] = {"budget": budget, "suite": options.get("suite") or SUITE}
    if (tests := options.get("tests")) is not None:
        if options.get("suite") is not None:
            raise UsageError("--tests and --suite both say what to run: give one of them")
        data["tests"] = split_list(tests)
    if (clients := options.get("clients")) is not None:
        data["clients"] = read_numbers("--clients", clients)
    data |= {key: options[key] for key in ("cpus", "patience") if options.get(key) is not None}
    for name in ("rows", "tables", "seed"):
        if (text := options.get(name)) is not None:
            data[name] = read_number(f"--{name}", text)
    specs = []
    for name, contender in zip(_names(contenders, options.get("name")), contenders, strict=True):
        own = {
            **data,
            "name": name,
            "contenders": [{"contender": contender, "slowed": share} for share in shares],
        }
        spec = parse_spec(own, Options())
        steps = len(plan(spec))
        whole = steps * len(shares) * trial
        pair = 2 * min(trial, budget / len(shares) / steps) * steps
        together = rounds(pair, steps)
        trials = max(1, int(budget / whole))
        specs.append(
            parse_spec({**own, "trial": together, "incarnations": together * trials}, Options())
        )
    return specs


def _names(contenders: Sequence[str], name: str | None) -> list[str]:
    name = f"calibration-{datetime.now():%Y%m%d-%H%M%S}" if name is None else name
    if len(contenders) == 1:
        return [name]
    parts = [re.sub(r"[^A-Za-z0-9._]+", "-", written).strip("-._") for written in contenders]
    if len(set(parts)) < len(parts):
        raise UsageError("a contender is given twice: a longer --budget has more trials of it")
    return [f"{name}-{part}" for part in parts]


def _shares(text: str) -> list[float]:
    if text == NOT_SLOWED:
        return []
    example = f"write different percentages, such as {SLOWED}, or {NOT_SLOWED}"
    try:
        shares = [parse_percentage(part) for part in split_list(text)]
    except ValueError as error:
        raise UsageError(f"--slowed: {error}; {example}") from None
    if not shares or len(set(shares)) < len(shares) or not all(0 < share < 1 for share in shares):
        raise UsageError(f"--slowed {text}: {example}")
    return sorted(shares)


def _seconds(option: str, text: str) -> Second:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
